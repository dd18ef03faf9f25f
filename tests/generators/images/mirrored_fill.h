// A leaf's texture, straight from the definition: a fill and its means over successively larger
// squares, mirrored at every border. For tests of textured leaves; host only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::test {

/// One channel of a fill.
class MirroredFill {
 public:
  /// `pixels`: [side, side, 3].
  MirroredFill(const float* pixels, std::size_t side, std::size_t channel)
      : side_(static_cast<float>(side)) {
    for (std::size_t p = 0; p < side * side; ++p) fill_.push_back(pixels[3 * p + channel]);
    levels_.push_back({side, {fill_.begin(), fill_.end()}});
    while (levels_.back().side > 1) levels_.push_back(halved(levels_.back()));
  }

  struct Level {
    std::size_t side;
    std::vector<double> pixels;
  };
  /// All levels, from the fill down to one pixel.
  const std::vector<Level>& levels() const { return levels_; }

  /// Reads the fill bilinearly with the program's own arithmetic, for bit-exact comparison.
  float at_full_resolution(float column, float row) const {
    const float x = std::clamp(folded(column) - 0.5f, 0.f, side_ - 1);
    const float y = std::clamp(folded(row) - 0.5f, 0.f, side_ - 1);
    const float x0 = std::floor(x), y0 = std::floor(y);
    const auto texel = [&](float across, float down) {
      return fill_[static_cast<std::size_t>(std::min(down, side_ - 1) * side_ +
                                            std::min(across, side_ - 1))];
    };
    const auto mixed = [&](float at) { return between(texel(x0, at), texel(x0 + 1, at), x - x0); };
    return between(mixed(y0), mixed(y0 + 1), y - y0);
  }
  /// Value for an image pixel that is 2^depth fill pixels wide.
  double at_depth(float column, float row, double depth) const {
    const double whole = std::floor(depth);
    const auto level = static_cast<std::size_t>(whole);
    const double fine = in_level(levels_[level], column, row);
    if (depth == whole) return fine;
    return fine + (depth - whole) * (in_level(levels_[level + 1], column, row) - fine);
  }
  /// Level at which an image pixel spans 2^log_width fill pixels, clamped to the existing levels.
  double depth_of(double log_width) const {
    return std::clamp(log_width, 0.0, static_cast<double>(levels_.size() - 1));
  }

 private:
  static float between(float a, float b, float share) { return std::fma(share, b - a, a); }
  float folded(float v) const {
    const float within = std::fma(-2 * side_, std::floor(v * (1 / (2 * side_))), v);
    return within > side_ ? 2 * side_ - within : within;
  }
  double in_level(const Level& level, float column, float row) const {
    const auto last = static_cast<double>(level.side - 1);
    const double scale = static_cast<double>(level.side) / static_cast<double>(side_);
    const double x = std::clamp(folded(column) * scale - 0.5, 0.0, last);
    const double y = std::clamp(folded(row) * scale - 0.5, 0.0, last);
    double sum = 0;  // pyramid weights, which fall to 0 at the neighbours' centres
    for (std::size_t p = 0; p < level.pixels.size(); ++p) {
      const double dx = std::abs(x - static_cast<double>(p % level.side));
      const double dy = std::abs(y - static_cast<double>(p / level.side));
      if (dx < 1 && dy < 1) sum += (1 - dx) * (1 - dy) * level.pixels[p];
    }
    return sum;
  }
  /// The next level, with half the side (rounded down) and the mean over the area of each pixel.
  static Level halved(const Level& from) {
    const std::size_t side = from.side / 2;
    const double width = static_cast<double>(from.side) / static_cast<double>(side);
    const auto overlap = [width](std::size_t place, std::size_t of) {
      const double low = static_cast<double>(place) * width, at = static_cast<double>(of);
      return std::max(0.0, std::min(low + width, at + 1) - std::max(low, at)) / width;
    };
    Level level{side, std::vector<double>(side * side, 0.0)};
    for (std::size_t p = 0; p < level.pixels.size(); ++p) {
      for (std::size_t q = 0; q < from.pixels.size(); ++q) {
        level.pixels[p] +=
            overlap(p % side, q % from.side) * overlap(p / side, q / from.side) * from.pixels[q];
      }
    }
    return level;
  }

  float side_;
  std::vector<float> fill_;
  std::vector<Level> levels_;
};

}  // namespace wellspring::test
