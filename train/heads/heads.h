// Heads: the meaning, loss and sources of each slice of a network's outputs. Used by
// configurations, losses and checkpoints; host only.
#pragma once

#include "core/config/params.h"
#include "core/text/measured_text.h"
#include "kernels/batch/batch.h"
#include "kernels/ops/embedding_loss.h"
#include "kernels/ops/training.h"
#include "sources/mixing/mixup_pass.h"
#include "train/metrics/observer.h"
#include "train/network/tape.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

enum class LossKind : std::uint8_t {
  class_label,      ///< cross-entropy with the label; see CrossEntropy
  soft_label,       ///< cross-entropy with the probabilities in `target`
  multi_label,      ///< sigmoid cross-entropy with each column of `target`
  regression,       ///< error of named latents or columns of `target`
  pixel_class,      ///< softmax cross-entropy of each pixel with its dense label
  item_regression,  ///< error of named features of each item, which are hidden from the network
  // Self-supervised losses
  masked_patches,  ///< error of the pixels of masked patches, which are hidden from the network
  // Comparisons of the embeddings of all rows; kernels/ops/embedding_loss.h
  info_nce,
  alignment_uniformity,
  vicreg,
};
/// True for the self-supervised losses.
constexpr bool is_self_supervised(LossKind kind) {
  return kind >= LossKind::masked_patches;
}
/// True for losses that compare the views of a sample.
constexpr bool compares_views(LossKind kind) {
  return kind >= LossKind::info_nce;
}
/// Names in configurations and model files, such as "soft_label".
const std::vector<std::pair<std::string, LossKind>>& loss_names();
std::string to_string(LossKind kind);
/// Error (data) for an unknown name.
LossKind loss_named(const std::string& name);

/// How the outputs of a classifier become probabilities, and thus its loss.
enum class CrossEntropy : std::uint8_t {
  softmax,  ///< one distribution over all classes
  binary,   ///< each class against all others; probabilities do not add up to 1
};
/// Names in configurations and model files.
const std::vector<std::pair<std::string, CrossEntropy>>& cross_entropy_names();

/// A regression target and its range, which the loss scales to [-1, 1].
struct HeadTarget {
  std::string name;
  std::string unit;  ///< "" if dimensionless
  float low = 0, high = 1;
  /// The network learns (target - shift) * scale, which is in [-1, 1].
  float shift() const { return 0.5f * (low + high); }
  float scale() const { return high > low ? 2 / (high - low) : 1; }
  friend bool operator==(const HeadTarget&, const HeadTarget&) = default;
};

/// A configured head.
struct HeadConfig {
  std::string name;
  LossKind loss = LossKind::class_label;
  std::string output;  ///< output of the model; "": the loss's usual one
  /// Sources that train it. Empty: all sources with its targets or with dense labels; for other
  /// losses, all sources that name it as their head.
  std::vector<std::string> sources;
  /// Names of latents or target columns (regression), or of features of the items.
  std::vector<std::string> targets;
  double label_smoothing = 0;  ///< [0, 1), for class and soft_label; Szegedy et al. 2016
  std::string average_with;    ///< (class, soft_label) see HeadSpec
  CrossEntropy cross_entropy = CrossEntropy::softmax;          ///< (class, soft_label)
  ops::PositiveWeight positives = ops::PositiveWeight::equal;  ///< (multi_label)
  double weight = 1;                                           ///< weight of its loss
  /// (self-supervised) Widths of the projection's layers; the last is the width of the embedding.
  std::vector<std::int32_t> projection;
  double temperature = 0.5;                                    ///< see ops::EmbeddingLoss
  double uniformity = 1;                                       ///< likewise
  double invariance = 25, variance = 25, covariance = 1;       ///< likewise
  std::uint32_t views = 1;                                     ///< data.views of the run
  ops::RegressionError error = ops::RegressionError::squared;  ///< (regression)
  double delta = 1;                                            ///< (huber) in scaled units
  std::vector<double> quantiles;                               ///< (quantile) without the median
  ConfigLocation place = {};

  ops::EmbeddingLoss embedding_loss() const;
};

/// A head of a network: the settings of HeadConfig, with its outputs and their classes or targets.
struct HeadSpec {
  std::string name;
  LossKind loss = LossKind::class_label;
  std::string output = kSampleOutput;  ///< output of the network; see OutputSpec
  std::int32_t positions = 1;  ///< pixels, items or patches, each with its own classes or targets
  std::int32_t row = 0;        ///< row of its first class or target in the layer
  std::int32_t begin = 0;      ///< index of its first output among all outputs
  std::vector<std::string> classes;  ///< empty for regressions
  std::vector<HeadTarget> targets;   ///< empty for classifiers
  float label_smoothing = 0;
  /// The head with which this one averages its outputs, except in training; "": none.
  std::string average_with = {};
  CrossEntropy cross_entropy = CrossEntropy::softmax;
  ops::PositiveWeight positives = ops::PositiveWeight::equal;
  float weight = 1;
  std::vector<std::int32_t> projection = {};  ///< see HeadConfig
  ops::EmbeddingLoss embedding = {};          ///< (self-supervised)
  ops::RegressionLaw law = {};                ///< regressions
  std::uint64_t hidden = 0;       ///< (item_regression) mask of its targets among the features
  std::int32_t patch = 0;         ///< (masked_patches) side of a patch, pixels
  std::int32_t patch_values = 0;  ///< (masked_patches) values of a patch

  bool is_embedding() const { return compares_views(loss); }
  bool is_masked() const { return loss == LossKind::masked_patches; }
  bool is_self_supervised() const { return wellspring::is_self_supervised(loss); }
  /// True for heads that choose one of their classes.
  bool is_choice() const { return loss == LossKind::class_label || loss == LossKind::soft_label; }
  /// True if its outputs are logits of independent probabilities.
  bool is_binary() const {
    return loss == LossKind::multi_label || (is_choice() && cross_entropy == CrossEntropy::binary);
  }
  bool is_dense() const { return loss == LossKind::pixel_class; }
  bool is_item() const { return loss == LossKind::item_regression; }
  bool has_targets() const { return loss == LossKind::regression || is_item(); }
  /// Number of rows in the layer of its output: the number of classes, of outputs for all targets,
  /// or of values in the embedding or in a patch.
  std::int32_t rows() const {
    if (is_embedding()) return projection.back();
    if (is_masked()) return patch_values;
    return static_cast<std::int32_t>(
        has_targets() ? targets.size() * static_cast<std::size_t>(law.outputs) : classes.size());
  }
  /// Number of output values per sample.
  std::int32_t outputs() const { return positions * rows(); }
  /// Number of scores that its loss computes per sample; see kernels/ops/training.h.
  std::int32_t scores() const {
    if (is_self_supervised()) return 0;
    if (loss == LossKind::regression) return 2 * static_cast<std::int32_t>(targets.size());
    if (is_dense()) return ops::pixel_scores(rows());
    if (is_item()) return ops::item_scores(rows());
    return loss == LossKind::multi_label ? ops::kSigmoidScores : 1;
  }
};

/// Names in configurations and model files: "squared", "huber", "gaussian", "quantile".
const std::vector<std::pair<std::string, ops::RegressionError>>& error_names();
/// Output 0 of a target is its prediction: the mean or median. A Gaussian has the log variance as
/// output 1; quantiles other than the median follow in the given order.
ops::RegressionLaw make_law(ops::RegressionError error, double delta,
                            const std::vector<double>& quantiles);

/// The labels, latents and targets that a source provides.
struct SourceTruth {
  std::string name;
  std::string of;    ///< name of the training source; differs from `name` only for held-out sources
  std::string head;  ///< head that learns its labels, soft labels or multi-labels
  std::vector<std::string> classes;
  std::vector<HeadTarget> latents;  ///< by column
  std::vector<HeadTarget> targets;  ///< by column of `target`
  float loss_weight = 1;
  std::vector<std::string> constants = {};      ///< latents with the same value in all samples
  std::vector<std::string> dense_classes = {};  ///< by dense-label value; may be empty
  std::int32_t pixels = 0;                      ///< number of dense labels
  std::int32_t items = 0;                       ///< capacity of a set, otherwise 0
  std::int32_t patches = 0, patch = 0;          ///< number and side in mask_patches; 0: no mask
  std::int32_t patch_values = 0;  ///< values per patch; 0: masked patches have lost their pixels
  std::vector<HeadTarget> features = {};  ///< features of an item, by column; empty if unknown
};

/// Sets row and begin of all heads, which are ordered by output: the outputs are concatenated in
/// the order of their first heads.
void place_heads(std::vector<HeadSpec>& heads);
/// The outputs that these heads read, in order.
std::vector<OutputSpec> outputs_of(const std::vector<HeadSpec>& heads);

/// Makes the heads that `configs` describe for these sources, grouped by output but otherwise in
/// order. Errors (config): a head without sources; a source without a head; a target that is
/// missing or constant; targets or classes that differ between the sources of a head.
std::vector<HeadSpec> make_heads(const std::vector<HeadConfig>& configs,
                                 const std::vector<SourceTruth>& sources);

/// The sources that a head learns from.
struct HeadSources {
  std::uint32_t sources = 0;         ///< bit s: source s trains it
  float weight[kMaxSources] = {};    ///< loss weight of its samples, by source
  std::vector<std::int32_t> column;  ///< see RegressionTargets::column and ItemTargets::column
  std::int32_t target_width = 0;     ///< width of the `target` column, if it is read
};
/// The sources of each head. `sources`: the training or the held-out sources, in slot order.
/// Errors: data if the classes of a source differ from its head's; config if a source has no head.
std::vector<HeadSources> feed_heads(const std::vector<HeadSpec>& heads,
                                    const std::vector<HeadConfig>& configs,
                                    const std::vector<SourceTruth>& sources);

/// The labels of each source, for mixing. `heads` must not include regressions; see expect_mixable.
/// Error (config) if a source trains two heads that read different labels.
std::vector<MixedLabels> mixed_labels(const std::vector<HeadSpec>& heads,
                                      const std::vector<HeadSources>& feeds, int sources);
/// Error (config) if `mix` is on and a head's targets cannot be mixed.
void expect_mixable(const std::vector<HeadConfig>& heads, const MixConfig& mix);

/// Names of the scores of a per-pixel head.
inline constexpr const char *kPixelAccuracy = "pixel accuracy", *kMeanIou = "mean IoU";

/// True if a head has a loss on held-out samples, which have only one view each.
bool has_held_out_loss(const std::vector<HeadSpec>& heads);

/// The accuracy of the first head that has one.
std::optional<double> accuracy_of(const std::vector<HeadReport>& heads);

/// "accuracy 98.10 +- 0.30 % (best possible 99.00 %)", "rmse of x 0.0123 mm (best possible 0.01
/// mm), mae of x 0.009 mm", "area under the curve 0.75 (signal: gluon)"; the head's name comes
/// first if there are several heads.
std::string scores_text(const std::vector<HeadReport>& heads, const char* plus_minus = kPlusMinus);

/// Layout of losses and scores in Measures and in the sums of metrics: all heads' losses, then all
/// heads' scores.
class MeasureLayout {
 public:
  MeasureLayout(std::span<const HeadSpec> heads, std::int32_t sources);
  std::int32_t count() const { return count_; }
  std::int32_t heads() const { return static_cast<std::int32_t>(first_score_.size()); }
  std::int32_t sources() const { return sources_; }
  /// Index of a head's first score array; its loss is array `head`.
  std::int32_t first_score(std::size_t head) const { return first_score_[head]; }
  std::int64_t sums() const { return ops::metric_sums(count_, sources_); }

 private:
  std::vector<std::int32_t> first_score_;
  std::int32_t count_ = 0, sources_ = 1;
};

/// Number of samples of `source` in the sums.
double samples_in(const MeasureLayout& layout, const double* sums, int source);
/// The results on the samples of `source`, for each head that this source trains; empty without
/// samples. `sums` holds MeasureLayout::sums() values.
std::vector<HeadReport> report_heads(const std::vector<HeadSpec>& heads,
                                     const std::vector<HeadSources>& feeds,
                                     const MeasureLayout& layout, const double* sums, int source);

}  // namespace wellspring
