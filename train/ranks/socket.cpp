#include "train/ranks/socket.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace wellspring {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string reason(int error) {
  return std::generic_category().message(error);
}

void set_option(const Socket& socket, int level, int option, int value) {
  // If this fails, the system's default remains: a lost peer is merely detected later.
  static_cast<void>(setsockopt(socket.descriptor(), level, option, &value, sizeof value));
}

/// Makes the system send small messages at once and detect a vanished host within 30 s.
void tune(const Socket& socket) {
  constexpr int kIdleSeconds = 15, kProbeSeconds = 5, kProbes = 3, kLostMilliseconds = 30'000;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kLostMilliseconds);
}

/// Returns false if the deadline has passed.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd entry{socket.descriptor(), events, 0};
    constexpr std::int64_t kLongestWait = 1'000'000'000;
    const int ready = poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, kLongestWait)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR)
      fail(ErrorKind::runtime, {"cannot wait for another rank", reason(errno)});
  }
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Throws a config error if the name is unknown.
Addresses resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0)
    fail(ErrorKind::config,
         {fmt::format("the address of rank 0, '{}', is not known here", host), gai_strerror(error),
          "set MASTER_ADDR to a name or address of its node"});
  return {list, &freeaddrinfo};
}

/// Returns an empty socket, with errno set, if nobody listens there.
Socket try_to_connect(const addrinfo& address, Deadline deadline) {
  Socket socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return {};
  const auto soon = std::min(deadline, steady_clock::now() + std::chrono::seconds(5));
  if (!wait_for(socket, POLLOUT, soon)) {
    errno = ETIMEDOUT;
    return {};
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return {};
  errno = error;
  return error == 0 ? std::move(socket) : Socket();
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

int Socket::local_port() const {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail(ErrorKind::runtime, {"cannot read the port of a socket", reason(errno)});
  return ntohs(address.sin6_port);  // at the same place in sockaddr_in
}

std::string Socket::peer_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> text{};
  if (getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail(ErrorKind::runtime, {"cannot read the address of another rank", reason(errno)});
  const int error = getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(),
                                text.size(), nullptr, 0, NI_NUMERICHOST);
  if (error != 0)
    fail(ErrorKind::runtime, {"cannot read the address of another rank", gai_strerror(error)});
  return text.data();
}

Socket listen_on(int port, bool loopback_only) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) fail(ErrorKind::runtime, {"cannot open a socket", reason(errno)});
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  if (bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.descriptor(), SOMAXCONN) != 0)
    fail(ErrorKind::runtime, {fmt::format("rank 0 cannot listen on port {}", port), reason(errno),
                              "set MASTER_PORT to a free port, the same on all ranks"});
  return socket;
}

Socket connect_to(const std::string& host, int port, Deadline deadline) {
  constexpr milliseconds kPause{100};
  const Addresses addresses = resolve(host, port);
  int error = ETIMEDOUT;
  do {
    for (const addrinfo* address = addresses.get(); address != nullptr;
         address = address->ai_next) {
      if (Socket socket = try_to_connect(*address, deadline)) {
        tune(socket);
        return socket;
      }
      error = errno;
    }
    std::this_thread::sleep_for(kPause);
  } while (steady_clock::now() < deadline);
  fail(ErrorKind::runtime,
       {fmt::format("no rank answers at {}:{}", host, port), reason(error),
        "check that all ranks were started, and that a firewall lets them connect"});
}

Socket accept_from(const Socket& listener, Deadline deadline) {
  while (wait_for(listener, POLLIN, deadline)) {
    Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) continue;
    if (!socket) fail(ErrorKind::runtime, {"cannot accept another rank", reason(errno)});
    tune(socket);
    return socket;
  }
  return {};
}

Transfer send_some(const Socket& socket, std::span<const std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    else if (errno == EAGAIN)
      return Transfer::would_block;
    else if (errno != EINTR)
      return Transfer::ended;
  }
  return Transfer::done;
}

Transfer receive_some(const Socket& socket, std::span<std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t received = recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
    if (received > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    else if (received < 0 && errno == EAGAIN)
      return Transfer::would_block;
    else if (received == 0 || errno != EINTR)
      return Transfer::ended;
  }
  return Transfer::done;
}

bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (true) {
    const Transfer transfer = send_some(socket, bytes);
    if (transfer != Transfer::would_block) return transfer == Transfer::done;
    if (!wait_for(socket, POLLOUT, deadline)) return false;
  }
}

bool receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (true) {
    const Transfer transfer = receive_some(socket, bytes);
    if (transfer != Transfer::would_block) return transfer == Transfer::done;
    if (!wait_for(socket, POLLIN, deadline)) return false;
  }
}

}  // namespace wellspring
