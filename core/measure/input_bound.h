// Verdict on the cost of data for training, in the words of TensorFlow's profiler. Called by training runs
// and by `diagnose`; host only.
#pragma once

#include "core/measure/spread.h"

#include <cstdint>
#include <optional>
#include <string>

namespace wellspring {

/// The limits of TensorFlow's profiler: below 5 %, from 5 to 20 %, above.
enum class InputBound : std::uint8_t { not_bound, moderately, highly, inconclusive };
inline constexpr double kModerately = 0.05, kHighly = 0.20;

/// `lost`: interval of the share of the rate, or of the time, that data cost. Inconclusive if there is
/// none, if it contains a limit, or if all of it is below -5 %.
InputBound judge_input(const std::optional<Interval>& lost);

/// "NOT input-bound", "INCONCLUSIVE: between not and moderately input-bound". `what`: the values of
/// the interval, "turns".
std::string input_text(InputBound bound, const std::optional<Interval>& lost, const char* what);

}  // namespace wellspring
