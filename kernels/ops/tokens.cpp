#include "kernels/ops/tokens.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "kernels/ops/column_sum.h"
#include "kernels/ops/copy_rows.h"

#include <fmt/format.h>

namespace wellspring::ops {
namespace {

/// Elements of a sample: of the extra tokens, of the other tokens, and of all.
struct Sizes {
  std::int64_t extra, rest, all;
};
Sizes sizes_of(const PrependSpec& spec) {
  const std::int64_t extra = std::int64_t{spec.extra} * spec.width,
                     rest = std::int64_t{spec.tokens} * spec.width;
  return {extra, rest, extra + rest};
}

ColumnSumSpec extra_sum(const PrependSpec& spec) {
  return {spec.batch, spec.extra * spec.width, DType::f32};
}

void check_selection(int tokens, int first, int count) {
  if (first >= 0 && count >= 1 && count <= tokens - first) return;
  fail(ErrorKind::config,
       {fmt::format("select {} from token {} of {}", counted(count, "token"), first, tokens),
        "the tensor has no such tokens", "choose at least one token within it"});
}

}  // namespace

void prepend_tokens(Stream& stream, const PrependSpec& spec, const float* extra, const void* x,
                    void* y) {
  const Sizes size = sizes_of(spec);
  copy_rows(stream, "prepend_tokens_extra", spec.batch, size.extra, extra, {DType::f32, 0, 0}, y,
            {spec.compute, 0, size.all});
  copy_rows(stream, "prepend_tokens", spec.batch, size.rest, x, {spec.compute, 0, size.rest}, y,
            {spec.compute, size.extra, size.all});
}

std::size_t prepend_tokens_partials(const PrependSpec& spec) {
  return static_cast<std::size_t>(spec.batch * sizes_of(spec).extra) +
         column_sum_partials(extra_sum(spec));
}

void prepend_tokens_backward(Stream& stream, const PrependSpec& spec, const void* dy, void* dx,
                             float* dextra, float* partials) {
  const Sizes size = sizes_of(spec);
  if (dextra != nullptr) {
    copy_rows(stream, "prepend_tokens_gradient", spec.batch, size.extra, dy,
              {spec.compute, 0, size.all}, partials, {DType::f32, 0, size.extra});
    column_sum(stream, extra_sum(spec), partials, partials + spec.batch * size.extra, dextra);
  }
  if (dx == nullptr) return;
  copy_rows(stream, "prepend_tokens_backward", spec.batch, size.rest, dy,
            {spec.compute, size.extra, size.all}, dx, {spec.compute, 0, size.rest});
}

void select_tokens(Stream& stream, DType dtype, std::int64_t batch, int tokens, int width,
                   int first, int count, const void* x, void* y) {
  check_selection(tokens, first, count);
  const std::int64_t stride = width, selected = count * stride;
  copy_rows(stream, "select_tokens", batch, selected, x, {dtype, first * stride, tokens * stride},
            y, {dtype, 0, selected});
}

void select_tokens_backward(Stream& stream, DType dtype, std::int64_t batch, int tokens, int width,
                            int first, int count, const void* dy, void* dx) {
  check_selection(tokens, first, count);
  const std::int64_t stride = width, selected = count * stride, all = batch * tokens * stride;
  stream.fill_zero(dx, static_cast<std::size_t>(all) * size_of(dtype), "select_tokens_zero");
  copy_rows(stream, "select_tokens_backward", batch, selected, dy, {dtype, 0, selected}, dx,
            {dtype, first * stride, tokens * stride});
}

}  // namespace wellspring::ops
