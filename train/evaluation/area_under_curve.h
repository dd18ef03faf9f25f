// Area under the ROC curve of a two-class score. Called by the evaluation; host only.
#pragma once

#include "kernels/ops/training.h"

#include <optional>
#include <span>

namespace wellspring {

/// Area under the receiver operating characteristic: the probability that a sample with label 1
/// scores higher than one with label 0, counting ties as one half (rank-sum statistic of Mann and
/// Whitney 1947, with mean ranks for ties). Sorts `samples` and ignores other labels. Returns
/// nullopt if either class is missing or a score is NaN.
std::optional<double> area_under_curve(std::span<ops::ScoredSample> samples);

}  // namespace wellspring
