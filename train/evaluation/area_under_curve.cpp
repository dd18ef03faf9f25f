#include "train/evaluation/area_under_curve.h"

#include <algorithm>
#include <cmath>

namespace wellspring {

std::optional<double> area_under_curve(std::span<ops::ScoredSample> samples) {
  const auto counts = [](const ops::ScoredSample& s) { return s.label == 0 || s.label == 1; };
  const auto end = std::partition(samples.begin(), samples.end(), counts);
  if (std::any_of(samples.begin(), end, [](const auto& s) { return std::isnan(s.score); }))
    return std::nullopt;
  std::sort(samples.begin(), end, [](const auto& a, const auto& b) { return a.score < b.score; });
  double below = 0;  // label-0 samples with smaller scores
  double won = 0, positives = 0;
  for (auto tie = samples.begin(); tie != end;) {
    double ones = 0, zeros = 0;
    const float score = tie->score;
    for (; tie != end && tie->score == score; ++tie) (tie->label == 1 ? ones : zeros) += 1;
    won += ones * (below + 0.5 * zeros);
    below += zeros;
    positives += ones;
  }
  if (positives == 0 || below == 0) return std::nullopt;
  return won / (positives * below);
}

}  // namespace wellspring
