#include "python/batch_memory.h"

#include <algorithm>
#include <atomic>

namespace wellspring::python {

BatchMemory::BatchMemory(Device device, std::int64_t rows, const SampleLayout& layout, DType dtype)
    : memory_(device) {
  columns_.plan(memory_, "batch", rows, layout, dtype);
  memory_.commit();
}

bool BatchMemory::holds(std::int64_t rows, const SampleLayout& layout, DType dtype) const {
  const BatchView own = columns_.view();
  return own.size == rows && own.layout == layout && own.dtype == dtype;
}

std::shared_ptr<BatchMemory> BatchPool::take(Device device, std::int64_t rows,
                                             const SampleLayout& layout, DType dtype) {
  if (device.is_cuda()) return std::make_shared<BatchMemory>(device, rows, layout, dtype);
  std::erase_if(used_, [&](const auto& memory) { return !memory->holds(rows, layout, dtype); });
  for (const auto& memory : used_) {
    if (memory.use_count() > 1) continue;
    std::atomic_thread_fence(std::memory_order_acquire);  // reads of the last array come before
    return memory;
  }
  auto memory = std::make_shared<BatchMemory>(device, rows, layout, dtype);
  if (used_.size() < kMost) used_.push_back(memory);
  return memory;
}

}  // namespace wellspring::python
