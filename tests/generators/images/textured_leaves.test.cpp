#include "generators/images/textured_leaves.h"

#include "export/sample_reader.h"
#include "generators/functor_generator.h"
#include "tests/generators/collect.h"
#include "tests/generators/golden.h"
#include "tests/generators/images/mirrored_fill.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {
namespace {

constexpr std::uint64_t kSeed = 3;
constexpr std::size_t kFillSide = 12, kFills = 19;  // more fills than one batch

/// Settings for small fills from `fill`: a generator and its parameters, as on the command line.
std::vector<ParamSetting> filled(const std::string& fill, std::vector<ParamSetting> others = {}) {
  std::vector<ParamSetting> settings = {{"fill", fill, {}},
                                        {"fills", std::to_string(kFills), {}},
                                        {"fill_side", std::to_string(kFillSide), {}},
                                        {"fill_seed", "11", {}}};
  settings.insert(settings.end(), others.begin(), others.end());
  return settings;
}

std::unique_ptr<Generator> make_filled(const std::string& fill, int size,
                                       std::vector<ParamSetting> others = {}) {
  return make_generator("dead_leaves", size, filled(fill, std::move(others)));
}

test::Samples with_plane(Generator& generator, int count, const std::string& yaml = "") {
  SampleMaking making;
  making.dense = DenseLabels::plane;
  return test::collect(generator, {kSeed, 0, static_cast<std::uint64_t>(count)}, making, yaml);
}

/// The leaf number encoded by a value of the dense labels.
std::uint32_t leaf_of(float value, int max_leaves) {
  if (value == 0) return static_cast<std::uint32_t>(max_leaves);
  const auto number = static_cast<std::uint32_t>(value) - 1;
  return (number >> 22) << LeafPlaces::kLevelShift | (number & ((1u << 22) - 1));
}

/// Parameters of a functor whose fills come from the registered generators.
DeadLeaves::Params read(const std::vector<ParamSetting>& settings) {
  DeadLeaves::Params params = DeadLeaves::table().read(settings);
  params.others = &generator_registry();
  return params;
}

/// A functor with its fills loaded.
struct Loaded {
  explicit Loaded(const std::vector<ParamSetting>& settings)
      : params(read(settings)), functor(params), tables(params) {
    tables.plan(memory);
    memory.commit();
    Stream stream(Device::cpu(), 1);
    tables.load(stream);
    tables.bind(functor);
  }

  TexturedLeaves::Params params;
  TexturedLeaves functor;
  MemoryPlan memory{Device::cpu()};
  TexturedLeaves::Tables tables;
};

/// Rebuilds every pixel from the dense labels and the fill generator's samples. Where a pixel reads
/// a fill at full resolution, the result must be exact, because the reference here uses the same
/// arithmetic. Elsewhere the reference uses double precision: a coordinate below 12 is rounded
/// twice, by at most 2^-22, and the levels and the interpolation between them add about 30 rounding
/// errors of 2^-24. Neighbouring values differ by at most the fill's range.
void expect_fills_shown(const std::string& fill, std::vector<ParamSetting> of_fill,
                        const std::string& yaml, std::vector<ParamSetting> others, int size) {
  std::string text = fill;
  for (const ParamSetting& setting : of_fill) text += ", " + setting.name + "=" + setting.value;
  others.push_back({"max_leaves", "400", {}});
  const auto generator = make_filled("[" + text + "]", size, others);
  const test::Samples samples = with_plane(*generator, 2, yaml);

  const auto maker = make_generator(fill, kFillSide, of_fill);
  const test::Samples samples_of_fill = test::collect(*maker, {11, 0, kFills});
  std::vector<test::MirroredFill> fills;
  for (std::size_t k = 0; k < kFills; ++k) {
    for (std::size_t c = 0; c < 3; ++c) fills.emplace_back(samples_of_fill.image(k), kFillSide, c);
  }
  const double slack = 3e-6 * std::max(1.f, maker->info().high - maker->info().low);
  const DeadLeaves::Params params = read(filled(fill, others));
  const TexturedLeaves functor(params);
  const std::uint64_t key = named_key(kSeed, "dead_leaves");
  const SampleShape shape = {size, size, 3};
  const auto side = static_cast<std::size_t>(size);
  std::vector<int> shown(kFills, 0);
  int whole = 0, shrunk = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const Augmentation view = draw_augmentation(test::plan_of(yaml, shape), {key, i});
    for (std::size_t p = 0; p < side * side; ++p) {
      const SampleRng rng = {key, i};
      const auto placement = functor.lie_of(rng, leaf_of(samples.plane[i * side * side + p], 400));
      const float ox = static_cast<float>(p % side) + 0.5f;
      const float oy = static_cast<float>(p / side) + 0.5f;
      float x = view.source_x(ox, oy), y = view.source_y(ox, oy);
      if (params.law == DeadLeaves::Law::paper) {
        x = std::clamp(x, 0.5f, static_cast<float>(size) - 0.5f);
        y = std::clamp(y, 0.5f, static_cast<float>(size) - 0.5f);
      }
      ++shown[placement.fill];
      const float column = placement.column(x, y), row = placement.row(x, y);
      for (std::size_t c = 0; c < 3; ++c) {
        const test::MirroredFill& read = fills[3 * placement.fill + c];
        const float value = samples.image(i)[3 * p + c];
        const double depth = read.depth_of(placement.log_step + std::log2(double{view.footprint}));
        if (depth == 0) {
          ASSERT_EQ(value, read.at_full_resolution(column, row))
              << fill << " " << yaml << ", pixel " << p << " of " << i;
        } else {
          ASSERT_NEAR(value, read.at_depth(column, row, depth), slack)
              << fill << " " << yaml << ", pixel " << p << " of " << i;
        }
        ++(depth == 0 ? whole : shrunk);
      }
    }
  }
  EXPECT_EQ(std::ranges::count(shown, 0), 0) << "every fill must appear";
  EXPECT_GT(std::min(whole, shrunk), 500) << "both ways to read fills must appear";
}

TEST(TexturedLeaves, ShowSamplesOfTheFillGenerator) {
  expect_fills_shown("textures", {{"palette", "colour", {}}}, "", {}, 40);
  expect_fills_shown("textures", {}, "augment: [rotate: 40, zoom: [0.7, 1.4]]", {}, 61);
  expect_fills_shown("noise", {}, "augment: [zoom: [0.3, 0.5]]",
                     {{"fill_scale_low", "0.125", {}}, {"fill_scale_high", "64", {}}}, 33);
  expect_fills_shown("noise", {}, "augment: [shift: 0.4]", {{"law", "paper", {}}}, 150);
}

class AnyImages : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> image_names() {
  std::vector<std::string> names;
  for (const GeneratorEntry& entry : generator_registry()) {
    if (entry.kind == SampleKind::image) names.push_back(entry.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Registry, AnyImages, ::testing::ValuesIn(image_names()),
                         [](const auto& test) { return test.param; });

TEST_P(AnyImages, FillsLeaves) {
  expect_fills_shown(GetParam(), test::read_golden(GetParam()).quick, "", {}, 48);
}

TEST_P(AnyImages, GivesEqualBytesInAnyBatch) {
  std::string fill = "[" + GetParam();
  for (const ParamSetting& setting : test::read_golden(GetParam()).quick) {
    fill += ", " + setting.name + "=" + setting.value;
  }
  const auto generator = make_filled(fill + "]", 24);
  const auto all = test::collect(*generator, {kSeed, 4, 7}, {Device::cpu(), 7, 1});
  EXPECT_EQ(test::collect(*generator, {kSeed, 4, 7}, {Device::cpu(), 3, 2}).x, all.x);
  const auto again = make_filled(fill + "]", 24);
  const auto last = test::collect(*again, {kSeed, 10, 1});
  EXPECT_TRUE(std::equal(last.x.begin(), last.x.end(), all.image(6)));
  const SampleInfo& info = generator->info();
  EXPECT_EQ(info.low, make_generator(GetParam(), 8)->info().low);
  for (const float value : all.x) {
    ASSERT_GE(value, info.low);
    ASSERT_LE(value, info.high);
  }
}

TEST(TexturedLeaves, HaveTheSameLeavesAsThePlainGenerator) {
  const auto textured = make_filled("textures", 50), plain = make_generator("dead_leaves", 50);
  for (const char* const yaml : {"", "augment: [rotate: 40, zoom: [0.5, 1.4]]"}) {
    const auto a = with_plane(*textured, 5, yaml), b = with_plane(*plain, 5, yaml);
    EXPECT_EQ(a.plane, b.plane);
    EXPECT_EQ(a.label, b.label);
    EXPECT_EQ(a.latents, b.latents);
    EXPECT_NE(a.x, b.x);
  }
}

TEST(TexturedLeaves, FillsDependOnlyOnTheirOwnSeed) {
  const auto shown = [](const std::string& fill_seed, std::uint64_t seed) {
    // The image shows a single pixel of a fill.
    const auto generator = make_generator("dead_leaves", 1,
                                          {{"fill", "noise", {}},
                                           {"fill_seed", fill_seed, {}},
                                           {"fill_scale_low", "64", {}},
                                           {"fill_scale_high", "64", {}}});
    return test::collect(*generator, {seed, 0, 60}).x;
  };
  EXPECT_NE(shown("11", 1), shown("11", 2));
  EXPECT_NE(shown("11", 1), shown("12", 1));
}

TEST(TexturedLeaves, ReadExactPixelsMirroredBeyondTheBorder) {
  const Loaded loaded(filled("noise"));
  const auto maker = make_generator("noise", kFillSide);
  const test::Samples fills = test::collect(*maker, {11, 0, kFills});
  const auto side = static_cast<float>(kFillSide);
  const auto read = [&](std::uint32_t fill, float column, float row) {
    return loaded.functor.fills().read(loaded.functor.fills().cut(fill, 0), column, row);
  };
  for (std::size_t k = 0; k < kFills; ++k) {
    for (std::size_t p = 0; p < kFillSide * kFillSide; ++p) {
      const float column = static_cast<float>(p % kFillSide) + 0.5f;
      const float row = static_cast<float>(p / kFillSide) + 0.5f;
      for (const float x : {column, -column, 2 * side - column, column + 4 * side}) {
        const Rgb view = read(static_cast<std::uint32_t>(k), x, row - 2 * side);
        ASSERT_EQ(view.r, fills.image(k)[3 * p]);
        ASSERT_EQ(view.g, fills.image(k)[3 * p + 1]);
        ASSERT_EQ(view.b, fills.image(k)[3 * p + 2]);
      }
    }
  }
  const Rgb horizon = read(0, math::kInfinity, -math::kInfinity);
  EXPECT_EQ(horizon.r, fills.image(0)[0]) << "a coordinate at infinity must show the first pixel";
}

// A leaf that is not shrunk reads only the fill itself, so all other levels are set to NaN here.
TEST(TexturedLeaves, ReadOnlyTheFillItselfAtFullScale) {
  const Loaded loaded(filled("noise", {{"fill_scale_low", "1", {}}}));
  const FillLevels& fills = loaded.functor.fills();
  std::vector<float> alone(static_cast<std::size_t>(fills.elements()), NAN);
  const float* const base = fills.cut(0, 0).fine;
  std::copy_n(base, fills.elements(0), alone.begin());
  FillLevels without = fills;
  without.bind(alone.data());
  for (std::uint32_t leaf = 0; leaf < 1000; ++leaf) {
    const auto placement = loaded.functor.lie_of({kSeed, 9}, leaf);
    const float column = placement.column(7.5f, 30.5f), row = placement.row(7.5f, 30.5f);
    const Rgb a = fills.read(fills.cut(placement.fill, placement.log_step), column, row);
    const Rgb b = without.read(without.cut(placement.fill, placement.log_step), column, row);
    ASSERT_TRUE(a.r == b.r && a.g == b.g && a.b == b.b) << leaf;
  }
}

TEST(TexturedLeaves, RoundToBf16) {
  const auto generator = make_filled("textures", 37);
  const std::string yaml = "augment: [rotate: 20, hue: 0.1]";
  const auto exact = test::emit_augmented<float>(*generator, yaml, kSeed, 0, 3);
  const auto rounded = test::emit_augmented<bf16>(*generator, yaml, kSeed, 0, 3);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_EQ(static_cast<float>(rounded[i]), static_cast<float>(bf16(exact[i])));
  }
}

TEST(TexturedLeaves, PlanTheMemoryOfFills) {
  const auto generator = make_filled("textures", 20);
  MemoryPlan memory(Device::cpu());
  generator->plan(memory, 4);
  const auto found = std::ranges::find_if(memory.reservations(), [](const Reservation& block) {
    return block.group == "dead_leaves" && block.name == "fills";
  });
  ASSERT_NE(found, memory.reservations().end());
  EXPECT_EQ(found->bytes, kFills * (12 * 12 + 6 * 6 + 3 * 3 + 1) * 3 * sizeof(float));
  EXPECT_EQ(found->persistence, Persistence::none);
}

TEST(TexturedLeaves, IncludeTheFillGeneratorsVersion) {
  const auto generator = make_filled("textures", 20);
  const auto identity = GeneratorReader(*generator, {0, 0, 1}).identity();
  EXPECT_EQ(identity["generator"], "dead_leaves");
  EXPECT_EQ(identity["uses"]["textures"]["generator_version"], find_generator("textures").version);
  const auto plain = make_generator("dead_leaves", 20);
  EXPECT_FALSE(GeneratorReader(*plain, {0, 0, 1}).identity().contains("uses"));
}

TEST(TexturedLeaves, HaveTheirOwnVersion) {
  EXPECT_EQ(make_generator("dead_leaves", 20)->info().version, 3);
  EXPECT_EQ(make_filled("textures", 20)->info().version, 4) << "version 4 added the lower levels";
}

TEST(TexturedLeaves, ReportNotesOfBothGenerators) {
  const auto generator = make_filled("[dead_leaves, max_leaves=7]", 20, {{"max_leaves", "9", {}}});
  MemoryPlan memory(Device::cpu());
  generator->plan(memory, 1);
  ASSERT_EQ(generator->notes().size(), 2u);
  EXPECT_NE(generator->notes()[0].find("7 leaves"), std::string::npos);
  EXPECT_NE(generator->notes()[1].find("9 leaves"), std::string::npos);
}

TEST(TexturedLeaves, RefuseUnsuitableFills) {
  const auto refused = [](const std::string& fill, std::vector<ParamSetting> others = {}) {
    others.push_back({"fill", fill, {}});
    return test::message_of(ErrorKind::config, [&] {
      make_generator("dead_leaves", 32, others, {"a.yaml", 4, 2});
    });
  };
  using test::expect_parts;
  expect_parts(refused("texture"),
               {"a.yaml:4:2", "dead_leaves: fill", "unknown generator 'texture'", "'textures'"});
  expect_parts(refused("rambo"), {"no images come from 'rambo'", "filled with images", "textures"});
  EXPECT_EQ(refused("rambo").find("ginkgo"), std::string::npos) << "it makes no images";
  expect_parts(refused("[textures, kind]"), {"'kind' is not key=value", "kind=perlin"});
  expect_parts(refused("[textures, knid=perlin]"), {"a.yaml:4:2", "fill", "'knid'", "'kind'"});
  expect_parts(refused("[textures, kind=perl]"), {"fill", "'perl'", "perlin"});
  expect_parts(refused("[dead_leaves, fill=noise]"), {"fills, too", "plain colours"});
  expect_parts(refused("noise", {{"fills", "4096", {}}, {"fill_side", "256", {}}}),
               {"4096 fills of 256 x 256", "768.0 MiB", "fills: 1024"});
  EXPECT_NO_THROW(make_generator("dead_leaves", 32,
                                 {{"fill", "noise"}, {"fills", "1024"}, {"fill_side", "256"}}));
  expect_parts(refused("noise", {{"fill_side", "1", {}}}), {"fill_side", "[2, 1024]"});
  expect_parts(refused("noise", {{"fill_scale_low", "3", {}}}),
               {"fill_scale_low = 3", "fill_scale_high = 2"});
}

}  // namespace
}  // namespace wellspring
