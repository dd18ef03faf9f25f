#include "kernels/ops/loss.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

/// Rows are narrow (some tens of outputs), so a team has four warps.
constexpr TeamShape kRowTeam{128, kReduceLanes * sizeof(float)};

template <class T>
HeadRows<T> rows_of(const HeadSlice& head, const LossInput& in, const LossResult& out) {
  return {
      head, in.outputs, in.slots, in.weights, out.loss, out.scores, static_cast<T*>(out.gradient)};
}

}  // namespace

void softmax_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const std::int32_t* labels, float smoothing, const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    league(stream, "softmax_cross_entropy", head.batch, kRowTeam,
           SoftmaxCrossEntropy<T>{rows_of<T>(head, in, out), labels, smoothing});
  });
}

void soft_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                        const float* targets, std::int32_t target_width, float smoothing,
                        const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    league(stream, "soft_cross_entropy", head.batch, kRowTeam,
           SoftCrossEntropy<T>{rows_of<T>(head, in, out), targets, target_width, smoothing});
  });
}

void sigmoid_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const float* targets, std::int32_t target_width,
                           PositiveWeight positives, const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    league(stream, "sigmoid_cross_entropy", head.batch, kRowTeam,
           SigmoidCrossEntropy<T>{rows_of<T>(head, in, out), targets, target_width, positives});
  });
}

void squared_error(Stream& stream, const HeadSlice& head, const LossInput& in,
                   const RegressionTargets& truth, const LossResult& out) {
  visit_float(head.gradient, [&]<class T>(T) {
    league(stream, "squared_error", head.batch, kRowTeam,
           SquaredError<T>{rows_of<T>(head, in, out), truth});
  });
}

}  // namespace wellspring::ops
