#include "kernels/ops/cpu/weight_product.h"

#include "kernels/ops/column_sum.h"

#include <algorithm>
#include <cstring>

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;

ColumnSumSpec bias_sum(const Conv2dSpec& spec, std::int64_t rows) {
  return {rows, spec.out_channels, DType::bf16};
}

}  // namespace

bool WeightProduct::is_faster(const Conv2dSpec& spec) {
  // Measured on a Xeon with AMX.
  constexpr std::int64_t kMostPixels = 2048;
  return is_pointwise(spec) || spec.batch * spec.out_height() * spec.out_width() <= kMostPixels;
}

WeightProduct::WeightProduct(const Conv2dSpec& spec, const std::shared_ptr<OneDnn>& library)
    : spec_(spec) {
  const std::int64_t width = std::int64_t{spec.kernel} * spec.kernel * spec.in_channels;
  const memory::dim out = spec.out_channels;
  const auto type = memory::data_type::bf16;
  const memory::desc dy({out, rows()}, type, memory::format_tag::ba);
  const memory::desc patches({rows(), width}, type, memory::format_tag::ab);
  const memory::desc dw({out, width}, type, memory::format_tag::ab);
  product_ = MatrixProduct(library, dy, patches, dw);
  WorkspaceLayout layout;
  if (!is_pointwise(spec)) patches_ = layout.take(patches.get_size());
  scratch_ = layout.take(product_.scratch_bytes());
  if (spec.bias)
    partials_ = layout.take(column_sum_partials(bias_sum(spec, rows())) * sizeof(float));
  workspace_bytes_ = layout.bytes();
}

void WeightProduct::write_patches(const bf16* x, bf16* patches, int threads) const {
  const int kernel = spec_.kernel, channels = spec_.in_channels, width = spec_.in_width;
  const std::int64_t count = rows();
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t row = 0; row < count; ++row) {
    bf16* to = patches + row * kernel * kernel * channels;
    const std::int64_t line = row / spec_.out_width(), image = line / spec_.out_height();
    const int left = static_cast<int>(row % spec_.out_width()) * spec_.stride - spec_.padding;
    const int top = static_cast<int>(line % spec_.out_height()) * spec_.stride - spec_.padding;
    // The taps of a line that are inside the image are one run of pixels.
    const int begin = std::clamp(-left, 0, kernel), end = std::clamp(width - left, begin, kernel);
    const auto bytes = [=](int taps) {
      return static_cast<std::size_t>(taps) * static_cast<std::size_t>(channels) * sizeof(bf16);
    };
    for (int tap = 0; tap < kernel; ++tap, to += kernel * channels) {
      const int y = top + tap;
      if (y < 0 || y >= spec_.in_height) {
        std::memset(static_cast<void*>(to), 0, bytes(kernel));
        continue;
      }
      const bf16* from = x + ((image * spec_.in_height + y) * width + left + begin) * channels;
      std::memset(static_cast<void*>(to), 0, bytes(begin));
      std::memcpy(to + begin * channels, from, bytes(end - begin));
      std::memset(static_cast<void*>(to + end * channels), 0, bytes(kernel - end));
    }
  }
}

void WeightProduct::run(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) {
  WS_EXPECT(workspace.bytes >= workspace_bytes_);
  stream.run(NodeKind::kernel, "weight product", [=, this, threads = stream.threads()] {
    const ThreadScope scope(threads);
    const void* patches = x;
    if (!is_pointwise(spec_)) {
      auto* const to = static_cast<bf16*>(at(workspace, patches_));
      write_patches(static_cast<const bf16*>(x), to, threads);
      patches = to;
    }
    product_.run(dy, patches, dw, at(workspace, scratch_));
  });
  if (spec_.bias && dbias != nullptr)
    column_sum(stream, bias_sum(spec_, rows()), dy, static_cast<float*>(at(workspace, partials_)),
               dbias);
}

}  // namespace wellspring::ops::cpu
