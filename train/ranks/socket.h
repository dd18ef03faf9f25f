// TCP sockets between the ranks of a run, with deadlines for every call. Called by the ring of
// ranks; host only.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace wellspring {

using Deadline = std::chrono::steady_clock::time_point;

/// A non-blocking TCP socket. Runtime errors of the functions below name the peer and the system's
/// reason.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int local_port() const;
  /// "10.0.0.2": the numeric address of the other end.
  std::string peer_address() const;

 private:
  int descriptor_ = -1;
};

/// Listens on `port` (0: any free one) of all interfaces, or of the loopback interface only.
Socket listen_on(int port, bool loopback_only);
/// Tries again until the peer listens or the deadline has passed.
Socket connect_to(const std::string& host, int port, Deadline deadline);
/// The next connection; an empty socket if the deadline passes.
Socket accept_from(const Socket& listener, Deadline deadline);

/// Progress of one non-blocking transfer.
enum class Transfer { done, would_block, ended };
/// Sends or receives as much as possible now, and drops that much from the front of `bytes`.
/// `ended`: the other end has closed the connection or is lost.
Transfer send_some(const Socket& socket, std::span<const std::byte>& bytes);
Transfer receive_some(const Socket& socket, std::span<std::byte>& bytes);

/// Sends or receives all bytes. Returns false if the connection or the deadline ends first.
bool send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline);
bool receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);

}  // namespace wellspring
