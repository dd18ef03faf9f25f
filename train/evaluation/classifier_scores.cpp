#include "train/evaluation/classifier_scores.h"

#include "core/text/measured_text.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace wellspring {
namespace {

/// Values per sum over the ranks.
constexpr std::size_t kGathered = 1 << 16;

/// Gives every rank all `values`; each rank contributes its own in [first, end). The ranks' parts
/// do not overlap, so the sums need no rounding.
template <class T>
void gather(Communicator& ranks, std::span<T> values, std::size_t first, std::size_t end) {
  for (std::size_t begin = 0; begin < values.size(); begin += kGathered) {
    const std::span<T> some = values.subspan(begin, std::min(kGathered, values.size() - begin));
    for (std::size_t i = 0; i < some.size(); ++i)
      if (begin + i < first || begin + i >= end) some[i] = T{};
    sum_over_ranks(ranks, [&](auto f) {
      for (T& value : some) f(value);
    });
  }
}

/// part / whole; nullopt for 0 / 0.
std::optional<double> ratio(double part, double whole) {
  if (!(whole > 0)) return std::nullopt;
  return part / whole;
}

/// A sample counts in the top-5 accuracy if at most this many classes rank above the true one.
constexpr std::ptrdiff_t kMostAbove = 4;

/// True if the label is one of the five likeliest classes. Of equal logits, the first ranks higher.
bool is_among_5(std::span<const float> logits, std::size_t label) {
  const auto above = [&](std::size_t k) {
    return logits[k] > logits[label] || (logits[k] == logits[label] && k < label);
  };
  std::ptrdiff_t count = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) count += above(k) ? 1 : 0;
  return count <= kMostAbove;
}

/// log(p / (1 - p)) for p = softmax(logits): it orders samples like p, but does not round to 1.
class LogOdds {
 public:
  explicit LogOdds(std::span<const float> logits)
      : logits_(logits), top_(index_of_largest(logits)) {
    for (std::size_t k = 0; k < logits.size(); ++k)
      if (k != top_) others_ += std::exp(double{logits[k]} - logits[top_]);
  }
  float of(std::size_t k) const {
    // The sum without class k includes the top class, so it is at least 1: nothing cancels.
    const double above = double{logits_[k]} - logits_[top_];
    if (k != top_) return static_cast<float>(above - std::log(1 + others_ - std::exp(above)));
    return log_odds_of_top();
  }

 private:
  /// Sums relative to the second largest logit: relative to the largest, all terms might underflow.
  float log_odds_of_top() const {
    double second = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t k = 0; k < logits_.size(); ++k)
      if (k != top_) second = std::max(second, double{logits_[k]});
    for (std::size_t k = 0; k < logits_.size(); ++k)
      if (k != top_) sum += std::exp(logits_[k] - second);
    return static_cast<float>(logits_[top_] - second - std::log(sum));
  }

  std::span<const float> logits_;
  std::size_t top_;
  double others_ = 0;  ///< sum of exp(logit - largest) without the top class
};

}  // namespace

void class_probabilities(const HeadSpec& head, std::span<const float> logits,
                         std::span<double> probabilities) {
  if (head.is_binary()) {
    std::ranges::transform(logits, probabilities.begin(), sigmoid);
    return;
  }
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (std::size_t k = 0; k < logits.size(); ++k)
    sum += probabilities[k] = std::exp(logits[k] - largest);
  for (double& probability : probabilities) probability /= sum;
}

double sigmoid(float logit) {
  return 1 / (1 + std::exp(-double{logit}));
}

std::size_t index_of_largest(std::span<const float> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

ClassifierScores::ClassifierScores(const HeadSpec& head, std::uint64_t samples, MemoryPlan& memory,
                                   std::size_t signal, std::uint64_t most_bytes)
    : head_(head), classes_(head.classes.size()), signal_(signal), probabilities_(classes_) {
  std::uint64_t per_sample = sizeof(RankedSample) + sizeof(float) + classes_ * sizeof(float);
  per_sample += is_multi_label() ? classes_ : sizeof(std::int32_t);
  if (samples > most_bytes / per_sample) {
    note_ = fmt::format(
        "head '{}': no ROC curve and no area under it, because the scores of {} need more than {}; "
        "evaluate fewer samples, or write them to a file (eval --predictions)",
        head.name, counted(samples, "sample"), human_bytes(most_bytes));
    return;
  }
  const auto reserve = [&]<class T>(T, const char* name, std::size_t count) {
    return memory.reserve<T>("evaluation", name, count, MemorySpace::host);
  };
  odds_ = reserve(float{}, "scores", classes_ * samples);
  row_weights_ = reserve(float{}, "weights of scores", samples);
  ranked_ = reserve(RankedSample{}, "ranking", samples);
  if (is_multi_label())
    present_ = reserve(std::uint8_t{}, "labels of scores", classes_ * samples);
  else
    labels_ = reserve(std::int32_t{}, "labels of scores", samples);
}

void ClassifierScores::clear() {
  counts_.assign(classes_, {});
  confusion_.clear();
  if (!is_multi_label() && classes_ <= kMostConfused) confusion_.resize(classes_ * classes_, 0);
  bins_.assign(kCalibrationBins, {});
  weights_ = squared_weights_ = correct_ = among_5_ = 0;
  weighted_ = false;
  kept_ = 0;
}

void ClassifierScores::add(const PredictedRows& rows) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::span logits(rows.outputs + row * rows.width + head_.begin, classes_);
    const double weight = rows.truth.weight[row];
    const float* const target = rows.truth.target + row * rows.truth.layout.targets;
    weights_ += weight;
    squared_weights_ += weight * weight;
    weighted_ = weighted_ || weight != 1;
    auto label = static_cast<std::size_t>(rows.truth.label[row]);
    if (is_multi_label()) {
      add_labels(logits, target, weight);
    } else {
      if (head_.loss == LossKind::soft_label) label = index_of_largest({target, classes_});
      add_choice(logits, label, weight);
    }
    if (odds_) keep(logits, rows, row, label);
  }
}

void ClassifierScores::add_ranks(Communicator& ranks, HeldOutRange own) {
  if (ranks.size() == 1) return;
  sum_over_ranks(ranks, [&](auto f) {
    for (Counts& n : counts_) {
      f(n.present);
      f(n.predicted);
      f(n.both);
    }
    for (double& weight : confusion_) f(weight);
    for (Bin& bin : bins_) {
      f(bin.weight);
      f(bin.confidence);
      f(bin.correct);
    }
    f(weights_);
    f(squared_weights_);
    f(correct_);
    f(among_5_);
    f(weighted_);
    f(kept_);
  });
  const auto gather_kept = [&]<class T>(const Planned<T>& values, std::size_t rows) {
    const std::size_t samples = ranked_.size();
    for (std::size_t k = 0; k < rows && values; ++k)
      gather(ranks, std::span(values.data() + k * samples, kept_), own.first, own.end);
  };
  gather_kept(odds_, classes_);
  gather_kept(row_weights_, 1);
  gather_kept(labels_, 1);
  gather_kept(present_, classes_);
}

void ClassifierScores::add_choice(std::span<const float> logits, std::size_t label, double weight) {
  const std::size_t predicted = index_of_largest(logits);
  const bool correct = predicted == label;
  counts_[label].present += weight;
  counts_[predicted].predicted += weight;
  if (!confusion_.empty()) confusion_[label * classes_ + predicted] += weight;
  if (correct) {
    counts_[label].both += weight;
    correct_ += weight;
  }
  if (classes_ >= kFewestForTop5 && is_among_5(logits, label)) among_5_ += weight;
  class_probabilities(head_, logits, probabilities_);
  const double confidence = probabilities_[predicted];
  // Interval m holds confidences in (m / 15, (m + 1) / 15].
  const double interval = std::ceil(confidence * kCalibrationBins) - 1;
  if (std::isnan(interval)) return;
  Bin& bin = bins_[static_cast<std::size_t>(
      std::clamp(interval, 0.0, static_cast<double>(kCalibrationBins - 1)))];
  bin.weight += weight;
  bin.confidence += weight * confidence;
  if (correct) bin.correct += weight;
}

/// A label is present if its target is above 1/2, and predicted if its logit is above 0.
void ClassifierScores::add_labels(std::span<const float> logits, const float* target,
                                  double weight) {
  for (std::size_t k = 0; k < classes_; ++k) {
    const bool present = target[k] > 0.5f, predicted = logits[k] > 0;
    if (present) counts_[k].present += weight;
    if (predicted) counts_[k].predicted += weight;
    if (present && predicted) counts_[k].both += weight;
  }
}

void ClassifierScores::keep(std::span<const float> logits, const PredictedRows& rows,
                            std::int64_t row, std::size_t label) {
  const std::size_t samples = ranked_.size();
  const std::size_t at = rows.first + static_cast<std::size_t>(row);
  if (is_multi_label()) {
    const float* const target = rows.truth.target + row * rows.truth.layout.targets;
    for (std::size_t k = 0; k < classes_; ++k) {
      odds_.data()[k * samples + at] = logits[k];
      present_.data()[k * samples + at] = target[k] > 0.5f;
    }
  } else {
    std::optional<LogOdds> odds;
    if (!head_.is_binary()) odds.emplace(logits);
    for (std::size_t k = 0; k < classes_; ++k)
      odds_.data()[k * samples + at] = odds ? odds->of(k) : logits[k];
    labels_.data()[at] = static_cast<std::int32_t>(label);
  }
  row_weights_.data()[at] = rows.truth.weight[row];
  ++kept_;
}

std::vector<CalibrationBin> ClassifierScores::calibration() const {
  std::vector<CalibrationBin> list;
  for (const Bin& bin : bins_)
    if (bin.weight > 0)
      list.push_back(
          {bin.weight / weights_, bin.confidence / bin.weight, bin.correct / bin.weight});
  return list;
}

void ClassifierScores::write(HeadReport& report) {
  ClassifierReport classifier;
  for (std::size_t k = 0; k < classes_; ++k) {
    const Counts& n = counts_[k];
    classifier.classes.push_back({head_.classes[k], n.present, ratio(n.both, n.predicted),
                                  ratio(n.both, n.present),
                                  ratio(2 * n.both, n.present + n.predicted)});
  }
  const auto share = [&](const char* what, double sum) {
    // The number of equally weighted samples with the same variance: Kish, Survey Sampling, 1965.
    const double samples = weights_ * weights_ / squared_weights_;
    return Score{what, sum / weights_, "", share_error(sum / weights_, samples)};
  };
  if (!is_multi_label()) {
    if (weighted_)
      for (Score& score : report.scores)
        if (score.what == "accuracy") score = share("accuracy", correct_);
    if (classes_ >= kFewestForTop5) report.scores.push_back(share(kTop5Accuracy, among_5_));
    classifier.confusion = confusion_;
    classifier.calibration = calibration();
  }
  rank(report, classifier);
  if (!is_multi_label()) {
    double error = 0;
    for (const CalibrationBin& bin : classifier.calibration)
      error += bin.share * std::abs(bin.accuracy - bin.confidence);
    Score score{kCalibrationError, error};
    score.detail = true;
    report.scores.push_back(score);
  }
  report.classifier = std::move(classifier);
}

/// Adds the scores that depend on the samples' order: areas and, for two classes, the ROC curve.
void ClassifierScores::rank(HeadReport& report, ClassifierReport& classifier) {
  if (!odds_) return;
  const std::size_t samples = ranked_.size();
  double sum = 0;
  int areas = 0;
  for (std::size_t k = 0; k < classes_; ++k) {
    for (std::size_t i = 0; i < kept_; ++i)
      ranked_.data()[i] = {odds_.data()[k * samples + i], row_weights_.data()[i],
                           is_multi_label() ? present_.data()[k * samples + i] != 0
                                            : labels_.data()[i] == static_cast<std::int32_t>(k)};
    std::optional<RocCurve> curve = roc_curve({ranked_.data(), kept_});
    if (!curve) continue;
    classifier.classes[k].area = curve->area;
    sum += curve->area;
    ++areas;
    if (!has_signal(head_) || k != signal_) continue;
    Score area{kArea, curve->area};
    area.signal = head_.classes[signal_];
    report.scores.push_back(area);
    for (std::size_t i = 0; i < kSignalEfficiencies.size(); ++i) {
      if (!(curve->background[i] > 0)) continue;  // no limit
      Score score{fmt::format("{} at {:.0f} %", kRejection, 100 * kSignalEfficiencies[i]),
                  1 / curve->background[i]};
      score.detail = true;
      score.signal = head_.classes[signal_];
      report.scores.push_back(score);
    }
    classifier.roc_curve = std::move(curve->points);
  }
  if (has_signal(head_) || areas == 0) return;
  Score score{kMeanArea, sum / areas};
  score.detail = true;
  report.scores.push_back(score);
}

}  // namespace wellspring
