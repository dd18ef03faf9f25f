// Compares a rate with its upper bound: the share reached, its interval, and whether rate and bound
// are consistent. Called by benchmarks; host only.
#pragma once

#include "core/measure/processor_load.h"
#include "core/measure/spread.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Rates in two adjacent time windows: the work, and its bound.
struct RatePair {
  double rate = 0, ceiling = 0;  ///< in the same unit, above 0
};

enum class Verdict : std::uint8_t {
  too_few,  ///< not enough pairs for an interval
  conclusive,
  scattered,    ///< the ends of the interval differ by more than a factor of kWidest
  contradicts,  ///< the rate exceeds its ceiling by more than the intervals allow
};
const char* to_string(Verdict verdict);

struct CeilingShare {
  double median = 0;  ///< median of rate / ceiling over the pairs
  std::optional<Interval> interval;
  std::size_t pairs = 0;
  Verdict verdict = Verdict::too_few;
};

/// Possible systematic difference between windows of equal work, for example because of warmer
/// caches. A rate this far above its ceiling is not a contradiction.
inline constexpr double kUnequalWindows = 0.02;

/// If the interval spans more than this factor, no share is reported.
inline constexpr double kWidest = 2;

/// The windows of a pair see the same load, so the median of their ratios is more precise than the
/// ratio of the medians.
CeilingShare share_of_ceiling(const std::vector<RatePair>& pairs);

/// "97.4 % (95 %: 96.1 to 98.8 %)"; "97.4 % in 3 pairs of windows; an interval needs 6";
/// "inconclusive: the machine was busy (other programs used 0.93 of 2 processors, this one 1.05)".
/// Gives a share above 1 only if both the interval and kUnequalWindows allow the excess.
std::string to_string(const CeilingShare& share, const ProcessorLoad& load);

}  // namespace wellspring
