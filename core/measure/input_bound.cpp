#include "core/measure/input_bound.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace wellspring {

namespace {

/// Data cannot make a step faster, so other programs must have slowed the steps without them.
bool gained(const Interval& lost) {
  return lost.high < -kModerately;
}

}  // namespace

InputBound judge_input(const std::optional<Interval>& lost) {
  if (!lost || gained(*lost)) return InputBound::inconclusive;
  if (lost->high < kModerately) return InputBound::not_bound;
  if (lost->low >= kHighly) return InputBound::highly;
  if (lost->low >= kModerately && lost->high < kHighly) return InputBound::moderately;
  return InputBound::inconclusive;
}

std::string input_text(InputBound bound, const std::optional<Interval>& lost, const char* what) {
  constexpr std::array kWords = {"not", "moderately", "highly"};
  if (bound != InputBound::inconclusive) {
    constexpr std::array kLoud = {"NOT", "MODERATELY", "HIGHLY"};
    return fmt::format("{} input-bound", kLoud.at(static_cast<std::size_t>(bound)));
  }
  if (!lost) return fmt::format("INCONCLUSIVE: an interval needs {} {}", kFewestForInterval, what);
  if (gained(*lost)) return "INCONCLUSIVE: steps with data were faster than steps without";
  const auto word = [&](double share) {
    return kWords.at(share < kModerately ? 0 : share < kHighly ? 1 : 2);
  };
  return fmt::format("INCONCLUSIVE: between {} and {} input-bound", word(lost->low),
                     word(lost->high));
}

}  // namespace wellspring
