// The memory of the batches that Python receives. Arrays share it, so that a batch stays valid as
// long as any of its arrays; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace wellspring::python {

/// One batch, in one allocation.
class BatchMemory {
 public:
  BatchMemory(Device device, std::int64_t rows, const SampleLayout& layout, DType dtype);
  BatchView view() const { return columns_.view(); }
  /// True for a batch of this size, with these columns.
  bool holds(std::int64_t rows, const SampleLayout& layout, DType dtype) const;

 private:
  MemoryPlan memory_;
  BatchColumns columns_;
};

/// Gives out the memory of batches, and uses it again when no array refers to it any more. Only on
/// the CPU: on a GPU, work in the caller's streams may still read a batch whose arrays have ended.
class BatchPool {
 public:
  std::shared_ptr<BatchMemory> take(Device device, std::int64_t rows, const SampleLayout& layout,
                                    DType dtype);

 private:
  static constexpr std::size_t kMost = 2;  ///< a caller usually keeps one batch and makes the next
  std::vector<std::shared_ptr<BatchMemory>> used_;
};

}  // namespace wellspring::python
