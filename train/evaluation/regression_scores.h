// Scores of a regression head on the held-out samples of one source. Called by the evaluation; host
// only. docs/results.md has the formulas.
#pragma once

#include "kernels/batch/communicator.h"
#include "train/evaluation/network_pass.h"
#include "train/heads/heads.h"
#include "train/metrics/observer.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wellspring {

/// A prediction in the target's own unit. `output`: the network's output.
inline float predicted_target(const HeadTarget& target, float output) {
  return output / target.scale() + target.shift();
}
/// The predicted standard deviation, in the target's unit. `output`: the log variance of the scaled
/// target, see ops::RegressionError::gaussian.
inline float predicted_deviation(const HeadTarget& target, float output) {
  return std::exp(0.5f * std::max(output, ops::RegressionLaw::kLeastLogVariance)) / target.scale();
}
/// True value of target `k` of a regression head in a row. `feed`: the head's sources.
float true_target(const HeadSources& feed, const HeadSpec& head, const PredictedRows& rows,
                  std::int64_t row, std::size_t k);

class RegressionScores {
 public:
  explicit RegressionScores(const HeadSpec& head) : head_(head) {}
  /// Starts over, for the samples of another source.
  void clear();
  void add(const PredictedRows& rows, const HeadSources& feed);
  /// Adds the samples of all other ranks. All ranks must call it.
  void add_ranks(Communicator& ranks);
  /// Adds each target's bias, resolution and R^2 to `report`, which already has the other figures.
  /// If sample weights differ, replaces those figures by weighted means.
  void write(HeadReport& report) const;

 private:
  struct Sums {
    double error = 0, squared = 0, absolute = 0;  ///< errors of the prediction
    double target = 0, squared_target = 0;        ///< target minus the middle of its range
  };
  HeadSpec head_;
  std::vector<Sums> sums_;  ///< by target, weighted
  double weights_ = 0;
  bool weighted_ = false;  ///< weights differ from 1
};

}  // namespace wellspring
