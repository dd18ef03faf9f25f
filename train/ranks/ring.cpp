#include "train/ranks/ring.h"

#include "core/error.h"
#include "core/signals.h"
#include "train/ranks/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <system_error>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Kinds of messages in addition to RankCall.
constexpr std::uint32_t kWaiting = 100;  ///< "I wait for the rank before me"; no bytes
constexpr std::uint32_t kEnded = 101;    ///< followed by the reason

constexpr std::uint64_t kLongestReason = 4096;

std::string ended_silently(int rank) {
  return fmt::format("rank {} ended without reporting an error", rank);
}

/// The text after a kEnded header.
std::string read_reason(const Socket& previous, std::uint64_t bytes) {
  std::string reason(std::min(bytes, kLongestReason), '\0');
  const auto soon = steady_clock::now() + std::chrono::seconds(5);
  if (receive_all(previous, std::as_writable_bytes(std::span(reason)), soon)) return reason;
  return "another rank has failed";
}

}  // namespace

struct Ring::Header {
  std::uint32_t kind = 0, reserved = 0;
  std::uint64_t bytes = 0;
};

/// A message on its way to the next rank.
class Ring::Outgoing {
 public:
  Outgoing(std::uint32_t kind, std::span<const std::byte> bytes)
      : header_{kind, 0, bytes.size()},
        head_(std::as_bytes(std::span(&header_, 1))),
        bytes_(bytes) {}
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  Transfer advance(const Socket& socket) {
    const Transfer head = send_some(socket, head_);
    return head == Transfer::done ? send_some(socket, bytes_) : head;
  }
  bool done() const { return head_.empty() && bytes_.empty(); }
  std::size_t left() const { return head_.size() + bytes_.size(); }

 private:
  Header header_;
  std::span<const std::byte> head_, bytes_;
};

/// A message on its way from the previous rank.
class Ring::Incoming {
 public:
  Incoming(RankCall call, std::span<std::byte> bytes)
      : call_(call), head_(std::as_writable_bytes(std::span(&header_, 1))), bytes_(bytes) {}
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  /// Sets `problem` if a different message arrives.
  Transfer advance(const Socket& socket, std::string& problem) {
    while (!reads_bytes_) {
      const Transfer head = receive_some(socket, head_);
      if (head != Transfer::done) return head;
      if (header_.kind == kWaiting) {
        head_ = std::as_writable_bytes(std::span(&header_, 1));
        heard_ = true;
        continue;
      }
      problem = problem_of_header(socket);
      if (!problem.empty()) return Transfer::ended;
      reads_bytes_ = true;
    }
    return receive_some(socket, bytes_);
  }
  bool done() const { return reads_bytes_ && bytes_.empty(); }
  std::size_t left() const { return head_.size() + bytes_.size(); }
  /// True once after each keep-alive message.
  bool heard() { return std::exchange(heard_, false); }

 private:
  std::string problem_of_header(const Socket& socket) {
    if (header_.kind == kEnded) return read_reason(socket, header_.bytes);
    if (header_.kind == static_cast<std::uint32_t>(call_) && header_.bytes == bytes_.size())
      return "";
    return fmt::format("the ranks make different calls ({} of {} bytes, {} of {} bytes)",
                       header_.kind, header_.bytes, static_cast<std::uint32_t>(call_),
                       bytes_.size());
  }

  RankCall call_;
  Header header_;
  std::span<std::byte> head_, bytes_;
  bool reads_bytes_ = false, heard_ = false;
};

Ring::Ring(const RingOptions& options) : options_(options) {
  Neighbours neighbours = meet(options);
  next_ = std::move(neighbours.next);
  previous_ = std::move(neighbours.previous);
}

void Ring::exchange(RankCall call, std::span<const std::byte> out, std::span<std::byte> in) {
  Outgoing outgoing(static_cast<std::uint32_t>(call), out);
  Incoming incoming(call, in);
  transfer(&outgoing, &incoming);
}

void Ring::send(RankCall call, std::span<const std::byte> out) {
  Outgoing outgoing(static_cast<std::uint32_t>(call), out);
  transfer(&outgoing, nullptr);
}

void Ring::receive(RankCall call, std::span<std::byte> in) {
  Incoming incoming(call, in);
  transfer(nullptr, &incoming);
}

/// Transfers both messages completely. Null: no such message.
void Ring::transfer(Outgoing* out, Incoming* in) {
  if (ended_) fail(ErrorKind::runtime, {"the ranks of this run have ended"});
  auto last_progress = steady_clock::now(), last_sign = last_progress;
  const milliseconds sign_every = std::max(milliseconds(1), options_.timeout / 4);
  while (true) {
    const std::size_t left = (out ? out->left() : 0) + (in ? in->left() : 0);
    if (out && !out->done() && out->advance(next_) == Transfer::ended)
      end_together(nullptr, reason_of_next(in));
    if (in && !in->done()) {
      std::string problem;
      if (in->advance(previous_, problem) == Transfer::ended)
        end_together(out, problem.empty() ? ended_silently(previous()) : problem);
    }
    const bool sent = !out || out->done(), received = !in || in->done();
    if (sent && received) return;

    const auto now = steady_clock::now();
    if ((in && in->heard()) || (out ? out->left() : 0) + (in ? in->left() : 0) != left)
      last_progress = now;
    if (now - last_progress >= options_.timeout)
      end_together(sent ? out : nullptr,
                   fmt::format("rank {} has done nothing for {} s", sent ? previous() : following(),
                               duration_cast<std::chrono::seconds>(options_.timeout).count()));
    if (sent && !received && now - last_sign >= sign_every) {
      give_sign();
      last_sign = now;
    }
    std::array<pollfd, 2> entries{pollfd{sent ? -1 : next_.descriptor(), POLLOUT, 0},
                                  pollfd{received ? -1 : previous_.descriptor(), POLLIN, 0}};
    const auto until_lost = std::chrono::ceil<milliseconds>(last_progress + options_.timeout - now);
    if (poll(entries.data(), entries.size(),
             static_cast<int>(std::min(sign_every, until_lost).count())) < 0 &&
        errno != EINTR)
      fail(ErrorKind::runtime,
           {"cannot wait for the other ranks", std::generic_category().message(errno)});
  }
}

/// Why the next rank has closed the connection: the reason that arrives around the ring. If none
/// arrives for a while, the reason is that the rank is lost.
std::string Ring::reason_of_next(Incoming* in) const {
  const auto soon = steady_clock::now() + std::chrono::seconds(5);
  std::string reason;
  while (in && !in->done() && steady_clock::now() < soon) {
    if (in->advance(previous_, reason) == Transfer::ended)
      return reason.empty() ? ended_silently(following()) : reason;
    pollfd entry{previous_.descriptor(), POLLIN, 0};
    static_cast<void>(poll(&entry, 1, 100));
  }
  Header header;
  while (receive_all(previous_, std::as_writable_bytes(std::span(&header, 1)), soon)) {
    if (header.kind == kEnded) return read_reason(previous_, header.bytes);
    std::vector<std::byte> ignored(std::min<std::uint64_t>(header.bytes, 1 << 20));
    for (std::uint64_t left = header.bytes; left > 0; left -= ignored.size()) {
      ignored.resize(std::min<std::uint64_t>(left, ignored.size()));
      if (!receive_all(previous_, ignored, soon)) break;
    }
  }
  return ended_silently(following());
}

/// Tells the next rank that this one waits.
void Ring::give_sign() {
  pollfd entry{next_.descriptor(), POLLOUT, 0};
  // If there is no room for a header, the next rank has bytes to read anyway.
  if (poll(&entry, 1, 0) != 1) return;
  Outgoing sign(kWaiting, {});
  static_cast<void>(sign.advance(next_));  // a lost rank shows in the next transfer
}

/// Completes the message in flight, if it can, and tells the next rank the reason.
void Ring::end_together(Outgoing* out, const std::string& reason) {
  const auto soon = steady_clock::now() + std::chrono::seconds(5);
  while (out && !out->done() && steady_clock::now() < soon) {
    if (out->advance(next_) == Transfer::ended) break;
    pollfd entry{next_.descriptor(), POLLOUT, 0};
    static_cast<void>(poll(&entry, 1, 100));
  }
  if (!out || out->done()) abandon(reason);
  ended_ = true;
  if (reason == kStoppedBySignal) throw Interrupted{};
  fail(ErrorKind::runtime,
       {reason, "", "the run continues from its newest checkpoint if you repeat the command"});
}

void Ring::abandon(std::string_view reason) noexcept {
  if (std::exchange(ended_, true)) return;
  reason = reason.substr(0, kLongestReason);
  const Header header{kEnded, 0, reason.size()};
  const auto soon = steady_clock::now() + std::chrono::seconds(5);
  try {
    if (send_all(next_, std::as_bytes(std::span(&header, 1)), soon))
      send_all(next_, std::as_bytes(std::span(reason)), soon);
  } catch (const std::exception&) {
    // The next rank notices the closed connection.
  }
}

bool Ring::neighbour_lost() const {
  std::array<pollfd, 2> entries{pollfd{next_.descriptor(), POLLRDHUP, 0},
                                pollfd{previous_.descriptor(), POLLRDHUP, 0}};
  return poll(entries.data(), entries.size(), 0) > 0;
}

}  // namespace wellspring
