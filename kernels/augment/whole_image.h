// Colour operations that need the whole image or a pixel's neighbours: contrast about the mean,
// autocontrast, equalise, sharpen; and noise, because its code is long. One pass after emission
// with a team per image: it computes the statistics of an operation, applies it with the pointwise
// ones that follow, and continues with the next; an image without such operations is finished at
// once. Sums are over integers, so the result depends neither on the team size nor on the device.
// Host and device.
#pragma once

#include "kernels/augment/augmentation.h"
#include "kernels/augment/augmentation_buffer.h"
#include "kernels/augment/colour.h"
#include "kernels/augment/pixel_noise.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team.h"
#include "kernels/runtime/team_loop.h"

#include <bit>
#include <cstdint>

namespace wellspring {

namespace detail {

/// Shared by a team: the sample's drawn augmentation, and statistics of the image.
struct WholeImage {
  Augmentation view;
  std::uint64_t sum;            ///< sum of luma, in units of 2^-24
  std::uint32_t lowest[3];      ///< complemented bits of the smallest values
  std::uint32_t highest[3];     ///< bits of the largest values, which are ordered as the values
  std::uint32_t table[3][256];  ///< count of each level, then its equalised value
};

/// The level of a value in 8 bits (torchvision's to_dtype).
WS_INLINE std::uint32_t level_of(float v) {
  return static_cast<std::uint32_t>(math::clamp(v, 0.f, 1.f) * (256.f - 1e-3f));
}

/// Reads the pixels of a run; an image of one channel is grey.
template <int N>
WS_INLINE void load_run(const float* row, int channels, int count, ColourRun<N>& colour) {
  const int g = channels == 3 ? 1 : 0, b = channels == 3 ? 2 : 0;
  WS_LANES
  for (int i = 0; i < N; ++i) {
    const float* const pixel = row + (i < count ? i : count - 1) * channels;
    colour.r[i] = pixel[0];
    colour.g[i] = pixel[g];
    colour.b[i] = pixel[b];
  }
}

/// Replaces the counts of levels by the equalised levels (torchvision.transforms.v2.functional,
/// equalize): cumulative counts in units of 1/255 of all but the last level's. One member per
/// channel.
WS_HD inline void make_equalising_table(std::uint32_t (&table)[256], std::uint32_t pixels) {
  int last = 255;
  while (last > 0 && table[last] == 0) --last;
  const std::uint32_t step = (pixels - table[last]) / 255;
  std::uint32_t before = 0;
  for (int level = 0; level < 256; ++level) {
    const std::uint32_t here = table[level];
    const std::uint32_t to =
        step == 0 ? static_cast<std::uint32_t>(level) : (before + step / 2) / step;
    table[level] = to < 255 ? to : 255;
    before += here;
  }
}

}  // namespace detail

/// Team functor: one sample, from the output of the emission pass to the batch or to the blur's
/// input.
template <class T>
struct FinishWholeImages {
  const Augmentation* drawn;  ///< [rows]
  const Slot* slots;
  std::uint32_t source;
  SampleShape shape;
  float* images;  ///< [rows, shape]; output of emission and input of a blur
  float* spare;   ///< [rows, shape]
  T* out;         ///< x of the batch; null if a blur follows

  static constexpr LaunchBound kLaunchBound = kSampleTeam;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t b) const {
    if (slots[b].source != source) return;  // uniform over the team
    auto* const shared = team.template scratch<detail::WholeImage>(1);
    copy_together(team, drawn + b, &shared->view);
    team.sync();
    const Augmentation& view = shared->view;
    const std::int64_t first = b * shape.elements();
    bool moved = false;  // true if the values are in `spare`
    int step = view.colour_at_emission;
    while (step < view.colour_before_blur || out != nullptr) {
      const ColourStep whole = step < view.colour_before_blur ? view.colour[step] : ColourStep{};
      int next = step + 1;
      while (next < view.colour_before_blur && !needs_pass(view.colour[next].op)) ++next;
      if (whole.op == AugmentOp::sharpen) {
        sharpen(team, whole.value, (moved ? spare : images) + first,
                (moved ? images : spare) + first);
        moved = !moved;
        team.sync();
      }
      float* const values = (moved ? spare : images) + first;
      measure(team, whole.op, values, *shared);
      if (next >= view.colour_before_blur && out != nullptr)
        return apply(team, *shared, whole, step + 1, next, values, out + first, true);
      apply(team, *shared, whole, step + 1, next, values, values, false);
      team.sync();
      step = next;
    }
    if (!moved) return;
    for (std::int64_t i = first + team.rank(); i < first + shape.elements(); i += team.size())
      images[i] = spare[i];
  }

 private:
  /// Called by all members. Computes the statistics that the operation needs.
  template <class Team>
  WS_INLINE void measure(Team& team, AugmentOp op, const float* from,
                         detail::WholeImage& shared) const {
    if (op == AugmentOp::none || op == AugmentOp::sharpen || op == AugmentOp::noise) return;
    for (int i = team.rank(); i < 3 * 256; i += team.size()) shared.table[i / 256][i % 256] = 0;
    if (team.rank() == 0) {
      shared.sum = 0;
      for (int c = 0; c < 3; ++c) shared.lowest[c] = shared.highest[c] = 0;
    }
    team.sync();
    const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
    const int channels = shape.channels;
    if (op == AugmentOp::contrast_about_mean) {
      std::uint64_t sum = 0;
      for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
        const float* const pixel = from + p * channels;
        const float grey = channels == 3 ? detail::luma(pixel[0], pixel[1], pixel[2]) : pixel[0];
        sum += static_cast<std::uint32_t>(math::round(math::clamp(grey, 0.f, 1.f) * 0x1p24f));
      }
      team.atomic_add(&shared.sum, sum);
    } else if (op == AugmentOp::autocontrast) {
      for (int c = 0; c < channels; ++c) {
        float low = 1, high = 0;
        for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
          const float v = math::clamp(from[p * channels + c], 0.f, 1.f);
          low = math::min(v, low);
          high = math::max(v, high);
        }
        team.atomic_max(&shared.lowest[c], ~std::bit_cast<std::uint32_t>(low));
        team.atomic_max(&shared.highest[c], std::bit_cast<std::uint32_t>(high));
      }
    } else {
      for (std::int64_t p = team.rank(); p < pixels; p += team.size()) {
        for (int c = 0; c < channels; ++c)
          team.atomic_add(&shared.table[c][detail::level_of(from[p * channels + c])], 1u);
      }
    }
    team.sync();
    if (op != AugmentOp::equalise) return;
    for (int c = team.rank(); c < channels; c += team.size())
      detail::make_equalising_table(shared.table[c], static_cast<std::uint32_t>(pixels));
    team.sync();
  }

  /// Called by all members. Applies the operation, then the pointwise ones `begin` to `end` - 1;
  /// then the end of the list if `ends`.
  template <class Team, class Out>
  WS_INLINE void apply(Team& team, const detail::WholeImage& shared, ColourStep whole, int begin,
                       int end, const float* from, Out* to, bool ends) const {
    constexpr int kRun = WS_RUN_LENGTH;
    for (OwnRuns<kRun> own(team, shape.width, shape.height); own.inside(); own.go_on()) {
      const int x = own.column(), y = own.row();
      const int count = shape.width - x < kRun ? shape.width - x : kRun;
      const int at = (y * shape.width + x) * shape.channels;
      ColourRun<kRun> colour;
      detail::load_run(from + at, shape.channels, count, colour);
      change(shared, whole, x, y, colour);
      apply_colour(shared.view, begin, end, colour.r, colour.g, colour.b);
      if (ends) {
        normalise(shared.view, colour.r, colour.g, colour.b);
        erase_box(shared.view, x, y, colour.r, colour.g, colour.b);
        fill_box(shared.view, x, y, colour);
      }
      detail::store_run(colour, shape.channels, count, to + at);
    }
  }

  template <int N>
  WS_INLINE void change(const detail::WholeImage& shared, ColourStep whole, int x, int y,
                        ColourRun<N>& colour) const {
    const int g = shape.channels == 3 ? 1 : 0, b = shape.channels == 3 ? 2 : 0;
    switch (whole.op) {
      case AugmentOp::contrast_about_mean: {
        const auto pixels = static_cast<float>(shape.height * shape.width);
        const float mean = static_cast<float>(shared.sum) * 0x1p-24f / pixels;
        WS_LANES
        for (int i = 0; i < N; ++i) {
          colour.r[i] = detail::blend(mean, colour.r[i], whole.value);
          colour.g[i] = detail::blend(mean, colour.g[i], whole.value);
          colour.b[i] = detail::blend(mean, colour.b[i], whole.value);
        }
        break;
      }
      case AugmentOp::autocontrast:
        stretch(shared, 0, colour.r);
        stretch(shared, g, colour.g);
        stretch(shared, b, colour.b);
        break;
      case AugmentOp::equalise:
        look_up(shared.table[0], colour.r);
        look_up(shared.table[g], colour.g);
        look_up(shared.table[b], colour.b);
        break;
      case AugmentOp::noise:
        add_noise(shared.view, whole.value, x, y, colour);
        break;
      default:
        break;
    }
  }

  /// Maps the smallest value to 0 and the largest to 1, unless they are equal (torchvision's
  /// autocontrast).
  template <int N>
  WS_INLINE static void stretch(const detail::WholeImage& shared, int c, float (&value)[N]) {
    const float low = std::bit_cast<float>(~shared.lowest[c]);
    const float range = std::bit_cast<float>(shared.highest[c]) - low;
    if (range <= 0) return;
    WS_LANES
    for (int i = 0; i < N; ++i) value[i] = math::clamp((value[i] - low) / range, 0.f, 1.f);
  }

  template <int N>
  WS_INLINE static void look_up(const std::uint32_t (&table)[256], float (&value)[N]) {
    for (int i = 0; i < N; ++i)
      value[i] = static_cast<float>(table[detail::level_of(value[i])]) / 255.f;
  }

  /// Called by all members. Multiplies the differences from the 3 x 3 mean, whose centre has weight
  /// five, by the factor; border pixels are unchanged (torchvision's adjust_sharpness). Works value
  /// by value, because neighbours in the runs of apply() would take too many registers.
  template <class Team>
  WS_INLINE void sharpen(Team& team, float factor, const float* from, float* to) const {
    const int channels = shape.channels, pitch = shape.width * channels;
    team_for_grid(team, shape.height, pitch, [&](int y, int i) {
      const bool inside = y >= 1 && y <= shape.height - 2 && i >= channels && i < pitch - channels;
      const int row = inside ? pitch : 0, side = inside ? channels : 0;
      const float* const p = from + y * pitch + i;
      const float above = p[-side - row] + p[-row] + p[side - row];
      const float below = p[-side + row] + p[row] + p[side + row];
      const float beside = math::fma(5.f, p[0], p[-side] + p[side]);
      const float smooth = ((above + below) + beside) * (1.f / 13);
      to[y * pitch + i] = inside ? detail::blend(smooth, p[0], factor) : p[0];
    });
  }
};

}  // namespace wellspring
