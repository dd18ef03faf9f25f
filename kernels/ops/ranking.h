// How well a score ranks two classes: counts of scores by class, and the area under the receiver
// operating curve from them. Used by evaluation; counting on host and device.
//
// The curve needs all scores in order. Counts in 2^16 bins that follow the bits of a float keep
// that order but for scores that agree in sign, exponent and seven bits of the mantissa, which
// count as equal: a distance of under 1 % of the score.
#pragma once

#include "kernels/macros.h"
#include "kernels/stream.h"
#include "kernels/team.h"

#include <bit>
#include <cstdint>
#include <span>

namespace wellspring::ops {

inline constexpr std::int64_t kScoreBins = 1 << 16;
/// Counts of class 0, then of class 1.
inline constexpr std::int64_t kRankingCounts = 2 * kScoreBins;

/// A number a row: values[row * stride + plus], less values[row * stride + minus] unless minus < 0.
struct ScoreView {
  const float* values = nullptr;
  std::int64_t stride = 1;
  std::int32_t plus = 0, minus = -1;
};

/// The bin of a score: larger scores, no smaller bin. Negative zero is zero; NaN ranks last.
WS_INLINE std::int64_t score_bin(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return score == score ? static_cast<std::int64_t>(ordered >> 16) : 0;
}

/// One team for the whole batch, so that integers can be counted at once without being torn.
struct CountScores {
  std::int64_t rows;
  ScoreView score;
  const std::int32_t* labels;
  std::uint32_t* counts;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t) const {
    for (std::int64_t row = team.rank(); row < rows; row += team.size()) {
      const float* const values = score.values + row * score.stride;
      const float subtracted = score.minus < 0 ? 0.0f : values[score.minus];
      const std::int64_t bin = score_bin(values[score.plus] - subtracted);
      team.atomic_add(counts + (labels[row] == 0 ? 0 : kScoreBins) + bin, std::uint32_t{1});
    }
  }
};

/// Adds the first `rows` rows to counts [kRankingCounts]: class 0 and all others, by `labels`
/// [rows]. Fewer than 2^32 rows in all.
void count_scores(Stream& stream, std::int64_t rows, const ScoreView& score,
                  const std::int32_t* labels, std::uint32_t* counts);

/// The chance that a row of class 0 scores above one of class 1, equal scores counting half: the
/// area under the receiver operating curve with class 0 as the signal (J. Hanley, B. McNeil,
/// Radiology 143 (1982) 29). `counts`: [kRankingCounts] on the host. 1/2 where a class is missing.
double area_under_curve(std::span<const std::uint32_t> counts);

}  // namespace wellspring::ops
