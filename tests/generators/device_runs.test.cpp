// A GPU splits images into shorter pixel runs and smaller bands than a CPU does. Here the host
// splits them as a GPU does, and the bytes must not change.
#define WS_RUN_LENGTH 8
#include "generators/images/noise.h"
#include "generators/images/shapes.h"
#include "generators/images/textured_leaves.h"
#include "generators/images/textures.h"
#include "kernels/emission/emitter.h"
#include "tests/generators/collect.h"
#include "tests/generators/team_test.h"
#include "tests/support/host_batch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace wellspring {
namespace {

/// A one-thread team with its own type, so that the code for this team (runs of 8 pixels, the
/// device's code path) is compiled only here.
class ShortRunTeam : public SoloTeam {
 public:
  static constexpr bool kIsAlone = false;
  using SoloTeam::SoloTeam;
};

/// Splits the work as a GPU does and runs it on the host.
struct ShortRunLauncher {
  Device device() const { return Device::cuda(0); }
  template <class F>
  void map(std::string_view, std::int64_t n, const F& f) const {
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  template <class F>
  void league(std::string_view, std::int64_t n, TeamShape shape, const F& f) const {
    std::vector<std::byte> scratch(shape.scratch_bytes);
    for (std::int64_t i = 0; i < n; ++i) {
      ShortRunTeam team({scratch.data(), scratch.size(), 0});
      f(team, i);
    }
  }
};

template <class F>
void expect_equal_runs(const std::vector<ParamSetting>& settings, int size,
                       const std::string& yaml) {
  constexpr std::uint64_t kSeed = 21, kFirst = 3;
  constexpr std::int64_t kCount = 3;
  // The registered generator is compiled with the host's run length.
  typename F::Params params = F::table().read(settings);
  if constexpr (requires { params.others; }) params.others = &generator_registry();
  const std::string name = F::describe(params).name;
  const auto generator = make_generator(name, size, settings);
  const auto host = test::emit_augmented<float>(*generator, yaml, kSeed, kFirst, kCount);

  TableCache cache("");
  const test::PlannedFunctor<F> planned(params, generator->layout().shape(), kCount, cache);
  std::vector<Slot> slots;
  for (std::uint32_t i = 0; i < kCount; ++i) slots.push_back({kFirst + i, kFirst + i, 0, i});
  const test::HostBatch batch(kCount, generator->layout());
  planned.emit(ShortRunLauncher{},
               {slots.data(), 0, named_key(kSeed, name),
                test::plan_of(yaml, generator->layout().shape()), batch.view()});
  EXPECT_TRUE(std::ranges::equal(batch.x(), host)) << size;
}

template <class F>
void expect_equal_runs(const std::vector<ParamSetting>& settings) {
  for (const int size : {224, 41, 5}) {
    for (const char* const yaml :
         {"", "augment: [perspective: {probability: 1}, hue: 0.2, solarise: 0.4]",
          "augment: [rotate: 30, zoom: [0.8, 1.5], saturation: 0.5, erase: 11]\n"
          "normalise: {mean: [0, 0.4, 0]}"}) {
      expect_equal_runs<F>(settings, size, yaml);
    }
  }
}

TEST(DeviceRuns, MatchTheHostByteForByte) {
  expect_equal_runs<Noise>({});
  expect_equal_runs<Shapes>({{"texture", "any", {}}});
  expect_equal_runs<Textures>({});
  // max_leaves is not a multiple of the number of leaves per batch, and some images reach it.
  expect_equal_runs<DeadLeaves>({{"kind", "mixed", {}}, {"max_leaves", "700", {}}});
  expect_equal_runs<TexturedLeaves>({{"fill", "textures", {}}, {"fills", "9", {}}});
}

TEST(DeviceRuns, HaveLargerBandsInLargeBatches) {
  const auto bands = [](std::int64_t rows, int most) {
    return detail::bands_for(Device::cuda(0), {224, 224, 3}, rows, most).count();
  };
  EXPECT_EQ(bands(2048, 32768), 2);  // 4096 teams
  EXPECT_EQ(bands(600, 32768), 4);   // 2400
  EXPECT_EQ(bands(128, 32768), 7);   // never smaller than the default
  EXPECT_EQ(bands(100'000, detail::kDeviceBandPixels), 7);
  EXPECT_EQ(detail::bands_for(Device::cpu(), {224, 224, 3}, 128, 32768).count(), 1);
}

TEST(DeviceRuns, DetermineTheTeamSize) {
  const auto members = [](SampleShape shape) {
    return detail::members_of(detail::bands_for(Device::cuda(0), shape));
  };
  EXPECT_EQ(members({224, 224, 3}), 256);  // bands of 36 rows, 1008 runs
  EXPECT_EQ(members({32, 32, 3}), 128);    // one band, no taller than the image
  EXPECT_EQ(members({2, 3, 3}), 32);
  EXPECT_EQ(members({1, 100'000, 3}), 256);
}

}  // namespace
}  // namespace wellspring
