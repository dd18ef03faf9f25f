#include "kernels/ops/loss.h"

#include "kernels/launch.h"

namespace wellspring::ops {
namespace {

/// Rows are narrow (some tens of logits), so a team is four warps.
constexpr TeamShape kRowTeam{128, kReduceLanes * sizeof(float)};

}  // namespace

void softmax_cross_entropy(Stream& stream, const LossSpec& spec, const float* logits,
                           const Slot* slots, const std::int32_t* labels, const float* weights,
                           float* loss, std::uint8_t* correct, void* dlogits) {
  visit_float(spec.gradient, [&]<class T>(T) {
    league(stream, "softmax_cross_entropy", spec.batch, kRowTeam,
           SoftmaxCrossEntropy<T>{spec, logits, slots, labels, weights, loss, correct,
                                  static_cast<T*>(dlogits)});
  });
}

void mean_squared_error(Stream& stream, const MseSpec& spec, const float* prediction,
                        const float* latents, const std::int32_t* target_index, const float* shift,
                        const float* scale, const float* weights, float* loss,
                        std::uint8_t* correct, void* dprediction) {
  visit_float(spec.gradient, [&]<class T>(T) {
    league(stream, "mean_squared_error", spec.batch, kRowTeam,
           MeanSquaredError<T>{spec, prediction, latents, target_index, shift, scale, weights, loss,
                               correct, static_cast<T*>(dprediction)});
  });
}

}  // namespace wellspring::ops
