// Area under the receiver operating characteristic of a two-class score. Called by the evaluation;
// host only.
#pragma once

#include "kernels/ops/training.h"

#include <optional>
#include <span>

namespace wellspring {

/// The area under the receiver operating characteristic: the probability that a sample of label 1
/// scores higher than one of label 0, with ties counted as one half (rank sum of Mann and Whitney
/// 1947, mean ranks for ties). Sorts `samples`; ignores other labels. nullopt if either class is
/// missing or a score is NaN.
std::optional<double> area_under_curve(std::span<ops::ScoredSample> samples);

}  // namespace wellspring
