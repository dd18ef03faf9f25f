#include "kernels/batch/batch_columns.h"

#include "core/error.h"

#include <fmt/format.h>

#include <limits>

namespace wellspring {

std::array<BatchColumn, kBatchColumns> columns_of(const BatchView& view) {
  const SampleLayout& layout = view.layout;
  const ElementType x = view.dtype == DType::bf16 ? ElementType::bf16 : ElementType::f32;
  return {{
      {"x", x, layout.elements(), view.x},
      {"count", ElementType::i32, layout.kind == SampleKind::set ? 1 : 0, view.count},
      {"globals", ElementType::f32, layout.globals, view.globals},
      {"label", ElementType::i32, 1, view.label},
      {"target", ElementType::f32, layout.targets, view.target},
      {"latents", ElementType::f32, layout.latents, view.latents},
      {"weight", ElementType::f32, 1, view.weight},
      {"plane", ElementType::f32, std::int64_t{layout.planes} * layout.height * layout.width,
       view.plane},
      {"mask", ElementType::u8, layout.patches, view.mask},
  }};
}

BatchView with_columns(BatchView view, const std::array<BatchColumn, kBatchColumns>& columns) {
  view.x = columns[0].data;
  view.count = static_cast<std::int32_t*>(columns[1].data);
  view.globals = static_cast<float*>(columns[2].data);
  view.label = static_cast<std::int32_t*>(columns[3].data);
  view.target = static_cast<float*>(columns[4].data);
  view.latents = static_cast<float*>(columns[5].data);
  view.weight = static_cast<float*>(columns[6].data);
  view.plane = static_cast<float*>(columns[7].data);
  view.mask = static_cast<std::uint8_t*>(columns[8].data);
  return view;
}

void expect_countable(const std::string& what, std::int64_t values, const std::string& advice) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (values > kMost)
    fail(ErrorKind::config,
         {fmt::format("{} has {} values per sample", what, values),
          fmt::format("the limit is {}, because kernels count values in 32 bits", kMost), advice});
}

void BatchColumns::plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
                        const SampleLayout& layout, DType dtype, MemorySpace space) {
  plan_with(layout, dtype, rows, [&]<class T>(T, const char* name, std::size_t n, Persistence) {
    return memory.reserve<T>(group, name, n, space);
  });
}

void BatchColumns::plan_state(MemoryPlan& memory, const std::string& group, std::int64_t rows,
                              const SampleLayout& layout, DType dtype) {
  plan_with(layout, dtype, rows,
            [&]<class T>(T, const char* name, std::size_t n, Persistence persistence) {
              return memory.reserve_state<T>(group, name, n, persistence);
            });
}

template <class Reserve>
void BatchColumns::plan_with(const SampleLayout& layout, DType dtype, std::int64_t rows,
                             Reserve reserve) {
  expect_countable(to_string(layout), layout.elements(),
                   "use a smaller size, or fewer channels or items");
  empty_ = BatchView{};
  empty_.size = rows;
  empty_.layout = layout;
  empty_.dtype = dtype;
  const auto columns = columns_of(empty_);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns_[i] = {};
    if (columns[i].width == 0) continue;
    columns_[i] =
        reserve(std::byte{}, columns[i].name,
                static_cast<std::size_t>(rows) * columns[i].row_bytes(), Persistence::derived);
  }
  overflow_ = {};
  if (layout.kind == SampleKind::set)
    overflow_ = reserve(SetOverflow{}, "overflow", std::size_t{1}, Persistence::stored);
}

BatchView BatchColumns::view() const {
  auto columns = columns_of(empty_);
  for (std::size_t i = 0; i < columns.size(); ++i) columns[i].data = columns_[i].data();
  BatchView view = with_columns(empty_, columns);
  view.overflow = overflow_.data();
  return view;
}

}  // namespace wellspring
