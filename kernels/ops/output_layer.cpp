#include "kernels/ops/output_layer.h"

#include "core/expect.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

constexpr int kMostFusedOutputs = 64, kMostFusedInputs = 16384;  ///< inputs are in scratch
/// Largest partial sums of the weight gradient: about a tenth of a GPU's cache.
constexpr std::int64_t kMostPartBytes = std::int64_t{4} << 20;

}  // namespace

bool output_layer_fits(const DenseSpec& spec) {
  return spec.in % kPack == 0 && spec.in <= kMostFusedInputs && spec.out <= kMostFusedOutputs &&
         spec.output == DType::f32 && spec.activation == Activation::none &&
         spec.rows * spec.out * spec.in * static_cast<std::int64_t>(sizeof(float)) <=
             kMostPartBytes;
}

void output_layer_loss(Stream& stream, const HeadSlice& head, const OutputLayer& layer,
                       const LossInput& in, const std::int32_t* labels, float smoothing,
                       const LossResult& out) {
  WS_EXPECT(head.begin == 0 && head.width == head.outputs && in.outputs == layer.outputs);
  visit_float(head.gradient, [&]<class T>(T) {
    using Loss = SoftmaxCrossEntropy<T>;
    using Layer = OutputLayerLoss<T>;
    const std::size_t scratch =
        Layer::scratch_floats(layer.in, head.outputs) * sizeof(float) +
        static_cast<std::size_t>(reduce_lanes(head.outputs)) * sizeof(typename Loss::Scratch);
    league(stream, "output_layer_loss", head.launched(), {Layer::kLaunchBound.threads, scratch},
           Layer{layer,
                 {{head, in.outputs, in.slots, in.weights, out.loss, out.scores,
                   static_cast<T*>(out.gradient)},
                  labels,
                  smoothing}});
  });
}

}  // namespace wellspring::ops
