// The samples of one source that fall into a share of the batches, as one sequence: what a ring
// reads ahead, in the order in which it is needed. Host only.
#pragma once

#include "sources/mixing/assignment.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace wellspring {

/// Entry n of the sequence has a row of its own in a ring of `capacity` rows: n % capacity.
///
/// Of whole batches, entries are the source's ordinals and all of them are known. Of a part of
/// them, the ordinals of a step's entries are listed when the ring has room for that step; entries
/// count from 0 at the step where the sequence begins.
class ShareSequence {
 public:
  /// `most_steps`: how many steps are looked back and ahead at most, together.
  ShareSequence(const SlotAssignment& assignment, std::uint32_t source, std::int64_t capacity,
                std::uint64_t most_steps);

  bool whole() const { return whole_; }
  /// Forgets everything and begins at `step`.
  void restart(std::uint64_t step);
  /// Steps before it are known.
  std::uint64_t end_step() const {
    return whole_ ? std::numeric_limits<std::uint64_t>::max() : end_step_;
  }
  /// Lists the entries of step end_step(), at most as many as the share has rows.
  void append_step();
  /// The first entry of `step`, which may be end_step().
  std::int64_t start(std::uint64_t step) const {
    return whole_ ? assignment_.given(step, source_) : starts_[step % starts_.size()];
  }
  /// How many samples the source gave before entry `n`, on all ranks. From any thread, for entries
  /// that were listed before the thread was told of them.
  std::uint64_t ordinal(std::int64_t n) const {
    return whole_ ? static_cast<std::uint64_t>(n)
                  : ordinals_[static_cast<std::size_t>(n) % ordinals_.size()];
  }

 private:
  const SlotAssignment& assignment_;
  const std::uint32_t source_;
  const bool whole_;
  std::uint64_t end_step_ = 0;
  std::vector<std::int64_t> starts_;     ///< of step s: s % size
  std::vector<std::uint64_t> ordinals_;  ///< of entry n: n % capacity
};

}  // namespace wellspring
