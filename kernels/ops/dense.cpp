#include "kernels/ops/cpu/dense.h"

#include "core/error.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/plan_log.h"

#include <fmt/format.h>
#if WELLSPRING_CUDA
#include "kernels/ops/cuda/dense.h"
#endif

namespace wellspring::ops {

std::string DenseSpec::to_string() const {
  return fmt::format("dense {} rows, {} -> {}, {} -> {}{}{}", rows, in, out,
                     wellspring::to_string(compute), wellspring::to_string(output),
                     bias ? ", bias" : "", activation == Activation::relu ? ", relu" : "");
}

namespace {

void check(const DenseSpec& spec) {
  const auto refuse = [&](std::string why) {
    fail(ErrorKind::config, {spec.to_string() + ": impossible shape", std::move(why)});
  };
  if (spec.rows < 1) refuse("there must be at least one row");
  if (spec.in < 1 || spec.out < 1) refuse("there must be at least one input and one output");
  if (spec.compute != DType::f32 && spec.compute != DType::bf16) {
    refuse("only f32 and bf16 are supported");
  }
  if (spec.output != DType::f32 && spec.output != spec.compute) {
    refuse("the output must be f32 or of the compute type");
  }
}

}  // namespace

std::unique_ptr<Dense> Dense::plan(const DenseSpec& spec, const Stream& stream) {
  check(spec);
  stream.library<PlanLog>()->dense_layers.push_back(spec);
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) return cuda::plan_dense(spec, stream);
#endif
  return cpu::plan_dense(spec, stream);
}

}  // namespace wellspring::ops
