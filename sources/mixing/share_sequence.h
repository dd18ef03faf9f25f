// The sequence of one source's samples in a rank's share of the batches, in the order in which a
// ring reads ahead. Called by sources/datasets/row_ring.h; host only.
#pragma once

#include "sources/mixing/assignment.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace wellspring {

/// Entry n of the sequence goes to row n % capacity of a ring of `capacity` rows.
///
/// If the share is the whole batch, entry n is the source's ordinal n. Otherwise the ordinals of a
/// step's entries are listed when the ring has room for that step, and entries are counted from 0
/// at the step where the sequence begins.
class ShareSequence {
 public:
  /// `most_steps`: largest number of listed steps.
  ShareSequence(const SlotAssignment& assignment, std::uint32_t source, std::int64_t capacity,
                std::uint64_t most_steps);

  bool whole() const { return whole_; }
  /// Clears the sequence and begins at `step`.
  void restart(std::uint64_t step);
  /// First step that is not yet listed.
  std::uint64_t end_step() const {
    return whole_ ? std::numeric_limits<std::uint64_t>::max() : end_step_;
  }
  /// Lists the entries of step end_step(), at most one per sample of the share.
  void append_step();
  /// The first entry of `step`, which may be end_step().
  std::int64_t start(std::uint64_t step) const {
    return whole_ ? assignment_.given(step, source_) : starts_[step % starts_.size()];
  }
  /// Ordinal of entry `n`: the number of samples drawn from the source before it, on all ranks. A
  /// thread may call it for any entry that was listed before the thread learnt of it.
  std::uint64_t ordinal(std::int64_t n) const {
    return whole_ ? static_cast<std::uint64_t>(n)
                  : ordinals_[static_cast<std::size_t>(n) % ordinals_.size()];
  }

 private:
  const SlotAssignment& assignment_;
  const std::uint32_t source_;
  const bool whole_;
  std::uint64_t end_step_ = 0;
  std::vector<std::int64_t> starts_;     ///< first entry of step s, at s % size
  std::vector<std::uint64_t> ordinals_;  ///< ordinal of entry n, at n % capacity
};

}  // namespace wellspring
