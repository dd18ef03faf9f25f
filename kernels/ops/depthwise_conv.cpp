#include "kernels/ops/depthwise_conv.h"

#include "core/error.h"
#include "kernels/ops/column_sum.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace wellspring::ops {
namespace {

/// Calls f(constant) with the kernel's side as a compile-time constant.
template <class F>
void visit_kernel(int kernel, F f) {
  switch (kernel) {
    case 3:
      return f(std::integral_constant<int, 3>());
    case 5:
      return f(std::integral_constant<int, 5>());
    case 7:
      return f(std::integral_constant<int, 7>());
    default:
      fail(ErrorKind::config, {fmt::format("depthwise convolution: kernel {}", kernel),
                               "kernels have 3, 5 or 7 rows and columns", "choose one of these"});
  }
}

DepthwiseShape shape_of(const DepthwiseConvSpec& spec) {
  return {spec.batch, spec.height, spec.width, spec.channels};
}

/// Divides the rows of all samples for the weight gradient: at most about 512 teams, each with at
/// least four rows per lane, so that adding the parts costs little.
struct RowChunks {
  explicit RowChunks(const DepthwiseConvSpec& spec) {
    const std::int64_t all = spec.batch * spec.height,
                       wanted = std::max(1, 512 / shape_of(spec).blocks());
    rows = std::max<std::int64_t>(16, (all + wanted - 1) / wanted);
    count = (all + rows - 1) / rows;
  }
  std::int64_t rows, count;
};

ColumnSumSpec weight_sum(const DepthwiseConvSpec& spec) {
  return {RowChunks(spec).count, spec.channels * spec.kernel * spec.kernel, DType::f32};
}
ColumnSumSpec bias_sum(const DepthwiseConvSpec& spec) {
  return {spec.batch * spec.height * spec.width, spec.channels, spec.compute};
}

void apply(Stream& stream, std::string_view name, const DepthwiseConvSpec& spec, const void* x,
           const void* w, const float* bias, void* y, bool rotated) {
  const DepthwiseShape shape = shape_of(spec);
  // Two groups of columns per member.
  const int line = shape.groups() * channel_units(std::min(spec.channels, shape.kBlock));
  const int rows = std::clamp(512 / line, 1, spec.height);
  const std::int64_t strips = (spec.height + rows - 1) / rows;
  visit_kernel(spec.kernel, [&]<int kernel>(std::integral_constant<int, kernel>) {
    visit_float(spec.compute, [&]<class T>(T) {
      using Apply = DepthwiseConvApply<T, kernel>;
      league(stream, name, spec.batch * strips * shape.blocks(),
             {kChunkTeam, Apply::kScratch * sizeof(float)},
             Apply{static_cast<const T*>(x), static_cast<const T*>(w), bias, static_cast<T*>(y),
                   shape, rows, rotated});
    });
  });
}

}  // namespace

void depthwise_conv_forward(Stream& stream, const DepthwiseConvSpec& spec, const void* x,
                            const void* w, const float* bias, void* y) {
  apply(stream, "depthwise_conv_forward", spec, x, w, bias, y, false);
}

void depthwise_conv_backward_data(Stream& stream, const DepthwiseConvSpec& spec, const void* dy,
                                  const void* w, void* dx) {
  apply(stream, "depthwise_conv_backward_data", spec, dy, w, nullptr, dx, true);
}

std::size_t depthwise_conv_partials(const DepthwiseConvSpec& spec) {
  const ColumnSumSpec sum = weight_sum(spec);
  const auto weights = static_cast<std::size_t>(sum.columns);
  return std::max(weights * static_cast<std::size_t>(sum.rows + 1) + column_sum_partials(sum),
                  column_sum_partials(bias_sum(spec)));
}

void depthwise_conv_backward_weights(Stream& stream, const DepthwiseConvSpec& spec, const void* x,
                                     const void* dy, void* dw, float* dbias, float* partials) {
  const ColumnSumSpec sum = weight_sum(spec);
  const DepthwiseShape shape = shape_of(spec);
  float *sums = partials, *parts = sums + sum.columns, *rest = parts + sum.rows * sum.columns;
  visit_kernel(spec.kernel, [&]<int kernel>(std::integral_constant<int, kernel>) {
    visit_float(spec.compute, [&]<class T>(T) {
      using Weights = DepthwiseConvWeights<T, kernel>;
      league(stream, "depthwise_conv_backward_weights", sum.rows * shape.blocks(),
             {kChunkTeam, Weights::kScratch * sizeof(float)},
             Weights{static_cast<const T*>(x), static_cast<const T*>(dy), parts, shape,
                     RowChunks(spec).rows});
    });
  });
  column_sum(stream, sum, parts, rest, sums);
  convert(stream, sum.columns, DType::f32, sums, spec.compute, dw);
  if (dbias != nullptr) column_sum(stream, bias_sum(spec), dy, partials, dbias);
}

}  // namespace wellspring::ops
