#include "train/ranks/meeting.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kMagic = 0x5753'5249'4e47'3031;  // "WSRING01"
constexpr std::size_t kTextBytes = 256;
using Text = std::array<char, kTextBytes>;

Text to_text(std::string_view words) {
  Text text{};
  words = words.substr(0, kTextBytes - 1);
  std::copy(words.begin(), words.end(), text.begin());
  return text;
}
std::string to_string(const Text& text) {
  return {text.data(), strnlen(text.data(), text.size())};
}

/// A rank's message to rank 0.
struct Joining {
  std::uint64_t magic = kMagic;
  std::int32_t rank = 0, size = 0, port = 0, reserved = 0;
  Text program{};
};
/// Rank 0's answer: where the next rank listens, or why there is no run.
struct Answer {
  std::uint64_t magic = kMagic;
  std::int32_t port = 0, refused = 0;
  Text text{};  ///< the address of the next rank, or the reason
};
/// A rank's message to the next one.
struct Greeting {
  std::uint64_t magic = kMagic;
  std::int32_t rank = 0, reserved = 0;
};

template <class T>
bool send_value(const Socket& socket, const T& value, Deadline deadline) {
  return send_all(socket, std::as_bytes(std::span(&value, 1)), deadline);
}
template <class T>
bool receive_value(const Socket& socket, T& value, Deadline deadline) {
  return receive_all(socket, std::as_writable_bytes(std::span(&value, 1)), deadline) &&
         value.magic == kMagic;
}

[[noreturn]] void fail_meeting(const std::string& problem, const std::string& why = "") {
  fail(ErrorKind::runtime,
       {problem, why,
        "start all ranks with the same program and configuration; --rank-timeout sets "
        "how long they wait for each other"});
}

/// Rank 0's list of the ranks that have joined.
class Register {
 public:
  Register(const RingOptions& options, Deadline deadline)
      : options_(options), deadline_(deadline), ranks_(static_cast<std::size_t>(options.size)) {}

  /// Waits for all other ranks and answers them; returns the next rank's address.
  Answer complete(const Socket& listener, int own_port) {
    ranks_[0].answer.port = own_port;
    for (int joined = 1; joined < options_.size;) {
      Socket socket = accept_from(listener, deadline_);
      if (!socket) refuse(missing());
      Joining joining;
      // A connection from another program is ignored.
      const auto soon = std::min(deadline_, steady_clock::now() + std::chrono::seconds(5));
      if (!receive_value(socket, joining, soon)) continue;
      add(std::move(socket), joining);
      ++joined;
    }
    ranks_[0].answer.text = to_text(options_.address);
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      send_value(ranks_[i].socket, ranks_[(i + 1) % ranks_.size()].answer, deadline_);
    return ranks_[1].answer;
  }

 private:
  struct Rank {
    Socket socket;
    Answer answer;  ///< for the rank before it
  };

  void add(Socket socket, const Joining& joining) {
    const std::string who = socket.peer_address();
    if (joining.size != options_.size || joining.rank < 1 || joining.rank >= options_.size)
      refuse(fmt::format(
                 "a process on {} says that it is rank {} of {}, but this is a run of {} ranks",
                 who, joining.rank, joining.size, options_.size),
             &socket);
    if (to_string(joining.program) != to_string(to_text(options_.program)))
      refuse(fmt::format("rank {} on {} runs a different program ({}, not {})", joining.rank, who,
                         to_string(joining.program), options_.program),
             &socket);
    Rank& rank = ranks_[static_cast<std::size_t>(joining.rank)];
    if (rank.socket)
      refuse(fmt::format("two processes say that they are rank {}", joining.rank), &socket);
    rank = {std::move(socket), {.port = joining.port, .text = to_text(who)}};
  }

  std::string missing() const {
    std::string names;
    for (std::size_t i = 1; i < ranks_.size(); ++i)
      if (!ranks_[i].socket) names += fmt::format("{}{}", names.empty() ? "" : ", ", i);
    return fmt::format("not all of {} ranks have joined: {} missing", options_.size, names);
  }

  /// Tells the reason to all ranks that have joined.
  [[noreturn]] void refuse(const std::string& reason, const Socket* newcomer = nullptr) {
    const Answer answer{.refused = 1, .text = to_text(reason)};
    if (newcomer != nullptr) send_value(*newcomer, answer, deadline_);
    for (const Rank& rank : ranks_)
      if (rank.socket)
        send_value(rank.socket, answer, steady_clock::now() + std::chrono::seconds(1));
    fail_meeting(reason);
  }

  const RingOptions& options_;
  Deadline deadline_;
  std::vector<Rank> ranks_;
};

/// Tells rank 0 where this rank listens; returns the next rank's address.
Answer join(const RingOptions& options, int own_port, Deadline deadline) {
  const Socket first = connect_to(options.address, options.port, deadline);
  Answer answer;
  if (!send_value(first,
                  Joining{.rank = options.rank,
                          .size = options.size,
                          .port = own_port,
                          .program = to_text(options.program)},
                  deadline) ||
      !receive_value(first, answer,
                     deadline + std::chrono::seconds(5)))  // it may still send the reason
    fail_meeting(fmt::format("rank 0 at {}:{} does not answer", options.address, options.port));
  if (answer.refused != 0) fail_meeting(to_string(answer.text));
  return answer;
}

}  // namespace

Neighbours meet(const RingOptions& options) {
  const Deadline deadline = steady_clock::now() + options.timeout;
  const int previous = (options.rank + options.size - 1) % options.size;
  const Socket listener = listen_on(0, options.loopback_only);
  const Answer next =
      options.rank > 0
          ? join(options, listener.local_port(), deadline)
          : Register(options, deadline)
                .complete(listen_on(options.port, options.loopback_only), listener.local_port());
  Neighbours neighbours;
  neighbours.next = connect_to(to_string(next.text), next.port, deadline);
  send_value(neighbours.next, Greeting{.rank = options.rank}, deadline);
  while (!neighbours.previous) {
    Socket socket = accept_from(listener, deadline);
    if (!socket)
      fail_meeting(fmt::format("rank {} does not connect to rank {}", previous, options.rank));
    Greeting greeting;
    const auto soon = std::min(deadline, steady_clock::now() + std::chrono::seconds(5));
    if (receive_value(socket, greeting, soon) && greeting.rank == previous)
      neighbours.previous = std::move(socket);
  }
  return neighbours;
}

}  // namespace wellspring
