// Regression of item features in sets: the network predicts features that are hidden from it, and
// the loss compares its outputs with the true values. Called by kernels/ops/item_targets.cpp; host
// and device.
#pragma once

#include "kernels/ops/loss.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"

#include <cstdint>

namespace wellspring::ops {

template <class T>
struct HideFeatures {
  const T* x;
  T* visible;
  std::int64_t features;
  std::uint64_t hidden;

  WS_HD void operator()(std::int64_t i) const {
    const std::int64_t feature = i % features;
    const bool is_hidden = feature < kMostHidable && ((hidden >> feature) & 1u) != 0;
    visible[i] = is_hidden ? T(0.0f) : x[i];
  }
};

/// One team per row.
template <class T>
struct ItemRegressionLoss {
  HeadRows<T> rows;
  ItemTargets truth;

  struct Sums {
    float squared, absolute;
    WS_INLINE Sums operator+(const Sums& o) const {
      return {squared + o.squared, absolute + o.absolute};
    }
  };
  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t targets = truth.targets;
    if (!rows.holds(row)) return rows.leave_out(team, row, item_scores(targets), 0);

    const std::int64_t given = truth.count[row];
    const std::int64_t items = given < truth.items ? given : truth.items;
    const float* own = rows.own(row);
    const T* x = static_cast<const T*>(truth.x) + row * truth.items * truth.features;
    const std::int64_t features = truth.features;
    const std::int32_t* column =
        truth.column + static_cast<std::int64_t>(rows.slots[row].source) * targets;
    const auto error = [=](std::int64_t item, std::int64_t k) {
      return own[item * targets + k] - static_cast<float>(x[item * features + column[k]]);
    };
    const float weight = rows.weight(row);
    const float values = static_cast<float>((items > 0 ? items : 1) * targets);
    const float factor = 2.0f * rows.factor(weight) / values;
    T* gradient = rows.own_gradient(row);
    team_for(team, 0, truth.items * targets, [=](std::int64_t i) {
      const std::int64_t item = i / targets;
      gradient[i] = T(item < items ? factor * error(item, i % targets) : 0.0f);
    });
    Sums* lanes = team.template scratch<Sums>(reduce_lanes(truth.items));
    float sum = 0;
    for (std::int32_t k = 0; k < targets; ++k) {
      const Sums sums = team_sum<Team, Sums>(team, lanes, items, [=](std::int64_t item) {
        const float e = error(item, k);
        return Sums{e * e, e < 0 ? -e : e};
      });
      sum += sums.squared;
      if (team.rank() == 0) {
        rows.score(row, 2 * k, sums.squared);
        rows.score(row, 2 * k + 1, sums.absolute);
      }
    }
    if (team.rank() != 0) return;
    rows.score(row, 2 * targets, static_cast<float>(items));
    rows.loss[row] = weight * (sum / values);
  }
};

}  // namespace wellspring::ops
