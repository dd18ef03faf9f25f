#include "python/batch_memory.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wellspring::python {

TypedBatch TypedBatch::empty(std::int64_t rows, const SampleLayout& layout, ElementType type) {
  TypedBatch batch;
  batch.view.size = rows;
  batch.view.layout = layout;
  batch.view.dtype = type == ElementType::bf16 ? DType::bf16 : DType::f32;
  batch.type = type;
  return batch;
}

std::array<BatchColumn, kBatchColumns> TypedBatch::columns() const {
  auto columns = columns_of(view);
  columns.front().type = type;
  return columns;
}

void expect_pixels(const std::string& whose, const ValueRange& range) {
  if (!range.normalised && range.low >= 0 && range.high <= 1) return;
  fail(ErrorKind::config,
       {"dtype: 'u8' holds values from 0 to 1",
        range.normalised
            ? "normalised values have a different range"
            : fmt::format("values of '{}' are from {:g} to {:g}", whose, range.low, range.high),
        range.normalised ? "leave normalise out, or choose 'f16'" : "choose 'f16'"});
}

BatchMemory::BatchMemory(Device device, std::int64_t rows, const SampleLayout& layout,
                         ElementType type)
    : memory_(device), empty_(TypedBatch::empty(rows, layout, type)) {
  const auto columns = empty_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].width > 0)
      columns_[i] = memory_.reserve<std::byte>(
          "batch", columns[i].name, static_cast<std::size_t>(rows) * columns[i].row_bytes());
  memory_.commit();
}

TypedBatch BatchMemory::batch() const {
  auto columns = empty_.columns();
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].data = columns_[i].data();
  return {with_columns(empty_.view, columns), empty_.type};
}

bool BatchMemory::holds(std::int64_t rows, const SampleLayout& layout, ElementType type) const {
  return empty_.view.size == rows && empty_.view.layout == layout && empty_.type == type;
}

std::shared_ptr<BatchMemory> BatchPool::take(Device device, std::int64_t rows,
                                             const SampleLayout& layout, ElementType type) {
  if (device.is_cuda()) return std::make_shared<BatchMemory>(device, rows, layout, type);
  std::unique_ptr<BatchMemory> memory;
  {
    const std::lock_guard lock(unused_->lock);
    auto& batches = unused_->batches;
    batches.reserve(kMost);
    std::erase_if(batches, [&](const auto& other) { return !other->holds(rows, layout, type); });
    if (!batches.empty()) {
      memory = std::move(batches.back());
      batches.pop_back();
    }
  }
  if (!memory) memory = std::make_unique<BatchMemory>(device, rows, layout, type);
  const auto give_back = [to = std::weak_ptr(unused_)](BatchMemory* ended) noexcept {
    std::unique_ptr<BatchMemory> own(ended);
    const auto pool = to.lock();
    if (!pool) return;
    const std::lock_guard lock(pool->lock);
    if (pool->batches.size() < kMost) pool->batches.push_back(std::move(own));  // room is reserved
  };
  return {memory.release(), give_back};
}

}  // namespace wellspring::python
