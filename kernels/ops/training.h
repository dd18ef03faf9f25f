// Losses and the metrics of a step. Called by train/; host only. The work runs as map or team
// functors on host and device.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// One head of a network: a slice of every row's outputs, and the sources whose samples train it.
/// For samples from other sources, the head's loss, scores and gradient are 0.
struct HeadSlice {
  std::int64_t batch = 1;          ///< rows of the arrays of losses and scores
  std::int64_t rows = 0;           ///< rows of this launch: the first rows of all arrays; 0: batch
  std::int64_t global_batch = 0;   ///< rows on all ranks, the divisor of the mean; 0: batch
  std::int32_t width = 1;          ///< outputs per row, of all heads together
  std::int32_t begin = 0;          ///< the head's first output
  std::int32_t outputs = 1;        ///< number of the head's outputs
  DType gradient = DType::f32;     ///< type of the outputs' gradient
  std::uint32_t sources = 0;       ///< bit s: samples of source s train this head
  float weight[kMaxSources] = {};  ///< weight of the loss of each source's samples
  std::int64_t launched() const { return rows > 0 ? rows : batch; }
  WS_HD std::int64_t mean_over() const { return global_batch > 0 ? global_batch : batch; }
};

/// Inputs of every loss, on the device.
struct LossInput {
  const float* outputs = nullptr;  ///< [batch, width]
  const Slot* slots = nullptr;     ///< [batch]
  const float* weights = nullptr;  ///< [batch] sample weights
};

/// Outputs of every loss, for every row of the batch.
struct LossResult {
  float* loss = nullptr;     ///< [batch] sample weight * source weight * loss
  float* scores = nullptr;   ///< [scores, batch] quality of the row's outputs; see each loss
  void* gradient = nullptr;  ///< [batch, width] of the mean loss; only the head's slice is set
};

/// Class: cross-entropy against the row's label; a fraction `smoothing` of the label is spread over
/// all classes. One score: 1 if the label's logit is the largest (ties go to the first), otherwise
/// 0.
void softmax_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const std::int32_t* labels, float smoothing, const LossResult& out);

/// A network's last dense layer; all its outputs belong to one head. Arrays on the device.
struct OutputLayer {
  int in = 8;                   ///< multiple of 8
  const void* x = nullptr;      ///< [rows, in]
  const void* w = nullptr;      ///< [outputs, in]
  const float* bias = nullptr;  ///< [outputs], or null
  float* outputs = nullptr;     ///< [rows, outputs]
  void* dx = nullptr;           ///< [rows, in]; null if it is not needed
  /// Parts [rows, outputs, in] and [rows, outputs] of the parameters' gradients, to be summed over
  /// the rows; both null if they are not needed.
  float* weight_parts = nullptr;
  float* bias_parts = nullptr;
};
/// True if output_layer_loss() accepts the layer: few outputs, a multiple of 8 inputs, and parts of
/// at most 4 MiB.
bool output_layer_fits(const DenseSpec& spec);
/// Computes the layer, softmax_cross_entropy over all its outputs, and the gradients of both in one
/// launch. Results agree with the separate calls within the rounding errors of the sums.
void output_layer_loss(Stream& stream, const HeadSlice& head, const OutputLayer& layer,
                       const LossInput& in, const std::int32_t* labels, float smoothing,
                       const LossResult& out);

/// Soft label: cross-entropy against the probabilities in the first columns of `targets` [batch,
/// target_width]. One score: 1 if the largest logit belongs to the likeliest class.
void soft_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                        const float* targets, std::int32_t target_width, float smoothing,
                        const LossResult& out);

/// The truth of a classifier: labels, or else class probabilities.
struct ClassTargets {
  const std::int32_t* labels = nullptr;  ///< [batch], or null
  const float* targets = nullptr;        ///< [batch, width] the head's classes come first
  std::int32_t width = 0;
};
/// Class or soft label: binary cross-entropy of each class, averaged over the classes. Smoothing
/// and score are as in softmax_cross_entropy and soft_cross_entropy.
void binary_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                          const ClassTargets& truth, float smoothing, const LossResult& out);

/// Weight of a present label relative to an absent label.
enum class PositiveWeight : std::uint8_t {
  equal,     ///< 1
  balanced,  ///< K / n for K labels; n is the sum of the targets, at least 1
};
/// Multi-label: binary cross-entropy of each output against the same column of `targets`, averaged
/// over the outputs. Targets are 0 or 1 or, for mixed samples, in between. A label is present if
/// its target is above 1/2, and predicted if its output is above 0. There are three scores: the
/// fraction of correct outputs; twice the number of labels that are both present and predicted; and
/// the number present plus the number predicted. The F1 score is the sum of the second over
/// samples, divided by the sum of the third.
void sigmoid_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                           const float* targets, std::int32_t target_width,
                           PositiveWeight positives, const LossResult& out);
inline constexpr std::int32_t kSigmoidScores = 3;

/// Dense labels: one class per pixel. The outputs of the head are [positions, classes].
struct PixelLabels {
  const float* plane = nullptr;  ///< [batch, positions] index of each pixel's class
  std::int64_t positions = 1;    ///< number of pixels
};

/// Dense labels: cross-entropy of each pixel's logits against its class, averaged over the pixels.
/// `smoothing` is as in softmax_cross_entropy. The largest logit is the predicted class (ties go to
/// the first). Scores: the fraction of correct pixels; per class, the number of pixels in the
/// intersection of prediction and truth; per class, the number in their union. A class's
/// intersection over union is the sum of its intersections over samples, divided by the sum of its
/// unions. If a value of the plane is not the index of a class, the row's loss is NaN and its
/// gradient is 0.
void pixel_cross_entropy(Stream& stream, const HeadSlice& head, const LossInput& in,
                         const PixelLabels& truth, float smoothing, const LossResult& out);
constexpr std::int32_t pixel_scores(std::int32_t classes) {
  return 1 + 2 * classes;
}

/// How a regression measures the error e = y - t of a scaled target t.
enum class RegressionError : std::uint8_t {
  squared,  ///< e^2
  huber,  ///< e^2 / 2 if |e| <= delta, else delta (|e| - delta / 2); Huber 1964, PyTorch's HuberLoss
  gaussian,  ///< (s + e^2 exp(-s)) / 2 with the log variance s; Nix & Weigend 1994, Kendall & Gal 2017
  quantile,  ///< max((level - 1) (t - y), level (t - y)), averaged over levels; Koenker & Bassett 1978
};
struct RegressionLaw {
  static constexpr int kMostLevels = 16;
  /// The log variance has the lower bound of PyTorch's GaussianNLLLoss (variance 1e-6). As in
  /// PyTorch, values below the bound get the gradient at the bound.
  static constexpr float kLeastLogVariance = -13.815510558f;
  RegressionError error = RegressionError::squared;
  float delta = 1;
  std::int32_t outputs = 1;       ///< outputs per target; the first one is the prediction
  float level[kMostLevels] = {};  ///< (quantile) level of each output
  friend bool operator==(const RegressionLaw&, const RegressionLaw&) = default;
};

/// Location of a regression's targets. `shift` and `scale` bring each target to about [-1, 1]: the
/// network learns (t - shift) * scale.
struct RegressionTargets {
  std::int32_t count = 1;          ///< number of targets
  const float* latents = nullptr;  ///< [batch, latent_width]; null if no column is a latent
  std::int64_t latent_width = 0;
  const float* targets = nullptr;  ///< [batch, target_width]; null if no column is a target
  std::int64_t target_width = 0;
  /// [kMaxSources, count] on the device, per source. c >= 0 means column c of the latents; c < 0
  /// means column -1 - c of the targets.
  const std::int32_t* column = nullptr;
  const float* shift = nullptr;  ///< [count] on the device
  const float* scale = nullptr;
  const float* level = nullptr;  ///< [outputs per target] on the device, for quantiles
};

/// Regression: error of the scaled targets, averaged over the targets. The head has the first
/// output of every target, then the second of every target, and so on. Two scores per target: the
/// squared and the absolute error of its first output, in the target's own unit.
void regression_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                     const RegressionTargets& truth, const RegressionLaw& law,
                     const LossResult& out);

/// Copies batch.x to `visible`, with 0 in the features of the mask `hidden` (bit k: feature k).
void hide_features(Stream& stream, const BatchView& batch, std::uint64_t hidden, void* visible);
/// A mask has a bit for each feature.
inline constexpr int kMostHidable = 64;

/// Truth of a head whose outputs are [items, targets].
struct ItemTargets {
  const void* x = nullptr;              ///< [batch, items, features] in the type of the gradient
  const std::int32_t* count = nullptr;  ///< [batch] number of items
  std::int64_t items = 1, features = 1;
  std::int32_t targets = 1;
  const std::int32_t* column = nullptr;  ///< [kMaxSources, targets] on the device: feature indices
};

/// Squared error, averaged over the targets of all existing items; 0 without items. Scores: per
/// target, sums over the items of squared and absolute errors; then the number of items.
void item_regression_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                          const ItemTargets& truth, const LossResult& out);
constexpr std::int32_t item_scores(std::int32_t targets) {
  return 2 * targets + 1;
}

/// An image as square patches in row-major order. The values of a patch are in the order (row,
/// column, channel).
struct PatchPixels {
  SampleShape shape;
  std::int32_t side = 1;  ///< pixels; divides height and width
  WS_HD constexpr std::int32_t across() const { return shape.width / side; }
  WS_HD constexpr std::int32_t count() const { return across() * (shape.height / side); }
  WS_HD constexpr std::int32_t values() const { return side * side * shape.channels; }
  /// Index in the image of value `v` of a patch.
  WS_HD constexpr std::int64_t place(std::int32_t patch, std::int32_t v) const {
    const std::int32_t line = side * shape.channels, y = v / line, down = patch / across();
    const std::int32_t column = (patch - down * across()) * side;
    return (std::int64_t{down * side + y} * shape.width + column) * shape.channels + v - y * line;
  }
};

/// Copies batch.x to `visible`, with 0 in the masked patches (batch.mask) of `side` pixels.
void hide_patches(Stream& stream, const BatchView& batch, std::int32_t side, void* visible);

/// Masked-image modelling: the head's outputs are [patches, values]. The loss is the mean squared
/// error of the masked patches (`mask` [batch, patches], 1: masked). Their values are scaled to
/// mean 0 and variance 1 in each patch (He et al. 2022, section 3). `x`: the images, in the type of
/// the gradient. No scores.
void masked_patch_loss(Stream& stream, const HeadSlice& head, const LossInput& in,
                       const PatchPixels& patches, const void* x, const std::uint8_t* mask,
                       const LossResult& out);

/// First part of a step's line of metrics; the sums are in MetricsRing.
struct StepMetrics {
  std::uint64_t step = 0;
  float loss = 0;
  float gradient_norm = 0;
  float learning_rate = 0;
  std::uint32_t nonfinite = 0;
  SetOverflow overflow;  ///< total since the run began
};

/// Per-sample measures of a batch: the losses of all heads, then their scores.
struct Measures {
  std::int64_t batch = 1;
  std::int32_t count = 0;         ///< number of arrays
  std::int32_t losses = 0;        ///< the first `losses` arrays add up to the sample's loss
  std::int32_t sources = 1;       ///< number of sources in the mixture
  const float* values = nullptr;  ///< [count, batch]
};

/// Number of sums per line: [count + 1, sources], one row per measure, then the number of samples.
constexpr std::int64_t metric_sums(std::int32_t measures, std::int32_t sources) {
  return std::int64_t{measures + 1} * sources;
}

/// The device's ring buffer of metrics; a step uses line step % size.
struct MetricsRing {
  StepMetrics* lines = nullptr;  ///< [size]
  double* sums = nullptr;        ///< [size, metric_sums]
  std::uint32_t size = 1;
};

/// Ends a step without an optimizer; with one, the gradient_norm launch does this. Sums the
/// batch's measures by source in a fixed order, writes the step's line (its loss is the mean total
/// loss) and the sticky non-finite flag, and increments state->step. The batch's `overflow` may be
/// null.
void collect_metrics(Stream& stream, const Measures& measures, const Slot* slots,
                     const SetOverflow* overflow, StepState* state, const MetricsRing& ring);
/// Adds the sums over the first `valid` rows to `sums` [metric_sums].
void accumulate_evaluation(Stream& stream, const Measures& measures, std::int64_t valid,
                           const Slot* slots, double* sums);

}  // namespace wellspring::ops
