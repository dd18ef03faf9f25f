#include "kernels/ops/ranking.h"

#include "kernels/launch.h"

namespace wellspring::ops {

void count_scores(Stream& stream, std::int64_t rows, const ScoreView& score,
                  const std::int32_t* labels, std::uint32_t* counts) {
  league(stream, "count_scores", 1, TeamShape{256, 0}, CountScores{rows, score, labels, counts});
}

double area_under_curve(std::span<const std::uint32_t> counts) {
  WS_EXPECT(static_cast<std::int64_t>(counts.size()) == kRankingCounts);
  double above = 0, signal = 0, background = 0;
  for (std::size_t bin = 0; bin < kScoreBins; ++bin) {
    const double here = counts[bin], others = counts[bin + kScoreBins];
    above += here * (background + 0.5 * others);
    signal += here;
    background += others;
  }
  return signal > 0 && background > 0 ? above / (signal * background) : 0.5;
}

}  // namespace wellspring::ops
