#include "generators/images/dead_leaves.h"

#include "generators/functor_generator.h"
#include "tests/generators/collect.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
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

/// The sequence of leaves on the plane. The leaves that meet a smaller region, in this order, form
/// that region's sequence.
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

// Tiles, culling, levels and early exit must match the definition bit for bit, also far beyond the
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

// Radii have density r^-3 on the plane, and density r^-3 (w + 2r)(h + 2r) among leaves that meet
// the image or the region around it. Centres are uniform over the area where the leaf meets the
// region. With 30,000 leaves the test detects a distance of 0.015.
TEST(DeadLeaves, RadiiAndCentresFollowTheirDistributions) {
  const double low = 3, high = 100;
  const Drawn drawn({}, 5, 0, {100, 120, 3});
  for (int level = 0; level <= LeafPlaces::kPlane; ++level) {
    const double margin = level == 1 ? 25 : 0, w = 120 + 2 * margin, h = 100 + 2 * margin;
    const auto integral = [&](double r) {
      const double cubic = 0.5 * (1 / (low * low) - 1 / (r * r));
      if (level == LeafPlaces::kPlane) return cubic;
      return w * h * cubic + 2 * (w + h) * (1 / low - 1 / r) + 4 * std::log(r / low);
    };
    std::vector<double> radii, across, down;
    std::vector<double> cells(64);
    for (int k = 0; k < 30000; ++k) {
      const auto leaf = drawn.leaf(k, level);
      radii.push_back(leaf.radius);
      const bool plane = level == LeafPlaces::kPlane;
      const double out = plane ? 0 : leaf.radius + margin;
      const double wide = plane ? drawn.law().period_x : 120 + 2 * out;
      const double tall = plane ? drawn.law().period_y : 100 + 2 * out;
      const double u = (leaf.x - (60 - wide / 2)) / wide, v = (leaf.y - (50 - tall / 2)) / tall;
      cells[static_cast<std::size_t>(u * 8) * 8 + static_cast<std::size_t>(v * 8)] += 1;
    }
    EXPECT_GT(test::kolmogorov_p(radii,
                                 [&](double r) {
                                   return std::clamp(
                                       integral(std::clamp(r, low, high)) / integral(high), 0.0,
                                       1.0);
                                 }),
              test::kGate)
        << level;
    EXPECT_GT(test::uniform_chi_square_p(cells), test::kGate) << "centres, level " << level;
  }
  EXPECT_GE(drawn.law().period_x, 120 + 200 + 50.) << "no two copies may meet the same region";
}

// Among the leaves that cover a point, radii have density r^2 r^-3: the logarithm of the visible
// radius is uniform for every shape and point, even beyond the border. If centres were on the image
// only, the share of radii above half a side at the centre would be 14 % instead of 20 %. The test
// detects 2.7 % with 10,000 samples, and 9 % with 1,000 (used for the plane, whose sequence is ten
// times as long).
TEST(DeadLeaves, VisibleRadiiAreLogUniform) {
  struct Case {
    float x, y;
    int level;
    std::uint64_t samples;
  };
  const Case cases[] = {{50, 50, 0, 10000},    {0.5f, 40, 0, 10000}, {99.5f, 0.5f, 0, 10000},
                        {99.5f, 40, 1, 3000},  {-25, 125, 1, 3000},  {50, 50, 2, 1000},
                        {0.5f, 0.5f, 2, 1000}, {-60, 40, 2, 1000},   {700, -900, 2, 1000}};
  const auto radii_seen = [](Law law, const Case& at) {
    std::vector<double> u;
    for (std::uint64_t i = 0; i < at.samples; ++i) {
      const Drawn drawn(of_kind(Kind::circle, law), 11, i, {100, 100, 3});
      const Leaf leaf = Sequence(drawn.law(), at.level).next_at(at.x, at.y);
      u.push_back(std::log(leaf.radius / 3.0) / std::log(100 / 3.0));
    }
    return u;
  };
  const auto uniform = [](double v) { return std::clamp(v, 0.0, 1.0); };
  for (const Case& at : cases) {
    EXPECT_GT(test::kolmogorov_p(radii_seen(Law::stationary, at), uniform), test::kGate)
        << at.x << ", " << at.y << " level " << at.level;
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(test::kolmogorov_p(radii_seen(Law::paper, cases[i]), uniform), test::kGate)
        << "the paper's law must give another distribution";
  }
}

/// The probability that two points `lag` apart along a row show the same leaf X. The first leaf
/// that covers either point decides, so it is E area(X and X + lag) / E area(X or X + lag). Valid
/// for discs and axis-aligned squares whose radii have density r^-3 on [low, high]. Computed by the
/// midpoint rule in log r.
double same_leaf(Kind kind, double lag, double low, double high) {
  double both = 0, either = 0;
  constexpr int kSteps = 20000;
  for (int i = 0; i < kSteps; ++i) {
    const double r = low * std::exp((i + 0.5) / kSteps * std::log(high / low));
    const double weight = 1 / (r * r);  // r^-3 dr = r^-2 d log r
    const double side = r * std::sqrt(2.0);
    const double area = kind == Kind::circle ? std::numbers::pi * r * r : side * side;
    double common = kind == Kind::circle ? 0 : std::max(0.0, side - lag) * side;
    if (kind == Kind::circle && lag < 2 * r)
      common = 2 * r * r * std::acos(lag / (2 * r)) - lag / 2 * std::sqrt(4 * r * r - lag * lag);
    both += weight * common;
    either += weight * (2 * area - common);
  }
  return both / either;
}

// Counts how often pixels 1 and 8 apart differ, at the centre, on an edge and in a corner of
// emitted images. If centres were on the image only, neighbours on the edge would differ in 57 % of
// the samples instead of 51 %, which is 6.8 standard errors with 3,000 samples. When zoomed out by
// two, the same pixels show points twice as far apart, and near the border points beyond the image.
TEST(DeadLeaves, PairsOfPixelsMatchTheClosedForm) {
  constexpr int kSide = 16;
  struct Pair {
    int x0, y0, lag;
  };
  const Pair pairs[] = {{7, 8, 1}, {4, 8, 8}, {7, 0, 1}, {4, 15, 8}, {0, 0, 1}, {7, 15, 8}};
  const auto differing = [&](Kind kind, Law law, const std::string& yaml, int samples) {
    FunctorGenerator<DeadLeaves> generator(of_kind(kind, law), {kSide, kSide, 3});
    const auto x = test::emit_augmented<float>(generator, yaml, 12, 0, samples);
    std::vector<int> counts;
    for (const Pair& pair : pairs) {
      int count = 0;
      for (int i = 0; i < samples; ++i) {
        const float* const image =
            x.data() + std::size_t{kSide} * kSide * 3 * static_cast<std::size_t>(i);
        const int at = 3 * (pair.y0 * kSide + pair.x0);
        count += std::equal(image + at, image + at + 3, image + at + 3 * pair.lag) ? 0 : 1;
      }
      counts.push_back(count);
    }
    return counts;
  };
  const auto p_value = [&](Kind kind, int count, int samples, double lag) {
    const double expected = 1 - same_leaf(kind, lag, 0.03 * kSide, kSide);
    return test::normal_p((count - samples * expected) /
                          std::sqrt(samples * expected * (1 - expected)));
  };
  const auto agrees = [&](Kind kind, const std::string& yaml, int samples, int scale) {
    const auto counts = differing(kind, Law::stationary, yaml, samples);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_GT(p_value(kind, counts[i], samples, scale * pairs[i].lag), test::kGate)
          << static_cast<int>(kind) << yaml << " at " << pairs[i].x0 << ", " << pairs[i].y0
          << " lag " << pairs[i].lag << ": " << counts[i];
    }
  };
  agrees(Kind::circle, "", 3000, 1);
  agrees(Kind::square, "", 1500, 1);
  agrees(Kind::circle, "augment: [zoom: [0.5, 0.5]]", 300, 2);
  agrees(Kind::square, "augment: [shift: 0.2]", 500, 1);
  const auto paper = differing(Kind::circle, Law::paper, "", 3000);
  EXPECT_LT(p_value(Kind::circle, paper[2], 3000, 1), test::kGate) << "paper: edges must differ";
  EXPECT_GT(paper[2], paper[0]);
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

// Shapes inscribed in a unit circle have the mean areas pi, 2, 2; 2 E[sin 2a] = 4 / pi, with a
// uniform over a quarter turn; and 3 / (2 pi) and 3 / pi for polygons with 3 and 4 uniform corners.
TEST(DeadLeaves, ShapesHaveTheirMeanAreas) {
  const double pi = std::numbers::pi;
  const double areas[] = {pi, 2, 2, 4 / pi, 3 / (2 * pi), 3 / pi};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> place(-1, 1);
  for (int kind = 0; kind < kLeafShapes; ++kind) {
    const Drawn drawn(of_kind(static_cast<Kind>(kind)), 5, 0, {100, 100, 3});
    constexpr int kLeaves = 40000, kPoints = 8;
    double sum = 0, squares = 0;
    for (int k = 0; k < kLeaves; ++k) {
      const auto leaf = drawn.leaf(k);
      int hits = 0;
      for (int p = 0; p < kPoints; ++p) {
        const float dx = place(random), dy = place(random);
        const bool hit = leaf.covers(leaf.radius * dx, leaf.radius * dy);
        if (hit) {
          ASSERT_LE(dx * dx + dy * dy, 1.0001f) << "the leaf must be inside its circle";
        }
        hits += hit ? 1 : 0;
      }
      const double area = 4.0 * hits / kPoints;
      sum += area;
      squares += area * area;
    }
    const double mean = sum / kLeaves;
    const double error = std::sqrt((squares / kLeaves - mean * mean) / kLeaves);
    EXPECT_GT(test::normal_p((mean - areas[kind]) / error), test::kGate)
        << kind << ": " << mean << " against " << areas[kind];
    EXPECT_NEAR(Leaf::mean_area(static_cast<Kind>(kind)), areas[kind], 1e-12);
  }
}

// Tests the law of the paper. The number of leaves until one covers a point is geometric. For
// discs, its mean follows from the distribution of radii and centres, integrated over the image.
TEST(DeadLeaves, PaperLawCoversPointsAtTheExpectedRate) {
  const double r_min = 3, r_max = 100, side = 100;
  const auto survival = [&](double d) {
    if (d <= r_min) return 1.0;
    if (d >= r_max) return 0.0;
    const double a = r_min * r_min;
    return (a / (d * d) - a / (r_max * r_max)) / (1 - a / (r_max * r_max));
  };
  for (const auto& [px, py] : {std::pair{50.f, 50.f}, std::pair{1.f, 20.f}}) {
    double rate = 0;
    constexpr int kSteps = 400;
    for (int i = 0; i < kSteps; ++i) {
      for (int j = 0; j < kSteps; ++j) {
        const double dx = (i + 0.5) * side / kSteps - px, dy = (j + 0.5) * side / kSteps - py;
        rate += survival(std::hypot(dx, dy)) / (kSteps * kSteps);
      }
    }
    const Drawn drawn(of_kind(Kind::circle, Law::paper), 6, 0, {100, 100, 3});
    constexpr int kLeaves = 150000;
    double hits = 0;
    for (int k = 0; k < kLeaves; ++k) {
      const Leaf leaf = drawn.leaf(k);
      hits += leaf.covers(px - leaf.x, py - leaf.y) ? 1 : 0;
    }
    EXPECT_GT(test::normal_p((hits - kLeaves * rate) / std::sqrt(kLeaves * rate * (1 - rate))),
              test::kGate)
        << hits / kLeaves << " against " << rate;
  }
}

TEST(DeadLeaves, MixedUsesEveryShape) {
  const Drawn drawn(of_kind(Kind::mixed), 9, 0, {32, 32, 3});
  double circles = 0;
  constexpr int kLeaves = 6000;
  for (int k = 0; k < kLeaves; ++k) circles += drawn.leaf(k).kind == Kind::circle ? 1 : 0;
  EXPECT_GT(test::normal_p((circles - kLeaves / 6.) / std::sqrt(kLeaves * 5 / 36.)), test::kGate);
}

}  // namespace
}  // namespace wellspring
