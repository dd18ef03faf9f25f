// A ring of processes: each rank sends to the next and receives from the previous one. All calls of
// a communicator consist of these messages. Host only.
//
// A message is a header followed by its bytes. The header names the call, so ranks notice if
// they make different calls. A rank that fails tells the next one the reason, which travels
// around the ring, so every rank ends with the same reason. A waiting rank tells the next one that
// it waits, so that only a rank that does nothing at all runs out of time.
#pragma once

#include "train/ranks/ring_options.h"
#include "train/ranks/socket.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace wellspring {

/// The calls of a communicator. All ranks make the same calls in the same order.
enum class RankCall : std::uint32_t { all_reduce_f32, all_reduce_f64, broadcast, barrier };

/// The reason of a rank that a signal stops before the first step. It is no failure.
inline constexpr std::string_view kStoppedBySignal = "a signal stopped a rank";

class Ring {
 public:
  /// Joins the ring: rank 0 tells each rank where the next one listens. Runtime errors: a rank does
  /// not join in time, two processes have the same rank, the programs differ.
  explicit Ring(const RingOptions& options);

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }

  /// Sends `out` to the next rank while receiving `in` from the previous one, which must send as
  /// many bytes. Runtime error on all ranks if one has failed, ended or done nothing for too long.
  void exchange(RankCall call, std::span<const std::byte> out, std::span<std::byte> in);
  /// One half of an exchange.
  void send(RankCall call, std::span<const std::byte> out);
  void receive(RankCall call, std::span<std::byte> in);
  /// Tells the other ranks why this one ends. Their calls then fail with this reason, or throw
  /// Interrupted if it is kStoppedBySignal.
  void abandon(std::string_view reason) noexcept;

  /// True once a call has failed or abandon() was called.
  bool ended() const { return ended_; }
  /// True if a neighbour's process has ended. Any thread may call it.
  bool neighbour_lost() const;

 private:
  struct Header;
  class Outgoing;
  class Incoming;
  void transfer(Outgoing* out, Incoming* in);
  void give_sign();
  std::string reason_of_next(Incoming* in) const;
  [[noreturn]] void end_together(Outgoing* out, const std::string& reason);
  int previous() const { return (options_.rank + options_.size - 1) % options_.size; }
  int following() const { return (options_.rank + 1) % options_.size; }

  RingOptions options_;
  Socket next_, previous_;
  bool ended_ = false;
};

}  // namespace wellspring
