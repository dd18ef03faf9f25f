// Heads: what each slice of a network's outputs stands for, how it is learnt, and which sources
// teach it. Host only.
#pragma once

#include "core/config/params.h"
#include "core/text/measured_text.h"
#include "kernels/batch/batch.h"
#include "kernels/ops/training.h"
#include "sources/mixing/mixup_pass.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

enum class LossKind : std::uint8_t {
  class_label,  ///< softmax cross-entropy against the label
  soft_label,   ///< softmax cross-entropy against the probabilities in `target`
  multi_label,  ///< sigmoid cross-entropy against each column of `target`
  regression,   ///< squared error of named latents or columns of `target`
};
/// As configurations and model files write it: "class", "soft_label", "multi_label", "regression".
const std::vector<std::pair<std::string, LossKind>>& loss_names();
std::string to_string(LossKind kind);
/// Error (data) for a name that is none of them.
LossKind loss_named(const std::string& name);

/// A number that a regression predicts, with the range that is brought to [-1, 1].
struct HeadTarget {
  std::string name;
  std::string unit;  ///< "" where dimensionless
  float low = 0, high = 1;
  friend bool operator==(const HeadTarget&, const HeadTarget&) = default;
};

/// A head as configured.
struct HeadConfig {
  std::string name;
  LossKind loss = LossKind::class_label;
  std::vector<std::string> sources;  ///< of a regression: who teaches it; empty: all that can
  std::vector<std::string> targets;  ///< of a regression: names of latents or target columns
  double label_smoothing = 0;        ///< [0, 1) of class and soft label; Szegedy et al. 2016
  ops::PositiveWeight positives = ops::PositiveWeight::equal;  ///< of multiple labels
  double weight = 1;                                           ///< of its loss
  ConfigLocation place = {};
};

/// A head of a network: HeadConfig, and what the sources say of it.
struct HeadSpec {
  std::string name;
  LossKind loss = LossKind::class_label;
  std::int32_t begin = 0;            ///< its first output
  std::vector<std::string> classes;  ///< what each output stands for; empty for a regression
  std::vector<HeadTarget> targets;   ///< the same of a regression; empty for others
  float label_smoothing = 0;
  ops::PositiveWeight positives = ops::PositiveWeight::equal;
  float weight = 1;

  std::int32_t outputs() const {
    return static_cast<std::int32_t>(loss == LossKind::regression ? targets.size()
                                                                  : classes.size());
  }
  /// Numbers that its loss says of a sample, beside the loss: see kernels/ops/training.h.
  std::int32_t scores() const {
    if (loss == LossKind::regression) return 2 * outputs();
    return loss == LossKind::multi_label ? ops::kSigmoidScores : 1;
  }
};

/// What a source has to teach.
struct SourceTruth {
  std::string name;
  std::string of;    ///< the training source that a held-out one belongs to; else its own name
  std::string head;  ///< the label space of its labels and of soft and multiple labels
  std::vector<std::string> classes;
  std::vector<HeadTarget> latents;  ///< by column
  std::vector<HeadTarget> targets;  ///< by column of `target`
  float loss_weight = 1;
  std::vector<std::string> constants = {};  ///< latents that are the same in every sample
};

/// The heads that `configs` describe over these sources, their outputs side by side in that order.
/// Errors (config): a head that no source teaches, a source that teaches none, targets that a
/// source lacks, that have another range there or a single value everywhere, label spaces that
/// differ.
std::vector<HeadSpec> make_heads(const std::vector<HeadConfig>& configs,
                                 const std::vector<SourceTruth>& sources);

/// Which samples a head learns from: what its loss needs to know of a list of sources.
struct HeadSources {
  std::uint32_t sources = 0;         ///< bit s: source s teaches it
  float weight[kMaxSources] = {};    ///< of the loss of its samples
  std::vector<std::int32_t> column;  ///< of a regression: RegressionTargets::column
  std::int32_t target_width = 0;     ///< of the sources' target column where it is read
};
/// By head. `sources` are those of the slots to come: of training, or held out. Errors (data): a
/// held-out source whose labels mean something else than the head's.
std::vector<HeadSources> feed_heads(const std::vector<HeadSpec>& heads,
                                    const std::vector<HeadConfig>& configs,
                                    const std::vector<SourceTruth>& sources);

/// What mixing must know of the labels of each source. `heads` are no regressions, see
/// expect_mixable.
std::vector<MixedLabels> mixed_labels(const std::vector<HeadSpec>& heads,
                                      const std::vector<HeadSources>& feeds, int sources);
/// Error (config) for a head whose truth cannot be mixed, where samples are.
void expect_mixable(const std::vector<HeadConfig>& heads, const MixConfig& mix);

/// The accuracy of the first head that has one.
std::optional<double> accuracy_of(const std::vector<HeadReport>& heads);

/// "accuracy 98.10 +- 0.30 % (best possible 99.00 %)", "rmse of x 0.0123 mm (best possible 0.01
/// mm), mae of x 0.009 mm"; with the head's name in front where there are several.
std::string scores_text(const std::vector<HeadReport>& heads, const char* plus_minus = kPlusMinus);

/// How losses and scores lie in Measures and in the sums of metrics: all heads' losses, then all
/// heads' scores.
class MeasureLayout {
 public:
  MeasureLayout(std::span<const HeadSpec> heads, std::int32_t sources);
  std::int32_t count() const { return count_; }
  std::int32_t heads() const { return static_cast<std::int32_t>(first_score_.size()); }
  std::int32_t sources() const { return sources_; }
  /// First array of a head's scores; its loss is array `head`.
  std::int32_t first_score(std::size_t head) const { return first_score_[head]; }
  std::int64_t sums() const { return ops::metric_sums(count_, sources_); }

 private:
  std::vector<std::int32_t> first_score_;
  std::int32_t count_ = 0, sources_ = 1;
};

/// Samples of `source` that the sums counted.
double samples_in(const MeasureLayout& layout, const double* sums, int source);
/// What `sums` (MeasureLayout::sums of them) say of the samples of `source`, by head that it
/// teaches. Empty without samples.
std::vector<HeadReport> report_heads(const std::vector<HeadSpec>& heads,
                                     const std::vector<HeadSources>& feeds,
                                     const MeasureLayout& layout, const double* sums, int source);

}  // namespace wellspring
