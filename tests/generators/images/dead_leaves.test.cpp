#include "generators/images/dead_leaves.h"

#include "generators/functor_generator.h"
#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace wellspring {
namespace {

using Kind = DeadLeaves::Kind;
using Law = DeadLeaves::Law;

struct Drawn {
  DeadLeaves functor;
  DeadLeaves::Scene scene;
  Truth<DeadLeaves::kLatents> truth;

  Drawn(const DeadLeaves::Params& params, std::uint64_t seed, std::uint64_t sample,
        SampleShape shape)
      : functor(params) {
    scene = functor.draw({{seed, sample}, {}, shape}, truth);
  }
  const LeafPlaces& law() const { return scene.law; }
  Leaf leaf(int k, int level = 0) const {
    Leaf result = law().place(level, static_cast<std::uint32_t>(k));
    law().cut(result);
    return result;
  }
};

/// The sequence of leaves on the plane. The leaves that meet a smaller region form that region's
/// sequence, in the same order.
class Sequence {
 public:
  explicit Sequence(const LeafPlaces& law, int level = LeafPlaces::kPlane)
      : law_(law), level_(level) {}

  Leaf next() {
    Leaf leaf = law_.place(level_, count_[level_]++);
    for (int to = level_ - 1; to >= 0 && law_.meets(to, leaf); --to) {
      leaf = law_.place(to, count_[to]++);
    }
    law_.cut(leaf);
    return leaf;
  }
  std::uint32_t on_image() const { return count_[0]; }

  /// The next leaf that covers the point, on the periodic plane.
  Leaf next_at(float x, float y) {
    for (;;) {
      const Leaf leaf = next();
      const auto offset = [](float v, float centre, float period) {
        const double copies = std::nearbyint((static_cast<double>(v) - centre) / period);
        return v - std::fma(static_cast<float>(copies), period, centre);
      };
      if (leaf.covers(offset(x, leaf.x, law_.period_x), offset(y, leaf.y, law_.period_y))) {
        return leaf;
      }
    }
  }

 private:
  LeafPlaces law_;
  int level_;
  std::uint32_t count_[LeafPlaces::kPlane + 1] = {};
};

DeadLeaves::Params of_kind(Kind kind, Law law = Law::stationary) {
  DeadLeaves::Params params;
  params.kind = kind;
  params.law = law;
  return params;
}

/// The number of the leaf that each pixel shows, straight from the definition: tests every leaf on
/// all pixels, without tiles or culling.
std::vector<std::uint32_t> laid(const Drawn& drawn, const DeadLeaves::Params& params,
                                const Augmentation& view, int side) {
  const auto most = static_cast<std::uint32_t>(params.max_leaves);
  std::vector<std::uint32_t> front(static_cast<std::size_t>(side * side), most);
  const LeafPlaces& law = drawn.law();
  const auto offset = [](float v, float centre, float period) {
    const double copies = std::nearbyint((static_cast<double>(v) - centre) / period);
    return v - std::fma(static_cast<float>(copies), period, centre);
  };
  std::vector<int> open(front.size());
  std::iota(open.begin(), open.end(), 0);
  Sequence sequence(law, params.law == Law::paper ? 0 : LeafPlaces::kPlane);
  while (!open.empty() && sequence.on_image() < most) {
    const Leaf leaf = sequence.next();
    std::erase_if(open, [&](int p) {
      const float ox = static_cast<float>(p % side) + 0.5f;
      const float oy = static_cast<float>(p / side) + 0.5f;
      const float edge = static_cast<float>(side) - 0.5f;
      float sx = view.source_x(ox, oy), sy = view.source_y(ox, oy);
      if (params.law == Law::paper) {
        sx = std::clamp(sx, 0.5f, edge);
        sy = std::clamp(sy, 0.5f, edge);
      }
      const bool covered = params.law == Law::paper ? leaf.covers(sx - leaf.x, sy - leaf.y)
                                                    : leaf.covers(offset(sx, leaf.x, law.period_x),
                                                                  offset(sy, leaf.y, law.period_y));
      if (covered) front[static_cast<std::size_t>(p)] = leaf.number;
      return covered;
    });
  }
  return front;
}

// Tiles, culling, levels and early exit must match the definition bit for bit, even far beyond the
// border, where the plane repeats, and past the horizon.
TEST(DeadLeaves, TilesMatchTheDefinition) {
  const char* const looks[] = {
      "", "augment: [shift: 0.2]", "augment: [rotate: 57, zoom: [0.7, 1.4], shift: 0.2]",
      "augment: [zoom: [0.1, 0.2]]",
      "augment: [perspective: {distortion: 0.6, probability: 1}, zoom: [0.3, 0.5]]"};
  int levels = 0;  // bit mask of the levels at which tiles start
  for (int kind = 0; kind < DeadLeaves::kClasses + 2; ++kind) {
    DeadLeaves::Params params = of_kind(static_cast<Kind>(kind % DeadLeaves::kClasses),
                                        kind < DeadLeaves::kClasses ? Law::stationary : Law::paper);
    if (kind % 2 == 1 || kind == 4) params.max_leaves = 130;  // leaves some pixels uncovered
    const SampleShape shape = {45, 45, 3};
    FunctorGenerator<DeadLeaves> generator(params, shape);
    for (std::size_t look = 0; look < std::size(looks); ++look) {
      if (kind > 0 && look > 0 && look != 1 + static_cast<std::size_t>(kind % 4)) continue;
      const std::string yaml = looks[look];
      const auto x = test::emit_augmented<float>(generator, yaml, 3, 8, 1);
      const std::uint64_t key = named_key(3, "dead_leaves");
      const Drawn drawn(params, key, 8, shape);
      const Augmentation view = draw_augmentation(test::plan_of(yaml, shape), {key, 8});
      levels |= 1 << drawn.law().level_of(source_box(view, 0, 0, 32, 32));
      const auto front = laid(drawn, params, view, 45);
      int open = 0;
      for (std::size_t p = 0; p < front.size(); ++p) {
        const auto words = drawn.law().rng.block(Purpose::texture, front[p]);
        for (std::size_t c = 0; c < 3; ++c) {
          ASSERT_EQ(x[3 * p + c], unit_float(words.word[c])) << kind << yaml << " pixel " << p;
        }
        open += front[p] == static_cast<std::uint32_t>(params.max_leaves) ? 1 : 0;
      }
      if (params.max_leaves > 130) {
        EXPECT_EQ(open, 0) << "every pixel must be covered";
      }
    }
  }
  EXPECT_EQ(levels, 7);
}

// Under the stationary law, every pixel is uncovered after max_leaves leaves with the same
// probability, so the bound in the notes equals the mean.
TEST(DeadLeaves, LeavesThePredictedNumberOfPixelsUncovered) {
  const SampleShape shape = {24, 24, 3};
  DeadLeaves::Params params = of_kind(Kind::square);
  params.max_leaves = 150;
  FunctorGenerator<DeadLeaves> generator(params, shape);
  const auto x = test::emit_augmented<float>(generator, "", 13, 0, 3000);
  std::vector<double> open;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto background = SampleRng{named_key(13, "dead_leaves"), i}.block(Purpose::texture, 150);
    const float* const image = x.data() + i * 24 * 24 * 3;
    int count = 0;
    for (int p = 0; p < 24 * 24; ++p) {
      count += image[3 * p] == unit_float(background.word[0]) &&
                       image[3 * p + 1] == unit_float(background.word[1])
                   ? 1
                   : 0;
    }
    open.push_back(count);
  }
  const DeadLeaves functor(params);
  const auto view = test::moments(open);
  const double expected = functor.expected_open(shape);
  EXPECT_GT(test::normal_p((view.mean - expected) / std::sqrt(view.variance / 3000)), test::kGate)
      << view.mean << " against " << expected;
  EXPECT_EQ(functor.notes(shape).size(), 1u);
  EXPECT_TRUE(DeadLeaves({}).notes({1024, 1024, 3}).empty());
  params.law = Law::paper;
  EXPECT_GT(DeadLeaves(params).expected_open(shape), expected);
}

}  // namespace
}  // namespace wellspring
