// Masked-image modelling: hides the masked patches from the network and compares the outputs with
// their pixels. Called by kernels/ops/masked_patches.cpp; host and device.
#pragma once

#include "kernels/ops/loss.h"
#include "kernels/ops/team_loop.h"
#include "kernels/ops/training.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

/// Copies pixel i of a batch of images, or writes 0 if its patch is masked.
template <class T>
struct HidePatches {
  const T* x;
  T* visible;
  PatchPixels patches;
  const std::uint8_t* mask;  ///< [batch, patches]

  WS_HD void operator()(std::int64_t i) const {
    const SampleShape shape = patches.shape;
    const std::int64_t image = i / (shape.height * shape.width);
    const auto pixel = static_cast<std::int32_t>(i - image * shape.height * shape.width);
    const std::int32_t y = pixel / shape.width, column = pixel - y * shape.width;
    const std::int32_t patch = y / patches.side * patches.across() + column / patches.side;
    const bool hidden = mask[image * patches.count() + patch] != 0;
    for (std::int64_t k = i * shape.channels; k < (i + 1) * shape.channels; ++k)
      visible[k] = hidden ? T(0.0f) : x[k];
  }
};

/// Mean squared error over the values of each masked patch, then over the masked patches. The
/// targets of a patch are its values minus their mean, divided by sqrt(variance + 1e-6), where the
/// variance has n - 1 degrees of freedom. Source: He et al. 2022, section 3, "Reconstruction
/// target", and the authors' models_mae.py, forward_loss. The values of a patch are in the order
/// (row, column, channel). Without masked patches, loss and gradient are 0. One team per row.
template <class T>
struct MaskedPatchLoss {
  static constexpr LaunchBound kLaunchBound = kSampleTeam;
  static constexpr float kLeastVariance = 1e-6f;
  HeadRows<T> rows;
  PatchPixels patches;
  const T* x;
  const std::uint8_t* mask;

  /// Scaling of a patch's values; a factor of 0 marks a visible patch.
  struct Scaling {
    float mean, factor;
  };
  static constexpr std::size_t scratch_bytes(std::int32_t patches, std::int32_t outputs) {
    return static_cast<std::size_t>(patches) * sizeof(Scaling) +
           static_cast<std::size_t>(reduce_lanes(outputs)) * sizeof(float);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    const std::int32_t count = patches.count(), values = patches.values();
    if (!rows.holds(row)) return rows.leave_out(team, row, 0, 0);

    const T* const image = x + row * patches.shape.elements();
    const std::uint8_t* const masked = mask + row * count;
    auto* const scaling = team.template scratch<Scaling>(static_cast<std::size_t>(count));
    auto* const lanes =
        team.template scratch<float>(static_cast<std::size_t>(reduce_lanes(rows.head.outputs)));
    const PatchPixels at = patches;
    team_for(team, 0, count, [=](std::int64_t i) {
      const auto patch = static_cast<std::int32_t>(i);
      scaling[i] = masked[i] != 0 ? scaling_of(image, at, patch) : Scaling{0, 0};
    });
    team.sync();
    const float hidden = team_sum<Team, float>(
        team, lanes, count, [=](std::int64_t i) { return masked[i] != 0 ? 1.0f : 0.0f; });
    const float* const own = rows.own(row);
    const auto error = [=](std::int64_t i) {
      const auto patch = static_cast<std::int32_t>(i / values);
      const Scaling by = scaling[patch];
      if (by.factor == 0) return 0.0f;
      const std::int64_t place = at.place(patch, static_cast<std::int32_t>(i - patch * values));
      return own[i] - (static_cast<float>(image[place]) - by.mean) * by.factor;
    };
    const float weight = rows.weight(row);
    const float terms = (hidden > 0 ? hidden : 1.0f) * static_cast<float>(values);
    const float factor = 2.0f * rows.factor(weight) / terms;
    T* const gradient = rows.own_gradient(row);
    team_for(team, 0, rows.head.outputs,
             [=](std::int64_t i) { gradient[i] = T(factor * error(i)); });
    const float sum = team_sum<Team, float>(team, lanes, rows.head.outputs, [=](std::int64_t i) {
      const float e = error(i);
      return e * e;
    });
    if (team.rank() == 0) rows.loss[row] = weight * (sum / terms);
  }

 private:
  WS_INLINE static Scaling scaling_of(const T* image, const PatchPixels& at, std::int32_t patch) {
    const std::int32_t values = at.values();
    float sum = 0, squares = 0;
    for (std::int32_t v = 0; v < values; ++v) sum += static_cast<float>(image[at.place(patch, v)]);
    const float mean = sum / static_cast<float>(values);
    for (std::int32_t v = 0; v < values; ++v) {
      const float e = static_cast<float>(image[at.place(patch, v)]) - mean;
      squares += e * e;
    }
    const float variance = squares / static_cast<float>(values > 1 ? values - 1 : 1);
    return {mean, 1.0f / math::sqrt(variance + kLeastVariance)};
  }
};

}  // namespace wellspring::ops
