#include "train/evaluation/roc_curve.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Largest step between two points of a curve, in either efficiency.
constexpr double kStep = 1.0 / 200;

}  // namespace

std::optional<RocCurve> roc_curve(std::span<RankedSample> samples) {
  double all_signal = 0, all_background = 0;
  for (const RankedSample& sample : samples) {
    if (std::isnan(sample.score)) return std::nullopt;
    (sample.signal ? all_signal : all_background) += sample.weight;
  }
  if (!(all_signal > 0) || !(all_background > 0)) return std::nullopt;
  std::ranges::sort(samples, std::ranges::greater(), &RankedSample::score);
  RocCurve curve;
  curve.points.emplace_back(0, 0);
  double signal = 0, background = 0, area = 0;  // sums of weights above the threshold
  for (auto tie = samples.begin(); tie != samples.end();) {
    const float score = tie->score;
    const double signal_before = signal, background_before = background;
    for (; tie != samples.end() && tie->score == score; ++tie)
      (tie->signal ? signal : background) += tie->weight;
    area += (background - background_before) * 0.5 * (signal_before + signal);
    for (std::size_t i = 0; i < kSignalEfficiencies.size(); ++i) {
      const double wanted = kSignalEfficiencies[i] * all_signal;
      if (!(signal_before < wanted && wanted <= signal)) continue;
      const double part = (wanted - signal_before) / (signal - signal_before);
      curve.background[i] =
          (background_before + part * (background - background_before)) / all_background;
    }
    const std::pair point = {background / all_background, signal / all_signal};
    const auto& last = curve.points.back();
    if (point.first - last.first >= kStep || point.second - last.second >= kStep)
      curve.points.push_back(point);
  }
  if (curve.points.back() != std::pair(1.0, 1.0)) curve.points.emplace_back(1, 1);
  curve.area = area / (all_signal * all_background);
  return curve;
}

}  // namespace wellspring
