// Conclusions from a ladder: how much of the step time data cost, and which stages. Called by
// `diagnose`; pure functions; host only.
#pragma once

#include "core/measure/input_bound.h"
#include "measure/ladder.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// A stage that slows the step, with its share of the ceiling's rate.
struct Cause {
  std::string stage;
  double drop = 0;  ///< fall of the rate from the rung before, relative to the ceiling; a median
  Interval interval;
  double gain = 0;     ///< rate without this drop and the drops below it, over the configured rate
  bool level = false;  ///< its interval overlaps that of the cause before it: their order is open
  /// By the data path alone, see Diagnosis::data_seconds, or by counterfactuals, see confirm().
  bool confirmed = true;
};

/// The configuration against itself with less work in some stages.
struct Counterfactual {
  std::string what;                 ///< "half of the rows decoded in memory"
  std::vector<std::string> stages;  ///< "decoding"
  double gain = 1;                  ///< rate over the configured one, median over the turns
  std::optional<Interval> interval = {};
  bool helps() const { return interval && interval->low > 1 && gain >= 1 + kModerately; }
  /// True if it changes a stage of this cause. A cause may have several: "copying, decoding".
  bool tests(const Cause& cause) const;
};

struct Diagnosis {
  InputBound bound = InputBound::inconclusive;
  double lost = 0;  ///< share of the ceiling's rate that the configuration does not reach
  std::optional<Interval> lost_interval;  ///< empty: too few turns
  double speed_up = 1;                    ///< if data were free
  std::optional<Interval> speed_up_interval;
  std::vector<Cause> causes;  ///< the largest drop first; none unless input-bound
  double lost_seconds = 0;    ///< per step
  /// Seconds per batch of the data path alone, without the network; 0: not measured. If they are
  /// well below lost_seconds, data and step compete for processors.
  double data_seconds = 0;
  /// Not input-bound, but the data path alone is hardly faster than the step: a faster step would
  /// be input-bound.
  bool tipping_point = false;
};

/// "NOT input-bound", "INCONCLUSIVE: between not and moderately input-bound".
std::string verdict_text(const Diagnosis& diagnosis);

/// Pairs the rungs turn by turn, because the rungs of a turn see the same load. Causes are drops of at
/// least 5 % of the ceiling, ranked as in the published method (drop of the rate between neighbouring
/// rungs) and kept only if their interval excludes 0.
Diagnosis diagnose(const Ladder& ladder);

/// A cause is confirmed if one of its counterfactuals helps, and refuted if each of its stages has
/// counterfactuals and none helps. Otherwise the data path alone decides.
void confirm(std::vector<Cause>& causes, const std::vector<Counterfactual>& tried);
/// The stages in the text of a cause or rung: "decoding" and "reading files" of "decoding, reading
/// files".
std::vector<std::string> stages_of(std::string text);

}  // namespace wellspring
