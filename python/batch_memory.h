// The memory of the batches that Python receives. Arrays share it, so that a batch stays valid as
// long as any of its arrays; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace wellspring::python {

/// A batch whose x may have a type that generators do not write.
struct TypedBatch {
  BatchView view;                       ///< its dtype is what generators write: f32 or bf16
  ElementType type = ElementType::f32;  ///< type of view.x: f32, bf16, f16 or u8

  static TypedBatch empty(std::int64_t rows, const SampleLayout& layout, ElementType type);
  /// As columns_of().
  std::array<BatchColumn, kBatchColumns> columns() const;
  /// True if the values are converted after a generator has written them as f32.
  bool narrow() const { return type == ElementType::f16 || type == ElementType::u8; }
};

/// Range of the values of x without augmentation.
struct ValueRange {
  float low = 0, high = 1;
  bool normalised = false;  ///< the values were scaled and have a different range
};
/// Throws a config error unless samples with this range can have the type u8. `whose`: their name.
void expect_pixels(const std::string& whose, const ValueRange& range);

/// One batch, in one allocation.
class BatchMemory {
 public:
  BatchMemory(Device device, std::int64_t rows, const SampleLayout& layout, ElementType type);
  TypedBatch batch() const;
  /// True for a batch of this size, with these columns.
  bool holds(std::int64_t rows, const SampleLayout& layout, ElementType type) const;

 private:
  MemoryPlan memory_;
  TypedBatch empty_;  ///< without data pointers
  std::array<Planned<std::byte>, kBatchColumns> columns_;
};

/// Gives out the memory of batches, and uses it again after the last array has ended: fresh memory costs
/// page faults, which take longer than the samples of a large batch. Only on the CPU: on a GPU, work in
/// the caller's streams may still read a batch whose arrays have ended.
class BatchPool {
 public:
  std::shared_ptr<BatchMemory> take(Device device, std::int64_t rows, const SampleLayout& layout,
                                    ElementType type);

 private:
  static constexpr std::size_t kMost = 2;  ///< unused batches that are kept
  /// Memory that no array uses. Arrays return it here from any thread, unless the pool has ended.
  struct Unused {
    std::mutex lock;
    std::vector<std::unique_ptr<BatchMemory>> batches;
  };
  std::shared_ptr<Unused> unused_ = std::make_shared<Unused>();
};

}  // namespace wellspring::python
