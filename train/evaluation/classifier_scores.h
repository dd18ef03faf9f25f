// Scores of a classification head on the held-out samples of one source. Called by the evaluation;
// host only. docs/results.md has the formulas.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/runtime/memory_plan.h"
#include "train/evaluation/network_pass.h"
#include "train/evaluation/roc_curve.h"
#include "train/evaluation/signal_class.h"
#include "train/heads/heads.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Largest number of classes with a confusion matrix.
inline constexpr std::size_t kMostConfused = 100;
/// Limit on host memory per head for the scores of individual samples. Above it, ROC curves and the
/// areas under them are left out.
inline constexpr std::uint64_t kMostRankingBytes = std::uint64_t{512} << 20;
/// Intervals of the calibration error, as in Guo et al. 2017.
inline constexpr std::size_t kCalibrationBins = 15;
/// Names of scores (Score::what).
inline constexpr const char* kTop5Accuracy = "top-5 accuracy";
inline constexpr const char* kCalibrationError = "calibration error";
inline constexpr const char* kArea = "area under the curve";
inline constexpr const char* kMeanArea = "mean area under the curve";
inline constexpr const char* kRejection = "background rejection";
/// Smallest number of classes for which the top-5 accuracy is reported.
inline constexpr std::size_t kFewestForTop5 = 6;

/// Writes the probabilities of a head's classes, in f64: exp(logits) / sum, or sigmoid(logits) if
/// the head is binary.
void class_probabilities(const HeadSpec& head, std::span<const float> logits,
                         std::span<double> probabilities);
/// 1 / (1 + exp(-logit)).
double sigmoid(float logit);
/// Index of the largest value; ties go to the first.
std::size_t index_of_largest(std::span<const float> values);

class ClassifierScores {
 public:
  /// Plans the memory for the scores of up to `samples` samples. `signal`: see signal_classes. Only
  /// tests give a smaller `most_bytes`.
  ClassifierScores(const HeadSpec& head, std::uint64_t samples, MemoryPlan& memory,
                   std::size_t signal = kUsualSignal, std::uint64_t most_bytes = kMostRankingBytes);

  /// Starts over, for the samples of another source.
  void clear();
  /// Adds all rows; their labels must be below the number of classes.
  void add(const PredictedRows& rows);
  /// Adds the samples of all other ranks; `own`: this rank's samples. All ranks must call it.
  void add_ranks(Communicator& ranks, HeldOutRange own);
  /// Adds the scores to `report`, which already has the head's accuracy. If sample weights differ,
  /// replaces that accuracy by a weighted mean.
  void write(HeadReport& report);
  /// A note if the scores of individual samples need more than the limit; otherwise "".
  const std::string& note() const { return note_; }

 private:
  bool is_multi_label() const { return head_.loss == LossKind::multi_label; }
  void add_choice(std::span<const float> logits, std::size_t label, double weight);
  void add_labels(std::span<const float> logits, const float* target, double weight);
  void keep(std::span<const float> logits, const PredictedRows& rows, std::int64_t row,
            std::size_t label);
  void rank(HeadReport& report, ClassifierReport& classifier);
  std::vector<CalibrationBin> calibration() const;

  HeadSpec head_;
  std::size_t classes_, signal_;
  std::string note_;

  struct Bin {
    double weight = 0, confidence = 0, correct = 0;
  };
  struct Counts {
    double present = 0, predicted = 0, both = 0;
  };
  std::vector<Counts> counts_;     ///< by class
  std::vector<double> confusion_;  ///< [class, predicted class], or empty
  std::vector<Bin> bins_;
  std::vector<double> probabilities_;  ///< space for one sample
  double weights_ = 0, squared_weights_ = 0, correct_ = 0, among_5_ = 0;
  bool weighted_ = false;  ///< weights differ from 1

  // Scores of individual samples, indexed by sample number; empty above the limit.
  std::size_t kept_ = 0;           ///< number of samples
  Planned<float> odds_;            ///< [classes, samples] logarithm of p / (1 - p)
  Planned<float> row_weights_;     ///< [samples]
  Planned<std::int32_t> labels_;   ///< [samples]; multi_label: none
  Planned<std::uint8_t> present_;  ///< (multi_label) [classes, samples]
  Planned<RankedSample> ranked_;   ///< [samples], of one class
};

}  // namespace wellspring
