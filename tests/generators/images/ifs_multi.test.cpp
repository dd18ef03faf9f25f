#include "generators/images/ifs_multi.h"

#include "export/samples.h"
#include "generators/generator.h"
#include "kernels/emission/emitter.h"
#include "tests/generators/images/canvas_places.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_batch.h"
#include "tests/support/statistics.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace wellspring {
namespace {

constexpr int kClasses = 6;

const ifs::CategoryTable& six() {
  static const ifs::CategoryTable table = ifs::make_svd_categories({}, kClasses, 1);
  return table;
}

IfsMulti with_six(IfsMulti::Params params = {}) {
  params.categories = kClasses;
  IfsMulti functor(params);
  functor.read({six().categories.data(), six().windows.data(), six().jitters.data()});
  return functor;
}

struct Painted {
  IfsMulti functor;
  TruthOf<IfsMulti> truth;
  IfsMulti::Scene scene;
  std::vector<std::uint32_t> cells;

  Painted(const IfsMulti& f, std::uint64_t sample, int side) : functor(f) {
    functor.draw({{3, sample}, {}, {side, side, 3}}, scene, truth);
    cells.resize(static_cast<std::size_t>(functor.cells({side, side, 3})));
    SoloTeam team({nullptr, 0, 0});
    functor.paint(team, scene, {0, 1}, cells.data());
    functor.settle(team, scene, cells.data());
  }
  Rgb at(int x, int y) const { return functor.texel(scene, cells.data(), x, y); }
  const IfsMulti::Instance& instance(int i) const { return scene.instance[i]; }
};
bool equal(const Rgb& a, const Rgb& b) {
  return a.r == b.r && a.g == b.g && a.b == b.b;
}

// A column of `target` for each class of the description, 1 where a fractal is of it; the label is
// the class of the one in front.
TEST(IfsMulti, TargetsAreTheClassesOfTheFractals) {
  const auto generator =
      make_generator("ifs_multi", 16, {{"categories", "7", {}}, {"points", "64", {}}});
  ASSERT_EQ(generator->layout().targets, 7);
  ASSERT_EQ(generator->info().targets.size(), 7u);
  EXPECT_EQ(generator->info().targets[6].name, generator->info().classes[6]);
  SampleMaker maker(*generator);
  std::vector<double> counts(5);
  int repeated = 0;
  maker.make({4, 0, 2000}, [&](const HostSamples& samples) {
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row) {
      const float* const latent =
          samples.latents().data() + row * static_cast<std::size_t>(samples.rows.layout.latents);
      const int count = static_cast<int>(latent[0]);
      std::set<int> classes;
      for (int i = 0; i < 5; ++i) {
        const float* const own = latent + IfsMulti::kImageLatents + i * IfsMulti::kInstanceLatents;
        if (i < count) classes.insert(static_cast<int>(own[0]));
        if (i >= count) {
          EXPECT_TRUE(
              std::all_of(own, own + IfsMulti::kInstanceLatents, [](float v) { return v == 0; }));
        }
        if (i == count - 1) {
          EXPECT_EQ(samples.label()[row], static_cast<int>(own[0]));
        }
      }
      for (int k = 0; k < 7; ++k) {
        ASSERT_EQ(samples.target()[row * 7 + static_cast<std::size_t>(k)],
                  classes.contains(k) ? 1.0f : 0.0f);
      }
      counts[static_cast<std::size_t>(count - 1)] += 1;
      repeated += static_cast<int>(classes.size()) < count ? 1 : 0;
    }
  });
  EXPECT_GT(test::uniform_chi_square_p(counts), test::kGate);
  EXPECT_GT(repeated, 100) << "classes come twice";
}

// Columns beyond the generator's own, as where another source has more, are 0.
TEST(IfsMulti, TargetsOfAWiderBatchEndWithZeros) {
  SampleLayout layout = SampleLayout::image(8, 8, 3);
  layout.targets = kClasses + 3;
  const test::HostBatch batch(4, layout);
  const std::vector<Slot> slots = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 0, 2}, {3, 3, 0, 3}};
  Emitter<IfsMulti> stage;
  const IfsMulti functor = with_six();
  MemoryPlan memory(Device::cpu());
  stage.plan(memory, "test", 4, functor, layout.shape());
  memory.commit();
  EmitCall call;
  call.slots = slots.data();
  call.batch = batch.view();
  stage.emit(test::TeamLauncher{1}, "test", functor, layout.shape(), call);
  for (std::size_t row = 0; row < 4; ++row) {
    const float* const own = batch.view().target + row * (kClasses + 3);
    const auto ones = std::count(own, own + kClasses, 1.0f);
    EXPECT_EQ(ones > 0, row != 1) << "a row of another source is left alone";
    for (int k = kClasses; k < kClasses + 3 && row != 1; ++k) EXPECT_EQ(own[k], 0);
  }
}

// Each place is evenly drawn, squares hang over the edge by half their side at most, and sides are
// those of the sizes.
TEST(IfsMulti, SquaresLieAsPublished) {
  constexpr int kSide = 200;
  const IfsMulti functor = with_six();
  std::vector<double> classes(kClasses), across(20), sides(9);
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    TruthOf<IfsMulti> truth;
    IfsMulti::Scene scene;
    functor.draw({{3, sample}, {}, {kSide, kSide, 3}}, scene, truth);
    ASSERT_EQ(scene.grid, kSide / 2);
    for (int i = 0; i < scene.count; ++i) {
      const IfsMulti::Instance& one = scene.instance[i];
      ASSERT_TRUE(one.side >= 30 && one.side < 120) << "0.15 and 0.6 of 200";
      ASSERT_TRUE(one.left >= -(one.side / 2) && one.left < kSide - one.side / 2);
      ASSERT_TRUE(one.top >= -(one.side / 2) && one.top < kSide - one.side / 2);
      const float* const latents =
          truth.latents + IfsMulti::kImageLatents + i * IfsMulti::kInstanceLatents;
      EXPECT_FLOAT_EQ(latents[2] * kSide,
                      static_cast<float>(one.left) + 0.5f * static_cast<float>(one.side));
      EXPECT_EQ(static_cast<int>(latents[4] * kSide), one.side);
      classes[static_cast<std::size_t>(truth.present[i])] += 1;
      across[static_cast<std::size_t>((one.left + one.side / 2) / 10)] += 1;
      sides[static_cast<std::size_t>((one.side - 30) / 10)] += 1;
    }
  }
  EXPECT_GT(test::uniform_chi_square_p(classes), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(across), test::kGate);
  EXPECT_GT(test::uniform_chi_square_p(sides), test::kGate);
}

// Where squares do not overlap, a fractal is its own; the first hides nothing of the last.
TEST(IfsMulti, TheLastFractalHidesThoseBefore) {
  constexpr int kSide = 48;
  IfsMulti::Params params;
  params.instances_low = params.instances_high = 4;
  params.size_low = 0.5f;
  params.size_high = 1;
  params.background = Ifs::Background::black;
  int hidden = 0;
  for (std::uint64_t sample = 0; sample < 8; ++sample) {
    const Painted all(with_six(params), sample, kSide);
    // The same scene by painter's order: a fractal after another, each over what is there.
    std::vector<Rgb> canvas(kSide * kSide);
    for (int i = 0; i < all.scene.count; ++i) {
      Painted one = all;
      for (int j = 0; j < all.scene.count; ++j) {
        if (j != i) one.scene.instance[j].side = 0;
      }
      for (int p = 0; p < kSide * kSide; ++p) {
        const Rgb c = one.at(p % kSide, p / kSide);
        Rgb& seen = canvas[static_cast<std::size_t>(p)];
        const bool lit = c.r > 0 || c.g > 0 || c.b > 0;
        hidden += lit && (seen.r > 0 || seen.g > 0 || seen.b > 0) ? 1 : 0;
        if (lit) seen = c;
      }
    }
    for (int p = 0; p < kSide * kSide; ++p) {
      ASSERT_TRUE(equal(all.at(p % kSide, p / kSide), canvas[static_cast<std::size_t>(p)]));
    }
  }
  EXPECT_GT(hidden, 100);
}

// Fractals of one class differ in their random points: each has its own random numbers. Every point
// of every fractal falls on its grid or at most a cell beside it.
TEST(IfsMulti, FractalsHavePointsOfTheirOwn) {
  constexpr int kSide = 64;
  IfsMulti::Params params;
  params.instances_low = params.instances_high = 2;
  params.jitters = 0;
  int same_class = 0;
  for (std::uint64_t sample = 0; sample < 200; ++sample) {
    const Painted painted(with_six(params), sample, kSide);
    const std::size_t stride = (kSide / 2 + 2) * (kSide / 2 + 2);
    std::vector<std::vector<std::uint32_t>> sorted;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto first = painted.cells.begin() + static_cast<std::ptrdiff_t>(i * stride);
      sorted.emplace_back(first, first + static_cast<std::ptrdiff_t>(stride));
      std::uint64_t points = 0;
      for (const std::uint32_t count : sorted.back()) points += count;
      // The box is that of 2^15 points; a few of 8163 lie beyond it by more than a cell.
      EXPECT_GE(points, static_cast<std::uint64_t>(painted.scene.points) * 99 / 100);
      std::sort(sorted.back().begin(), sorted.back().end());
    }
    EXPECT_EQ(painted.scene.points, 8163) << "100,000 (32 / 112)^2";
    if (painted.truth.present[0] != painted.truth.present[1]) continue;
    ++same_class;
    EXPECT_NE(sorted[0], sorted[1]) << "counts of the same points, however they are turned";
  }
  EXPECT_GT(same_class, 10);
}

// As OpenCV stretches: pixel centres, clamped at the edges; from 24 cells to the whole image.
TEST(IfsMulti, GridsAreStretchedBilinearly) {
  constexpr int kSide = 48;
  IfsMulti::Params params;
  params.instances_low = params.instances_high = 1;
  params.size_low = params.size_high = 1;
  params.background = Ifs::Background::black;
  const Painted painted(with_six(params), 5, kSide);
  const IfsMulti::Instance& one = painted.instance(0);
  ASSERT_EQ(one.side, kSide);
  const auto texel = [&](int x, int y) -> Rgb {
    x = std::clamp(x, 0, 23), y = std::clamp(y, 0, 23);
    const std::uint32_t n =
        ifs::covering(painted.cells.data() + (y + 1) * 26 + x + 1, 26, one.style.mask);
    const auto largest = static_cast<float>(painted.cells[26 * 26]);
    return n == 0 ? Rgb{} : ifs::count_colour(one.style, static_cast<float>(n) / largest);
  };
  int lit = 0;
  for (int y = std::max(0, one.top); y < std::min(kSide, one.top + kSide); ++y) {
    for (int x = std::max(0, one.left); x < std::min(kSide, one.left + kSide); ++x) {
      // Pixel centre (i + 1/2) / 2 - 1/2: a quarter or three quarters between cells.
      const double u = (x - one.left + 0.5) / 2 - 0.5, v = (y - one.top + 0.5) / 2 - 0.5;
      const int i = static_cast<int>(std::floor(u)), j = static_cast<int>(std::floor(v));
      const float s = static_cast<float>(u - i), t = static_cast<float>(v - j);
      const float want = (texel(i, j).g * (1 - s) + texel(i + 1, j).g * s) * (1 - t) +
                         (texel(i, j + 1).g * (1 - s) + texel(i + 1, j + 1).g * s) * t;
      // Some eight roundings of numbers up to 1.
      ASSERT_NEAR(painted.at(x, y).g, want, 8 * 0x1p-24f);
      lit += want > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(lit, 100);
}

// Teams of 7; cells in scratch and in the plan, as seen and through a view.
TEST(IfsMulti, CanvasesInScratchAndInThePlanMakeTheSameImages) {
  IfsMulti::Params params;
  params.walkers = 300;
  test::expect_equal_in_both_places(with_six(params), kClasses, std::size_t{1} << 20,
                                    [](const test::HostBatch&) {});
}

TEST(IfsMulti, LimitsInTheWrongOrderAreRefused) {
  IfsMulti::Params params;
  params.instances_low = 6;
  test::expect_parts(
      test::message_of(ErrorKind::config, [&] { IfsMulti{params}; }),
      {"ifs_multi: instances_low = 6 is larger than instances_high = 5", "5 or less"});
  params = {};
  params.size_high = 0.1f;
  test::expect_parts(test::message_of(ErrorKind::config, [&] { IfsMulti{params}; }),
                     {"size_low = 0.15 is larger than size_high = 0.1"});
  params = {};
  params.maps_low = 5;
  test::expect_parts(test::message_of(ErrorKind::config, [&] { IfsMulti{params}; }),
                     {"maps_low = 5 is larger than maps_high = 4"});
}

}  // namespace
}  // namespace wellspring
