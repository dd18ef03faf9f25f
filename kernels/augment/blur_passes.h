// The two passes of `blur` after emission, along rows and along columns, in planned memory. Without
// a later pass, the second one also applies the rest of the list: colour steps after the blur,
// normalisation and erasing. Called by augmentation_passes.h; host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_buffer.h"
#include "kernels/augment/colour.h"
#include "kernels/augment/operations/operations.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/batch/tiling.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/team.h"

#include <cstdint>

namespace wellspring {

namespace detail {

/// Shared by a team: the sample's drawn augmentation, and the kernel weights from the centre
/// outwards.
struct BlurredSample {
  Augmentation view;
  float weight[augment::Blur::kMostRadius + 1];

  /// Weight of a pixel at this distance in either direction.
  WS_INLINE float at(int distance) const { return weight[distance < 0 ? -distance : distance]; }
};

/// Called by all members.
template <class Team>
WS_INLINE const BlurredSample& fetch_blur(Team& team, const Augmentation* drawn, int radius) {
  auto* const sample = team.template scratch<BlurredSample>(1);
  copy_together(team, drawn, &sample->view);
  team.sync();
  if (team.rank() == 0)
    augment::Blur::make_weights(sample->view.blur_sigma, radius, sample->weight);
  team.sync();
  return *sample;
}

/// Reflects index `i` about the centre of the first or last of `size` pixels; `i` may be at most
/// `size` - 1 pixels beyond it.
WS_INLINE int mirrored(int i, int size) {
  const int from_left = i < 0 ? -i : i;
  return from_left < size ? from_left : 2 * (size - 1) - from_left;
}

template <int N>
WS_INLINE void add_pixels(const float* row, const int (&column)[N], int channels, float weight,
                          ColourRun<N>& sum) {
  const int g = channels == 3 ? 1 : 0, b = channels == 3 ? 2 : 0;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float* const pixel = row + column[i] * channels;
    sum.r[i] = math::fma(weight, pixel[0], sum.r[i]);
    sum.g[i] = math::fma(weight, pixel[g], sum.g[i]);
    sum.b[i] = math::fma(weight, pixel[b], sum.b[i]);
  }
}

/// The columns of a run of pixels, shifted by `by` and reflected; lanes beyond the image repeat its
/// last column.
template <int N>
WS_INLINE void columns_of_run(int x, int by, int width, int (&column)[N]) {
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const int inside = x + i < width ? x + i : width - 1;
    column[i] = mirrored(inside + by, width);
  }
}

template <int N>
WS_INLINE void clear(ColourRun<N>& colour) {
  WS_LANES
  for (int i = 0; i < N; ++i) colour.r[i] = colour.g[i] = colour.b[i] = 0;
}

/// The direction in which a pass sums pixels.
enum class BlurAxis : std::uint8_t { rows, columns };

/// Common part of both passes: one team per band of rows of a sample.
struct BlurPass {
  const Augmentation* drawn;  ///< [rows]
  int radius;                 ///< blur_radius of the plan
  const Slot* slots;
  std::uint32_t source;
  SampleShape shape;
  Tiling tiling;
  const float* in;  ///< [rows, shape]

  /// Called by all members of the team for band `index` (of all samples). finish(view, x, y, sum)
  /// changes the blurred run of pixels that begins at (x, y); the result is stored in `out`.
  template <BlurAxis axis, class Team, class Finish, class T>
  WS_INLINE void run(Team& team, std::int64_t index, const Finish& finish, T* out) const {
    const std::int64_t b = index / tiling.count();
    if (slots[b].source != source) return;  // the same for the whole team
    const BlurredSample& sample = fetch_blur(team, drawn + b, radius);
    const int reach = sample.view.blur_sigma > 0 ? radius : 0;
    const PixelTile tile = tiling.tile(static_cast<int>(index % tiling.count()), shape);
    const std::int64_t image = b * shape.elements();
    const std::int64_t row_elements = std::int64_t{shape.width} * shape.channels;
    constexpr int kRun = WS_RUN_LENGTH;
    for (OwnRuns<kRun> own(team, tile.width, tile.height); own.inside(); own.go_on()) {
      const int x = own.column(), y = tile.y0 + own.row();
      ColourRun<kRun> sum;
      clear(sum);
      int column[kRun];
      if (axis == BlurAxis::columns) columns_of_run<kRun>(x, 0, shape.width, column);
      for (int k = -reach; k <= reach; ++k) {
        if (axis == BlurAxis::rows) columns_of_run<kRun>(x, k, shape.width, column);
        const int row = axis == BlurAxis::rows ? y : mirrored(y + k, shape.height);
        add_pixels<kRun>(in + image + row * row_elements, column, shape.channels, sample.at(k),
                         sum);
      }
      finish(sample.view, x, y, sum);
      const int count = shape.width - x < kRun ? shape.width - x : kRun;
      store_run(sum, shape.channels, count,
                out + image + y * row_elements + std::int64_t{x} * shape.channels);
    }
  }
};

}  // namespace detail

/// Team functor: blurs one band of rows of a sample horizontally.
struct BlurRows : detail::BlurPass {
  float* out;  ///< [rows, shape]

  static constexpr LaunchBound kLaunchBound = {detail::kPixelMembers, 4};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const auto keep = [](const Augmentation&, int, int, ColourRun<WS_RUN_LENGTH>&) WS_INLINED {};
    run<detail::BlurAxis::rows>(team, index, keep, out);
  }
};

/// Team functor: blurs one band of rows of a sample vertically and finishes it.
template <class T>
struct BlurColumns : detail::BlurPass {
  T* out;         ///< x of the batch, or images for the pass after the blur
  bool finishes;  ///< true: no pass follows

  static constexpr LaunchBound kLaunchBound = {detail::kPixelMembers, 3};

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const auto finish = [this](const Augmentation& view, int x, int y,
                               ColourRun<WS_RUN_LENGTH>& sum) WS_INLINED {
      if (!finishes) return;
      apply_colour(view, view.colour_before_blur, view.colour_count, sum.r, sum.g, sum.b);
      normalise(view, sum.r, sum.g, sum.b);
      augment::erase_box(view, x, y, sum.r, sum.g, sum.b);
    };
    run<detail::BlurAxis::columns>(team, index, finish, out);
  }
};

}  // namespace wellspring
