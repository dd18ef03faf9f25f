// Samples of generator `ifs` on their canvas, painted by one thread. Tests only; host only.
#pragma once

#include "generators/images/ifs.h"
#include "kernels/runtime/solo_team.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::test {

struct PaintedIfs {
  Ifs functor;
  Ifs::Scene scene;
  Truth<Ifs::kLatents> truth;
  std::vector<std::uint32_t> cells;

  /// Uses seed 3 and an image of `side` pixels.
  PaintedIfs(const Ifs& f, std::uint64_t sample, int side) : functor(f) {
    scene = functor.draw({{3, sample}, {}, {side, side, 3}}, truth);
    cells.resize(static_cast<std::size_t>(functor.cells({side, side, 3})));
    SoloTeam team({nullptr, 0, 0});
    functor.paint(team, scene, {0, 1}, cells.data());
    if (functor.settles()) functor.settle(team, scene, cells.data());
  }
  Rgb at(int x, int y) const { return functor.texel(scene, cells.data(), x, y); }
  std::vector<float> picture() const {
    std::vector<float> values;
    for (int y = 0; y < scene.height; ++y) {
      for (int x = 0; x < scene.width; ++x) {
        const Rgb c = at(x, y);
        values.insert(values.end(), {c.r, c.g, c.b});
      }
    }
    return values;
  }
};

}  // namespace wellspring::test
