// A batch in host memory, filled with a value that is never emitted. Tests only; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace wellspring::test {

class HostBatch {
 public:
  static constexpr float kUnwritten = -77;

  HostBatch(std::int64_t size, const SampleLayout& layout, DType dtype = DType::f32) {
    columns_.plan(memory_, "test", size, layout, dtype);
    memory_.commit();
    view_ = columns_.view();
    if (dtype == DType::f32) std::ranges::fill(x(), kUnwritten);
    for (const std::span<float> values : {globals(), target(), weight(), latents()}) {
      std::ranges::fill(values, kUnwritten);
    }
    for (const std::span<std::int32_t> values : {label(), count()}) {
      std::ranges::fill(values, static_cast<std::int32_t>(kUnwritten));
    }
  }
  HostBatch(const HostBatch&) = delete;
  HostBatch& operator=(const HostBatch&) = delete;
  /// Fails the test if the guard words after a column were overwritten.
  ~HostBatch() { EXPECT_NO_THROW(memory_.check_guards()); }

  const BatchView& view() const { return view_; }

  template <class T = float>
  std::span<T> x() const {
    return column(static_cast<T*>(view_.x), view_.layout.elements());
  }
  std::span<std::int32_t> count() const { return column(view_.count, view_.count != nullptr); }
  std::span<std::int32_t> label() const { return column(view_.label, 1); }
  std::span<float> globals() const { return column(view_.globals, view_.layout.globals); }
  std::span<float> target() const { return column(view_.target, view_.layout.targets); }
  std::span<float> weight() const { return column(view_.weight, 1); }
  std::span<float> latents() const { return column(view_.latents, view_.layout.latents); }

  /// True if all columns are equal, byte for byte.
  friend bool operator==(const HostBatch& a, const HostBatch& b) {
    const auto left = columns_of(a.view_), right = columns_of(b.view_);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::size_t bytes = static_cast<std::size_t>(a.view_.size) * left[i].row_bytes();
      if (a.view_.size != b.view_.size || left[i].row_bytes() != right[i].row_bytes()) return false;
      if (bytes > 0 && std::memcmp(left[i].data, right[i].data, bytes) != 0) return false;
    }
    return true;
  }

 private:
  template <class T>
  std::span<T> column(T* data, std::int64_t width) const {
    return {data, static_cast<std::size_t>(view_.size * width)};
  }

  MemoryPlan memory_{Device::cpu()};
  BatchColumns columns_;
  BatchView view_;
};

}  // namespace wellspring::test
