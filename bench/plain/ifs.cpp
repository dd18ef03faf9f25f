// The chaos game, point by point (docs/generators/algorithms/ifs.md, mode fractaldb). Categories and windows
// come from the generator's own table.
#include "bench/plain/plain.h"
#include "generators/images/ifs_categories.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace wellspring::bench {
namespace {

constexpr int kCategories = 60, kWalkers = 256, kBurnIn = 32;  // the generator's defaults
constexpr float kMargin = 6.0f / 362;

struct Ifs {
  int side, points;
  ifs::CategoryTable table;
  std::vector<std::uint64_t>
      cell;  ///< latest point of each pixel, and its patch; the border is one wide

  std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row + 1) * static_cast<std::size_t>(side + 2) +
           static_cast<std::size_t>(column + 1);
  }

  void draw(std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
    const SampleRng rng{named_key(seed, "ifs"), sample};
    RngStream choice(rng, Purpose::label);
    const std::uint32_t k = choice.integer(kCategories);
    const ifs::Category& category = table.categories[k];
    const int variation = category.variation[choice.integer(category.usable)];
    choice.next();  // drawing
    const std::uint32_t flips = choice.integer(4);
    walk(rng, category.system, variation,
         table.windows[k * ifs::kVariations + static_cast<std::size_t>(variation)], flips);
    show(x);
  }

  void walk(const SampleRng& rng, const ifs::System& system, int variation,
            const ifs::Window& window, std::uint32_t flips) {
    const auto length = static_cast<float>(side);
    const float margin = length * kMargin, inner = length - 2 * margin;
    std::ranges::fill(cell, 0);
    for (int walker = 0; walker < kWalkers; ++walker) {
      float px = window.point_x, py = window.point_y;
      for (int step = 0;; ++step) {
        const auto block = static_cast<std::uint32_t>(step / 4 * kWalkers + walker);
        const std::uint32_t word = rng.block(Purpose::texture, block).word[step % 4];
        int which = 0;
        while (word >> 16 >= system.upto[which]) ++which;
        const ifs::Map map =
            ifs::vary(system.map[which], variation, ifs::CategorySpec().weight_step);
        const float next_x = std::fma(map.a, px, std::fma(map.b, py, map.e));
        py = std::fma(map.c, px, std::fma(map.d, py, map.f));
        px = next_x;
        const int point = (step - kBurnIn) * kWalkers + walker;
        if (step < kBurnIn) continue;
        if (point >= points) break;
        const float along = (px - window.x0) / (window.x1 - window.x0) * inner + margin;
        const float up = (py - window.y0) / (window.y1 - window.y0) * inner + margin;
        const int column = static_cast<int>(std::floor((flips & 1) != 0 ? length - along : along));
        const int row = static_cast<int>(std::floor((flips & 2) != 0 ? up : length - up));
        if (column < -1 || row < -1 || column > side || row > side) continue;
        const std::uint64_t mask = ((word & 0xffff) * 511 >> 16) + 1;
        std::uint64_t& hit = cell[at(row, column)];
        hit = std::max(hit, static_cast<std::uint64_t>(point + 1) << 9 | mask);
      }
    }
  }

  /// Each pixel shows the latest of the nine patches that may cover it.
  void show(std::span<float> x) const {
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) {
        std::uint64_t latest = 0;
        int bit = 0;
        for (int r = -1; r <= 1; ++r) {
          for (int q = -1; q <= 1; ++q) {
            const std::uint64_t hit = cell[at(row + r, column + q)];
            if (hit >> 9 <= latest >> 9) continue;
            latest = hit;
            bit = 3 * (1 - r) + (1 - q);
          }
        }
        const auto pixel = static_cast<std::size_t>(row * side + column);
        set_grey(x, pixel, (latest >> bit & 1) != 0 ? 127.0f / 255 : 0.0f);
      }
    }
  }
};

}  // namespace

PlainLoop plain_ifs(int side, int points) {
  auto ifs = std::make_shared<Ifs>();
  ifs->side = side;
  ifs->points = points;
  ifs->table = ifs::make_categories({}, kCategories, compute_threads(0).count);
  ifs->cell.resize(static_cast<std::size_t>(side + 2) * static_cast<std::size_t>(side + 2));
  return {fmt::format("{} points", points),
          "ifs",
          {{"points", std::to_string(points)}},
          side,
          [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            ifs->draw(seed, sample, x);
          }};
}

}  // namespace wellspring::bench
