// Dead leaves painted by one thread, front to back: each leaf is tested on the open pixels of its
// own box. (A device team instead tests all leaves against each pixel.) Both methods assign to
// every pixel the first leaf that covers it, with the same arithmetic. Called by generator
// `dead_leaves`; host and device.
#pragma once

#include "generators/images/leaf.h"
#include "generators/images/leaf_places.h"
#include "kernels/augment/apply_augmentation.h"
#include "kernels/augment/augmentation.h"
#include "kernels/batch/pixel_run.h"
#include "kernels/random/math.h"
#include "kernels/runtime/bits.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

/// Scratch memory of one thread.
struct LeafByLeafScratch {
  std::uint32_t* front;      ///< [rows][kSide] number of the front leaf of each pixel
  Rgb* colour;               ///< [kColours] colours of the first leaves, if visible
  std::uint32_t* open_runs;  ///< [rows] one bit per run of a row
  float *x, *y;              ///< [kSide] source columns and rows of an upright view
};

WS_INLINE Rgb leaf_colour(const SampleRng& rng, std::uint32_t leaf) {
  const Philox4 w = rng.block(Purpose::texture, leaf);
  return {unit_float(w.word[0]), unit_float(w.word[1]), unit_float(w.word[2])};
}

class LeafByLeaf {
 public:
  static constexpr int kRun = 16;    ///< pixels tested at once
  static constexpr int kSide = 128;  ///< side of the largest tile, pixels
  /// Number of leaves whose colours are stored; the few later ones are drawn per pixel.
  static constexpr int kColours = 2048;

  static constexpr std::size_t scratch_bytes() {
    return sizeof(std::uint32_t) * (kSide * kSide + kSide) + sizeof(Rgb) * kColours +
           sizeof(float) * 2 * kSide + 80;  // for aligning the five blocks
  }
  template <class Team>
  WS_INLINE static LeafByLeafScratch scratch_of(Team& team) {
    return {team.template scratch<std::uint32_t>(kSide * kSide),
            team.template scratch<Rgb>(kColours), team.template scratch<std::uint32_t>(kSide),
            team.template scratch<float>(kSide), team.template scratch<float>(kSide)};
  }

  /// Requires that the image contains the source points of all tile pixels and that there is no
  /// perspective.
  WS_INLINE LeafByLeaf(const LeafPlaces& law, const Augmentation& view, const PixelTile& tile,
                       const LeafByLeafScratch& scratch)
      : law_(law), seen_(view), tile_(tile), to_(scratch) {
    // Maps source points to output points: the inverse of the augmentation's matrix.
    const float determinant = view.m00 * view.m11 - view.m01 * view.m10;
    xx_ = view.m11 / determinant;
    xy_ = -view.m01 / determinant;
    yx_ = -view.m10 / determinant;
    yy_ = view.m00 / determinant;
    stretch_x_ = math::sqrt(math::fma(xx_, xx_, xy_ * xy_));
    stretch_y_ = math::sqrt(math::fma(yx_, yx_, yy_ * yy_));
  }

  /// Places at most `most` leaves, until no pixel is open; pixels that are still open show leaf
  /// number `most`.
  WS_INLINE void lay(std::uint32_t most) {
    open_ = most;
    begin();
    if (most < kColours) to_.colour[most] = leaf_colour(law_.rng, most);
    if (seen_.m01 == 0 && seen_.m10 == 0) {
      place_columns_and_rows();
      lay_leaves<true>();
    } else {
      lay_leaves<false>();
    }
  }

 private:
  /// Output pixels that a leaf may cover: rows [y0, y1), and one bit per run of a row.
  struct Box {
    int y0, y1;
    std::uint32_t runs;
  };
  /// Pixels by which boxes are enlarged, so that rounding never matters.
  static constexpr float kSlack = 0.0625f;

  WS_INLINE void begin() const {
    const int runs = (tile_.width + kRun - 1) / kRun;
    // All shaded pixels, including those outside the tile that complete a run.
    constexpr int kLanes = WS_RUN_LENGTH > kRun ? WS_RUN_LENGTH : kRun;
    const int lanes = (tile_.width + kLanes - 1) / kLanes * kLanes;
    for (int row = 0; row < tile_.height; ++row) {
      to_.open_runs[row] = (1u << runs) - 1;
      std::uint32_t* const front = to_.front + row * kSide;
      for (int i = 0; i < lanes; ++i) front[i] = i < tile_.width ? open_ : open_ + 1;
    }
  }
  /// Stores one row and one column. Lanes of place_run() do not depend on where a run begins.
  WS_INLINE void place_columns_and_rows() const {
    for (int x = 0; x < tile_.width; x += kRun) {
      const PixelRun<kRun> run = detail::place_run<kRun>(seen_, tile_, tile_.x0 + x, tile_.y0);
      for (int i = 0; i < kRun; ++i) to_.x[x + i] = run.x[i];
    }
    for (int y = 0; y < tile_.height; ++y)
      to_.y[y] = detail::place_run<1>(seen_, tile_, tile_.x0, tile_.y0 + y).y[0];
  }

  template <bool Upright>
  WS_INLINE void lay_leaves() const {
    int open_rows = tile_.height;
    for (std::uint32_t n = 0; n < open_ && open_rows > 0; ++n) {
      Leaf leaf = law_.place(0, n);
      const Box box = box_of(leaf);
      bool is_cut = false;
      for (int row = box.y0; row < box.y1; ++row) {
        for (std::uint32_t runs = to_.open_runs[row] & box.runs; runs != 0; runs &= runs - 1) {
          if (!is_cut) law_.cut(leaf);
          is_cut = true;
          const int run = lowest_bit(runs);
          const int left = leaf.kind == LeafKind::circle
                               ? take<Upright>(leaf, row, run, Leaf::InCircle{})
                               : take<Upright>(leaf, row, run, Leaf::InPolygon{});
          if (left > 0) continue;
          to_.open_runs[row] &= ~(1u << run);
          if (to_.open_runs[row] == 0) --open_rows;
        }
      }
      if (is_cut && n < kColours) to_.colour[n] = leaf_colour(law_.rng, n);
    }
  }

  WS_INLINE Box box_of(const Leaf& leaf) const {
    const float dx = leaf.x - seen_.origin_x, dy = leaf.y - seen_.origin_y;
    const float x = math::fma(xx_, dx, xy_ * dy) + seen_.centre_x - static_cast<float>(tile_.x0);
    const float y = math::fma(yx_, dx, yy_ * dy) + seen_.centre_y - static_cast<float>(tile_.y0);
    const float reach_x = math::fma(leaf.radius, stretch_x_, 0.5f + kSlack);
    const float reach_y = math::fma(leaf.radius, stretch_y_, 0.5f + kSlack);
    const auto width = static_cast<float>(tile_.width), height = static_cast<float>(tile_.height);
    const int x0 = static_cast<int>(math::clamp(x - reach_x, 0, width));
    const int x1 = static_cast<int>(math::clamp(x + reach_x, 0, width));
    Box box;
    box.y0 = static_cast<int>(math::clamp(y - reach_y, 0, height));
    box.y1 = static_cast<int>(math::clamp(y + reach_y + 1, 0, height));
    const bool beside = x + reach_x < 0 || x - reach_x > width;
    box.runs = beside ? 0 : (2u << (x1 / kRun)) - (1u << (x0 / kRun));
    return box;
  }

  /// Assigns the leaf to those open pixels of a run that it covers. Returns how many pixels remain
  /// open.
  template <bool Upright, class Covers>
  WS_INLINE int take(const Leaf& leaf, int row, int run, const Covers& covers) const {
    std::uint32_t* const front = to_.front + row * kSide + run * kRun;
    if constexpr (Upright) {
      return take_lanes(
          leaf, to_.x + run * kRun, [y = to_.y[row]](int) { return y; }, front, covers);
    } else {
      const PixelRun<kRun> at =
          detail::place_run<kRun>(seen_, tile_, tile_.x0 + run * kRun, tile_.y0 + row);
      return take_lanes(
          leaf, at.x, [&at](int i) { return at.y[i]; }, front, covers);
    }
  }
  template <class RowAt, class Covers>
  WS_INLINE int take_lanes(Leaf leaf, const float* x, const RowAt& y_of, std::uint32_t* front,
                           const Covers& covers) const {
    const std::uint32_t open = open_;
    int left = 0;
    WS_LANES_SUM(left)
    for (int i = 0; i < kRun; ++i) {
      const bool hit = covers(leaf, x[i] - leaf.x, y_of(i) - leaf.y);
      const bool was_open = front[i] == open;
      front[i] = hit & was_open ? leaf.number : front[i];
      left += was_open & !hit ? 1 : 0;
    }
    return left;
  }

  const LeafPlaces& law_;
  const Augmentation& seen_;
  PixelTile tile_;
  LeafByLeafScratch to_;
  std::uint32_t open_ = 0;       ///< number of the background leaf
  float xx_, xy_, yx_, yy_;      ///< output pixels per source pixel
  float stretch_x_, stretch_y_;  ///< half sides of the box around a circle of radius 1
};

}  // namespace wellspring
