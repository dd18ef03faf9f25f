// Receiver operating characteristic: how well a score separates signal from background. Called by
// the evaluation; host only.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace wellspring {

struct RankedSample {
  float score = 0;   ///< larger: more like signal
  float weight = 1;  ///< at least 0
  bool signal = false;
};

/// Signal efficiencies at which the background efficiency is reported.
inline constexpr std::array<double, 2> kSignalEfficiencies = {0.3, 0.5};

/// Efficiency: the share of the weight with a score above a threshold.
struct RocCurve {
  /// Area under the curve: the probability that a signal sample scores higher than a background
  /// sample, counting ties as one half (rank-sum statistic of Mann and Whitney 1947, with mean
  /// ranks for ties).
  double area = 0;
  /// (background efficiency, signal efficiency), from (0, 0) to (1, 1): at most about 400 points.
  std::vector<std::pair<double, double>> points;
  /// Background efficiency at kSignalEfficiencies, linear between thresholds.
  std::array<double, kSignalEfficiencies.size()> background = {};
};

/// Sorts the samples. Returns nullopt if signal or background has no weight, or a score is NaN.
std::optional<RocCurve> roc_curve(std::span<RankedSample> samples);

}  // namespace wellspring
