// A rate beside the one that bounds it: what share is reached, how sure that is, and whether the
// two fit together. For benchmarks; host only.
#pragma once

#include "core/measure/processor_load.h"
#include "core/measure/spread.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Two windows of time, one right after the other: the work, and what bounds it.
struct RatePair {
  double rate = 0, ceiling = 0;  ///< of one unit, above 0
};

enum class Verdict : std::uint8_t {
  too_few,  ///< no interval can be given
  stands,
  scattered,    ///< the ends of the interval differ by more than kWidest
  contradicts,  ///< the rate lies above its ceiling, by more than the intervals allow
};
const char* to_string(Verdict verdict);

struct CeilingShare {
  double median = 0;  ///< of rate / ceiling of each pair: 1 is all of it
  std::optional<Interval> interval;
  std::size_t pairs = 0;
  Verdict verdict = Verdict::too_few;
};

/// By how much two windows of equal work may differ in a systematic way, caches being warmer in one
/// of them: that much above its ceiling contradicts nothing.
inline constexpr double kUnequalWindows = 0.02;

/// A share that is not known to a factor of two is none.
inline constexpr double kWidest = 2;

/// The halves of a pair have met the same load, so that the median of their ratios is more certain
/// than the ratio of the medians.
CeilingShare share_of_ceiling(const std::vector<RatePair>& pairs);

/// "97.4 % (95 %: 96.1 to 98.8 %)"; "97.4 % in 3 pairs, too few for an interval"; "inconclusive:
/// the machine was busy (other programs took 0.93 of its 2 processors, this one 1.05)". No share is
/// given that lies above 1 beyond what the interval and kUnequalWindows allow.
std::string to_string(const CeilingShare& share, const ProcessorLoad& load);

}  // namespace wellspring
