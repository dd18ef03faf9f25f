#include "train/checkpoint/adapted_tensor.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Keys 1981, equation 4, with a = -1/2, as in PyTorch's antialiased kernels
/// (aten/src/ATen/native/cpu/UpSampleKernel.cpp, HelperInterpCubic::aa_filter).
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// One output's weights for the inputs [first, first + weights.size()).
struct Window {
  std::int64_t first = 0;
  std::vector<double> weights;
};

/// The windows along one axis; when shrinking, the filter is stretched by the ratio of the sizes
/// (UpSampleKernel.cpp, _compute_indices_min_size_weights_aa).
std::vector<Window> windows(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double support = 2 * stretch;
  std::vector<Window> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = scale * (static_cast<double>(i) + 0.5);
    const auto begin = static_cast<std::int64_t>(std::max(centre - support + 0.5, 0.0));
    const auto end = std::min(static_cast<std::int64_t>(centre + support + 0.5), from);
    Window window{begin, {}};
    double sum = 0;
    for (std::int64_t j = begin; j < end; ++j) {
      window.weights.push_back(cubic((static_cast<double>(j) - centre + 0.5) / stretch));
      sum += window.weights.back();
    }
    for (double& weight : window.weights) weight /= sum;
    all.push_back(std::move(window));
  }
  return all;
}

/// Resizes the middle axis of an array [outer, from, inner].
std::vector<double> resized_axis(const std::vector<double>& values, std::int64_t from,
                                 std::int64_t to, std::int64_t inner) {
  const std::vector<Window> all = windows(from, to);
  const std::int64_t outer = static_cast<std::int64_t>(values.size()) / (from * inner);
  std::vector<double> resized(static_cast<std::size_t>(outer * to * inner));
  double* out = resized.data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Window& window : all) {
      const double* in = values.data() + (o * from + window.first) * inner;
      for (const double weight : window.weights)
        for (std::int64_t k = 0; k < inner; ++k) out[k] += weight * *in++;
      out += inner;
    }
  return resized;
}

}  // namespace

std::vector<float> with_input_channels(std::span<const float> weight, std::int64_t out,
                                       std::int64_t in, std::int64_t channels) {
  const std::int64_t window = static_cast<std::int64_t>(weight.size()) / (out * in);
  std::vector<float> adapted;
  adapted.reserve(static_cast<std::size_t>(out * channels * window));
  const auto value = [&](std::int64_t o, std::int64_t c, std::int64_t k) {
    return weight[static_cast<std::size_t>((o * in + c) * window + k)];
  };
  const float scale = static_cast<float>(in) / static_cast<float>(channels);
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t k = 0; k < window; ++k) {
        float adjusted = 0;
        if (channels == 1)
          for (std::int64_t i = 0; i < in; ++i) adjusted += value(o, i, k);
        else
          adjusted = value(o, c % in, k) * scale;
        adapted.push_back(adjusted);
      }
  return adapted;
}

std::vector<float> resized_positions(std::span<const float> grid, PatchGrid from, PatchGrid to,
                                     std::int64_t width) {
  const std::vector<double> values(grid.begin(), grid.end());
  const std::vector<double> rows = resized_axis(values, from.rows, to.rows, from.columns * width);
  const std::vector<double> all = resized_axis(rows, from.columns, to.columns, width);
  return {all.begin(), all.end()};
}

}  // namespace wellspring
