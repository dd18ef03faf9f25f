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

// `target` has one column per class: 1 if a fractal of that class is present. The label is the
// class of the topmost fractal.
TEST(IfsMulti, TargetsNameTheClassesOfTheFractals) {
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
  EXPECT_GT(repeated, 100) << "some pictures must show a class twice";
}

// Extra columns (if another source has more classes) are 0.
TEST(IfsMulti, PadsTargetsOfAWiderBatchWithZeros) {
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
    EXPECT_EQ(ones > 0, row != 1) << "rows of other sources must stay unchanged";
    for (int k = kClasses; k < kClasses + 3 && row != 1; ++k) EXPECT_EQ(own[k], 0);
  }
}

// Uses teams of 7 threads, with cells in scratch and in planned memory, directly and through a
// view.
TEST(IfsMulti, GivesEqualImagesInScratchAndInThePlan) {
  IfsMulti::Params params;
  params.walkers = 300;
  test::expect_equal_in_both_places(with_six(params), kClasses, std::size_t{1} << 20,
                                    [](const test::HostBatch&) {});
}

TEST(IfsMulti, RefusesLimitsInTheWrongOrder) {
  const auto refused = [](auto change) {
    IfsMulti::Params params;
    change(params);
    return test::message_of(ErrorKind::config, [&] { IfsMulti{params}; });
  };
  test::expect_parts(
      refused([](auto& p) { p.instances_low = 6; }),
      {"ifs_multi: instances_low = 6 is larger than instances_high = 5", "5 or less"});
  test::expect_parts(refused([](auto& p) { p.size_high = 0.1f; }),
                     {"size_low = 0.15 is larger than size_high = 0.1"});
  test::expect_parts(refused([](auto& p) { p.maps_low = 5; }),
                     {"maps_low = 5 is larger than maps_high = 4"});
}

}  // namespace
}  // namespace wellspring
