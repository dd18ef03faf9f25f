// The same steps timed by two clocks: marks on the stream, and the host's clock. Called by training
// runs, benchmarks and `diagnose`; host only.
#pragma once

#include <string>

namespace wellspring {

/// Rates by the two clocks that differ by more are flagged.
inline constexpr double kClocksDisagree = 0.02;

/// `ratio`: the rate by the host's clock over the rate by the marks.
bool clocks_disagree(double ratio);
/// A rate by one of the clocks, in units per second: "44.3 k", or "44.3 k !" if the clocks disagree.
std::string clock_text(double rate, double ratio);
/// "the host's clock and the marks on the stream disagree by 3.1 %"
std::string disagreement_text(double ratio);

}  // namespace wellspring
