// How well one number tells two classes apart, whatever the threshold. Host only.
#pragma once

#include "kernels/ops/training.h"

#include <optional>
#include <span>

namespace wellspring {

/// The area under the receiver operating characteristic: the probability that a sample of label 1
/// scores higher than one of label 0, equal scores counting a half (the rank sum of Mann and
/// Whitney 1947, with mean ranks of ties). Sorts `samples`; those of other labels do not count.
/// None where either class is missing, or where a score is not a number.
std::optional<double> area_under_curve(std::span<ops::ScoredSample> samples);

}  // namespace wellspring
