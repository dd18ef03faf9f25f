#include "kernels/ops/loss.h"

#include "core/expect.h"
#include "kernels/ops/binary_loss.h"
#include "kernels/runtime/launch.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace wellspring::ops {
namespace {

/// One thread per output, up to four warps; narrow rows share a warp.
template <class Loss>
TeamShape row_team(const HeadSlice& head) {
  const auto outputs = static_cast<unsigned>(head.outputs);
  return {static_cast<int>(std::clamp(std::bit_ceil(outputs), 8u, 128u)),
          static_cast<std::size_t>(reduce_lanes(head.outputs)) * sizeof(typename Loss::Scratch)};
}

template <class Loss>
void launch(Stream& stream, std::string_view name, const Loss& loss) {
  const HeadSlice& head = loss.rows.head;
  league(stream, name, head.launched(), row_team<Loss>(head), loss);
}

template <class T>
HeadRows<T> rows_of(const HeadSlice& head, const LossInput& in, const LossResult& out) {
  return {
      head, in.outputs, in.slots, in.weights, out.loss, out.scores, static_cast<T*>(out.gradient)};
}

}  // namespace

void softmax_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const std::int32_t* labels, float smoothing, const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    launch(stream, "softmax_cross_entropy",
           SoftmaxCrossEntropy<T>{rows_of<T>(head, in, out), labels, smoothing});
  });
}

void soft_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                        const float* targets, std::int32_t target_width, float smoothing,
                        const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    launch(stream, "soft_cross_entropy",
           SoftCrossEntropy<T>{rows_of<T>(head, in, out), targets, target_width, smoothing});
  });
}

void binary_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                          const ClassTargets& truth, float smoothing, const LossResult& out) {
  WS_EXPECT(truth.labels != nullptr || truth.targets != nullptr);
  visit_float(head.gradient, [&]<class T>(T) {
    launch(stream, "binary_cross_entropy",
           BinaryClassLoss<T>{rows_of<T>(head, in, out), truth, smoothing});
  });
}

void sigmoid_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const float* targets, std::int32_t target_width,
                           PositiveWeight positives, const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    launch(stream, "sigmoid_cross_entropy",
           SigmoidCrossEntropy<T>{rows_of<T>(head, in, out), targets, target_width, positives});
  });
}

void regression_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                     const RegressionTargets& truth, const RegressionLaw& law,
                     const LossResult& out) {
  WS_EXPECT(head.outputs == truth.count * law.outputs);
  WS_EXPECT(law.error != RegressionError::quantile || truth.level != nullptr);
  const RegressionRule rule = {law.error, law.delta, law.outputs, truth.level};
  visit_float(head.gradient, [&]<class T>(T) {
    launch(stream, "regression_loss", RegressionLoss<T>{rows_of<T>(head, in, out), truth, rule});
  });
}

void pixel_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                         const PixelLabels& truth, float smoothing, const LossResult& out) {
  WS_EXPECT(truth.positions > 0 && head.outputs % truth.positions == 0);
  visit_float(head.gradient, [&]<class T>(T) {
    using Loss = PixelCrossEntropy<T>;
    const auto pixels = static_cast<std::uint64_t>(truth.positions);
    const int threads = static_cast<int>(
        std::clamp<std::uint64_t>(std::bit_ceil(pixels), kWarp, Loss::kLaunchBound.threads));
    const auto classes = static_cast<std::int32_t>(head.outputs / truth.positions);
    league(stream, "pixel_cross_entropy", head.launched(), {threads, Loss::scratch_bytes(classes)},
           Loss{rows_of<T>(head, in, out), truth, smoothing});
  });
}

}  // namespace wellspring::ops
