#include "kernels/ops/cpu/conv2d.h"

#include "core/error.h"
#include "kernels/ops/cpu/winograd_conv2d.h"
#include "kernels/ops/direct_conv.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/plan_log.h"

#include <fmt/format.h>
#if WELLSPRING_CUDA
#include "kernels/ops/cuda/conv2d.h"
#endif

namespace wellspring::ops {

std::string Conv2dSpec::to_string() const {
  return fmt::format("conv2d {}x{}x{}x{} -> {} channels, kernel {}, stride {}, padding {}, {}{}{}",
                     batch, in_height, in_width, in_channels, out_channels, kernel, stride, padding,
                     wellspring::to_string(compute), bias ? ", bias" : "",
                     activation == Activation::relu ? ", relu" : "");
}

namespace {

void check(const Conv2dSpec& spec) {
  const auto refuse = [&](std::string why) {
    fail(ErrorKind::config, {spec.to_string() + ": impossible shape", std::move(why)});
  };
  if (spec.batch < 1) refuse("the batch must be at least 1");
  if (spec.in_height < 1 || spec.in_width < 1) refuse("the input must have at least one pixel");
  if (spec.in_channels < 1 || spec.out_channels < 1) refuse("there must be at least one channel");
  if (spec.kernel < 1 || spec.stride < 1) refuse("kernel and stride must be at least 1");
  if (spec.padding < 0 || spec.padding >= spec.kernel) {
    refuse("the padding must be in [0, kernel)");
  }
  if (spec.in_height + 2 * spec.padding < spec.kernel ||
      spec.in_width + 2 * spec.padding < spec.kernel) {
    refuse("the kernel is larger than the padded input");
  }
  if (spec.compute != DType::f32 && spec.compute != DType::bf16) {
    refuse("only f32 and bf16 are supported");
  }
}

}  // namespace

std::unique_ptr<Conv2d> Conv2d::plan(const Conv2dSpec& spec, const Stream& stream) {
  check(spec);
  stream.library<PlanLog>()->convolutions.push_back(spec);
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) {
    return direct_conv_applies(spec) ? plan_direct_conv(spec) : cuda::plan_conv2d(spec, stream);
  }
#endif
  return cpu::plan_conv2d(spec, stream);
}

bool Conv2d::better_shared(const Conv2dSpec& spec, std::int64_t shards) {
  check(spec);
  return cpu::winograd_better_shared(spec, shards);
}

}  // namespace wellspring::ops
