// The columns of a batch as a list, and their memory. Code that treats all columns alike (memory
// planner, files, digests, checks) iterates over this list, so a new column is defined once. Host
// only.
#pragma once

#include "core/io/element_type.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/memory_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace wellspring {

struct BatchColumn {
  const char* name = "";  ///< name in files and in the printed memory plan
  ElementType type = ElementType::f32;
  std::int64_t width = 0;  ///< elements per row; 0: no such column
  void* data = nullptr;    ///< [size, width]; null: not requested

  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * element_size(type); }
};

inline constexpr std::size_t kBatchColumns = 9;

/// The columns of `view`, in the order x, count, globals, label, target, latents, weight, plane,
/// mask.
std::array<BatchColumn, kBatchColumns> columns_of(const BatchView& view);
/// `view` with the data pointers of `columns`, in the order of columns_of.
BatchView with_columns(BatchView view, const std::array<BatchColumn, kBatchColumns>& columns);
/// For example "image 32x32x3", "event of 2 features", "set of up to 30 items of 4 features".
std::string to_string(const SampleLayout& layout);

/// Refuses more values of a sample, or of a layer's output for a sample, than kernels can count.
/// Error (config): "WHAT has N values per sample".
void expect_countable(const std::string& what, std::int64_t values, const std::string& advice);

/// The memory of one batch.
class BatchColumns {
 public:
  /// Reserves every column of `layout`, and the overflow counts for sets. Error (config): see
  /// expect_countable().
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const SampleLayout& layout, DType dtype, MemorySpace space = MemorySpace::device);
  /// Like plan(), but reserves device state: the batch of a training step is compared and restored
  /// with the other state. Columns are derived state; the overflow counts are stored state.
  void plan_state(MemoryPlan& memory, const std::string& group, std::int64_t rows,
                  const SampleLayout& layout, DType dtype);
  /// Call after commit.
  BatchView view() const;

 private:
  /// Calls reserve(T, name, count, persistence) for each column.
  template <class Reserve>
  void plan_with(const SampleLayout& layout, DType dtype, std::int64_t rows, Reserve reserve);

  BatchView empty_;  ///< without data pointers
  std::array<Planned<std::byte>, kBatchColumns> columns_;
  Planned<SetOverflow> overflow_;
};

}  // namespace wellspring
