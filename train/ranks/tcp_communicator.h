// The ranks of a run as processes connected by TCP; sums in host memory. Host only.
#pragma once

#include "train/ranks/open_ranks.h"
#include "train/ranks/ring.h"

#include <vector>

namespace wellspring {

/// Sums travel around the ring in parts, so each of n ranks sends and receives 2 (n - 1) / n of the
/// values (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009, 117). The order of additions
/// depends only on the numbers of ranks and values.
class TcpCommunicator final : public ConnectedRanks {
 public:
  /// Joins the ring. Errors: see Ring.
  explicit TcpCommunicator(const RingOptions& options) : ring_(options) {}

  int rank() const override { return ring_.rank(); }
  int size() const override { return ring_.size(); }
  /// `values` must be in host memory.
  void all_reduce(Stream& stream, float* values, std::int64_t count) override;
  void all_reduce(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes) override;
  void barrier() override;
  void abandon(std::string_view reason) noexcept override { ring_.abandon(reason); }

  /// True once a call has failed or abandon() was called.
  bool ended() const { return ring_.ended(); }
  /// True if the process before or after this one in the ring has ended. Any thread may call it.
  bool neighbour_lost() const { return ring_.neighbour_lost(); }

 private:
  Ring ring_;
  std::vector<std::byte> arriving_;  ///< a part of a sum; as large as the largest so far
};

}  // namespace wellspring
