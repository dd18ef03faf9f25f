#include "sources/mixing/share_sequence.h"

namespace wellspring {

ShareSequence::ShareSequence(const SlotAssignment& assignment, std::uint32_t source,
                             std::int64_t capacity, std::uint64_t most_steps)
    : assignment_(assignment),
      source_(source),
      whole_(assignment.share == Share::whole(assignment.share.global_batch)) {
  if (whole_) return;
  starts_.resize(most_steps + 1);
  ordinals_.resize(static_cast<std::size_t>(capacity));
}

void ShareSequence::restart(std::uint64_t step) {
  if (whole_) return;
  end_step_ = step;
  starts_[step % starts_.size()] = 0;
}

void ShareSequence::append_step() {
  std::int64_t n = start(end_step_);
  for (std::int64_t row = 0; row < assignment_.share.rows; row += assignment_.views) {
    const Slot slot = assignment_.slot(end_step_, row);
    if (slot.source != source_) continue;
    ordinals_[static_cast<std::size_t>(n++) % ordinals_.size()] = slot.ordinal;
  }
  ++end_step_;
  starts_[end_step_ % starts_.size()] = n;
}

}  // namespace wellspring
