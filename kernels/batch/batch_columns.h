// The columns of a batch as a list, and their memory. What treats every column alike (the memory
// planner, files, digests, checks) walks this list, so that a new column is written down once.
// Host only.
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
  const char* name = "";  ///< as in files and in the printed budget
  ElementType type = ElementType::f32;
  std::int64_t width = 0;  ///< elements a row; 0: the layout has no such column
  void* data = nullptr;    ///< [size, width]; null where it is not wanted

  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * element_size(type); }
};

inline constexpr std::size_t kBatchColumns = 8;

/// x, count, globals, label, target, latents, weight, plane: those of `view`, in this order.
std::array<BatchColumn, kBatchColumns> columns_of(const BatchView& view);
/// `view` with the data of `columns`, which are in the order of columns_of.
BatchView with_columns(BatchView view, const std::array<BatchColumn, kBatchColumns>& columns);
/// "image 32x32x3", "event of 2 features", "set of up to 30 items of 4 features, 2 globals".
std::string to_string(const SampleLayout& layout);

/// The memory of one batch.
class BatchColumns {
 public:
  /// Reserves every column that `layout` has, and for sets the count of what did not fit.
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const SampleLayout& layout, DType dtype, MemorySpace space = MemorySpace::device);
  /// The same on the device, as state: for the batch of a training step, which is compared and
  /// restored with the rest. Columns are derived, the count of what did not fit is stored.
  void plan_state(MemoryPlan& memory, const std::string& group, std::int64_t rows,
                  const SampleLayout& layout, DType dtype);
  /// After commit.
  BatchView view() const;

 private:
  /// reserve(T, name, count, persistence) for each column.
  template <class Reserve>
  void plan_with(const SampleLayout& layout, DType dtype, std::int64_t rows, Reserve reserve);

  BatchView empty_;  ///< without pointers
  std::array<Planned<std::byte>, kBatchColumns> columns_;
  Planned<SetOverflow> overflow_;
};

}  // namespace wellspring
