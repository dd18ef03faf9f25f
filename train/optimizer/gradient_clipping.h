// Clipping of gradients: by their global norm, and relative to the weights of each unit. Called by
// train/step; the functors run on host and device.
#pragma once

#include "kernels/ops/metrics.h"
#include "kernels/ops/part_totals.h"
#include "kernels/ops/team_loop.h"
#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Global L2 norm of all gradients, summed in a fixed order. Sets state->gradient_norm and
/// gradient_scale = min(1, clip / norm) (no clipping if `clip` is 0). If the norm is not finite,
/// the scale is 0, the update is skipped and the sticky flag is set. The same launch sets the
/// learning rate and the bias corrections, then collects the step's metrics, so later work, such as
/// the optimizer, finds state->step incremented. An `end` without a state is ignored. `partials`:
/// gradient_norm_partials() floats. `totals`: totals that still wait, all of them gradients; the
/// first launch also adds them, if they have at most kMostTotalTeams teams.
void gradient_norm(Stream& stream, const ParameterView& parameters, const ScheduleSpec& schedule,
                   float clip, float* partials, StepState* state, const CollectMetrics& end = {},
                   PartTotals* totals = nullptr);
std::size_t gradient_norm_partials();

/// Adaptive gradient clipping in place: scales the gradient of each unit of parameters.clip_units
/// down to `factor` times the norm of its weights, see AdaptiveClip. Called before gradient_norm,
/// which finds gradients that are not finite.
void clip_adaptively(Stream& stream, const ParameterView& parameters, float factor);

/// Number of partial sums of the gradient norm: enough teams to fill a large GPU, but few enough
/// for one team to add in one pass. The number affects the rounding of the norm.
inline constexpr std::int64_t kNormParts = 256;
/// Maximum number of teams that add totals in the launch of the squares: each adds a partial sum,
/// and the one team that adds these reads four per lane.
inline constexpr std::int64_t kMostTotalTeams = 768;

/// Number of packs for n values; the last pack may be incomplete.
WS_INLINE constexpr std::int64_t packs(std::int64_t n) {
  return (n + kPack - 1) / kPack;
}

/// First of two passes: sums the squares in one of kNormParts equal pack ranges, matrices first.
template <class T>
struct GradientSquares {
  const T* matrix_gradient;
  const float* vector_gradient;
  std::int64_t matrices, vectors;
  float* partials;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t part) const {
    sum(team, part, [](std::int64_t, std::int64_t) { return [](std::int64_t) { return false; }; });
  }

  /// Leaves out pack p if without(begin, end)(p), where the team's packs are [begin, end).
  template <class Team, class Without>
  WS_HD void sum(Team& team, std::int64_t part, Without without) const {
    const std::int64_t of_matrices = packs(matrices), all = of_matrices + packs(vectors);
    const std::int64_t begin = all * part / kNormParts, end = all * (part + 1) / kNormParts;
    Pack* lanes = team.template scratch<Pack>(reduce_lanes(end - begin));
    const GradientSquares self = *this;
    const auto left_out = without(begin, end);
    const Pack sums = team_sum<Team, Pack>(team, lanes, end - begin, [=](std::int64_t i) {
      const std::int64_t p = begin + i;
      if (left_out(p)) return Pack{};
      return p < of_matrices ? squares(self.matrix_gradient, p, self.matrices)
                             : squares(self.vector_gradient, p - of_matrices, self.vectors);
    });
    if (team.rank() != 0) return;
    float sum = 0;
    for (int k = 0; k < kPack; ++k) sum += sums.v[k];
    partials[part] = sum;
  }

 private:
  template <class Element>
  WS_INLINE static Pack squares(const Element* values, std::int64_t pack, std::int64_t n) {
    const std::int64_t begin = pack * kPack;
    Pack square = begin + kPack <= n ? load_pack(values + begin)
                                     : load_part_of_pack(values + begin, n - begin);
    for (int k = 0; k < kPack; ++k) square.v[k] *= square.v[k];
    return square;
  }
};

/// Packs [begin, end) of the gradients, matrices first.
struct PackRange {
  std::int64_t begin = 0, end = 0;
};

/// First pass if totals of partial gradients still wait: the first teams add these totals and the
/// squares of their sums, the others the squares of all other gradients. So no team reads what
/// another one writes. `partials`: of the squares first, then of the totals.
template <class T>
struct TotalsAndSquares {
  AddParts<PartTotals::kMost> totals = {};
  /// Packs of the totals' sums, ascending, no two adjacent.
  PackRange summed[PartTotals::kMost] = {};
  std::int32_t ranges = 0;
  std::int32_t total_teams = 0;
  GradientSquares<T> squares;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    if (index < total_teams) {
      const float sum = totals.add(team, index);
      if (team.rank() == 0) squares.partials[kNormParts + index] = sum;
      return;
    }
    squares.sum(team, index - total_teams, [this](std::int64_t begin, std::int64_t end) {
      int first = 0;  // the first range that ends after `begin`
      while (first < ranges && summed[first].end <= begin) ++first;
      int last = first;
      while (last < ranges && summed[last].begin < end) ++last;
      return [this, first, last](std::int64_t pack) {
        for (int r = first; r < last; ++r)
          if (summed[r].begin <= pack && pack < summed[r].end) return true;
        return false;
      };
    });
  }
};

/// Second pass: computes the norm, the clipping factor and the factors of set_step_factors. Then it
/// ends the step.
struct GradientScale {
  static constexpr LaunchBound kLaunchBound = kMetricBound;
  const float* partials;
  std::int64_t parts;  ///< number of partial sums
  ScheduleSpec schedule;
  float clip;
  StepState* state;
  CollectMetrics end = {};  ///< without a state if the step continues

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    scale(team);
    if (end.state == nullptr) return;
    team.sync();
    end(team, index);
  }

 private:
  template <class Team>
  WS_HD void scale(Team& team) const {
    float* lanes = team.template scratch<float>(reduce_lanes(parts));
    const std::uint64_t step = state->step;  // loaded before the barriers
    const std::uint32_t nonfinite = state->nonfinite;
    set_step_factors(team, schedule, step, state);
    const float* const from = partials;
    const float sum =
        team_sum<Team, float>(team, lanes, parts, [=](std::int64_t i) { return from[i]; });
    if (team.rank() != 0) return;
    const float norm = math::sqrt(sum);
    state->gradient_norm = norm;
    if (!is_finite(norm)) {
      state->gradient_scale = 0;
      if (nonfinite == 0) state->nonfinite = static_cast<std::uint32_t>(step) + 1;
    } else {
      state->gradient_scale = clip > 0 && norm > clip ? clip / norm : 1.0f;
    }
  }
};

/// Let W and G be the weights and the gradient of a unit. If |G| > c max(|W|, e), then G = G c
/// max(|W|, e) / |G|. A unit is a row of a matrix (the weights of one output) or a whole vector.
/// Source: A. Brock et al., "High-Performance Large-Scale Image Recognition Without Normalization",
/// ICML 2021, equation 3, with e = 10^-3. If |G| is not finite, G is unchanged.
template <class T>
struct AdaptiveClip {
  static constexpr float kLeastNorm = 1e-3f;
  const ClipUnits* units;
  std::int64_t unit_count;  ///< entries of the table
  std::int64_t matrices;
  const float* master;
  T* matrix_gradient;
  float* vector_gradient;
  float factor;

  struct Squares {
    float weight = 0, gradient = 0;
    WS_INLINE Squares operator+(const Squares& o) const {
      return {weight + o.weight, gradient + o.gradient};
    }
  };

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t unit) const {
    std::int64_t row = 0, end = unit_count;  // units[row] holds the unit
    while (end - row > 1) {
      const std::int64_t middle = (row + end) / 2;
      (units[middle].first <= unit ? row : end) = middle;
    }
    const ClipUnits of = units[row];
    const std::int64_t begin = of.begin + (unit - of.first) * of.length;
    if (begin < matrices) {
      clip(team, of.length, master + begin, matrix_gradient + begin);
    } else {
      clip(team, of.length, master + begin, vector_gradient + (begin - matrices));
    }
  }

 private:
  template <class Team, class Gradient>
  WS_HD void clip(Team& team, std::int64_t n, const float* weights, Gradient* gradients) const {
    Squares* lanes = team.template scratch<Squares>(reduce_lanes(n));
    const Squares sum = team_sum<Team, Squares>(team, lanes, n, [=](std::int64_t i) {
      const float w = weights[i], g = static_cast<float>(gradients[i]);
      return Squares{w * w, g * g};
    });
    const float weight = math::sqrt(sum.weight), norm = math::sqrt(sum.gradient);
    const float most = factor * (weight > kLeastNorm ? weight : kLeastNorm);
    if (!(norm > most) || !is_finite(norm)) return;
    const float scale = most / norm;
    team_for(team, 0, n, [=](std::int64_t i) {
      gradients[i] = Gradient(static_cast<float>(gradients[i]) * scale);
    });
  }
};

}  // namespace wellspring::ops
