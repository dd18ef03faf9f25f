#include "train/evaluation/regression_scores.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace wellspring {

float true_target(const HeadSources& feed, const HeadSpec& head, const PredictedRows& rows,
                  std::int64_t row, std::size_t k) {
  const std::size_t targets = head.targets.size();
  const std::int32_t column = feed.column[static_cast<std::size_t>(rows.source) * targets + k];
  return column >= 0 ? rows.truth.latents[row * rows.truth.layout.latents + column]
                     : rows.truth.target[row * rows.truth.layout.targets - 1 - column];
}

void RegressionScores::clear() {
  sums_.assign(head_.targets.size(), {});
  weights_ = 0;
  weighted_ = false;
}

void RegressionScores::add(const PredictedRows& rows, const HeadSources& feed) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const double weight = rows.truth.weight[row];
    weights_ += weight;
    weighted_ = weighted_ || weight != 1;
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      const float output =
          rows.outputs[row * rows.width + head_.begin + static_cast<std::int64_t>(k)];
      const double truth = true_target(feed, head_, rows, row, k);
      const double error = predicted_target(head_.targets[k], output) - truth;
      const double target = truth - head_.targets[k].shift();
      Sums& sums = sums_[k];
      sums.error += weight * error;
      sums.squared += weight * error * error;
      sums.absolute += weight * std::abs(error);
      sums.target += weight * target;
      sums.squared_target += weight * target * target;
    }
  }
}

void RegressionScores::add_ranks(Communicator& ranks) {
  sum_over_ranks(ranks, [&](auto f) {
    f(weights_);
    f(weighted_);
    for (Sums& sums : sums_) {
      f(sums.error);
      f(sums.squared);
      f(sums.absolute);
      f(sums.target);
      f(sums.squared_target);
    }
  });
}

void RegressionScores::write(HeadReport& report) const {
  if (!(weights_ > 0)) return;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    const HeadTarget& target = head_.targets[k];
    const Sums& sums = sums_[k];
    const double bias = sums.error / weights_, squared = sums.squared / weights_;
    const auto replace = [&](const std::string& what, double value) {
      const auto score = std::ranges::find(report.scores, what, &Score::what);
      if (weighted_ && score != report.scores.end()) score->value = value;
    };
    replace("rmse of " + target.name, std::sqrt(squared));
    replace("mae of " + target.name, sums.absolute / weights_);
    const auto add = [&](const std::string& what, double value, const std::string& unit) {
      Score score{what + " of " + target.name, value, unit};
      score.detail = true;
      report.scores.push_back(score);
    };
    add("bias", bias, target.unit);
    add("resolution", std::sqrt(std::max(0.0, squared - bias * bias)), target.unit);
    const double spread = sums.squared_target - sums.target * sums.target / weights_;
    if (spread > 0) add("R^2", 1 - sums.squared / spread, "");
  }
}

}  // namespace wellspring
