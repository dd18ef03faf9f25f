// Tests the forms canvas, field and set, each with a minimal functor.
#include "tests/kernels/emission_forms.h"

#include "kernels/emission/emitter.h"
#include "kernels/runtime/step_graph.h"
#include "tests/support/augmentation.h"
#include "tests/support/host_batch.h"
#include "tests/support/team_launcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace wellspring::test {
namespace {

std::vector<Slot> slots_of(const std::vector<std::uint64_t>& samples) {
  std::vector<Slot> slots;
  for (const std::uint64_t sample : samples) {
    slots.push_back({sample, sample, 0, static_cast<std::uint32_t>(slots.size())});
  }
  return slots;
}

// ---- canvas -------------------------------------------------------------------------------------

/// Emits two samples of a canvas. The cells are in scratch memory if they fit in `most_scratch`.
std::vector<float> dust(const Dust& functor, std::size_t most_scratch, int members,
                        CanvasPlace expected) {
  const SampleShape shape = {11, 13, 3};
  const auto slots = slots_of({7, 8});
  MemoryPlan memory(Device::cpu());
  CanvasEmitter<Dust> stage;
  stage.plan(memory, "test", 2, functor, shape, most_scratch);
  memory.commit();
  EXPECT_EQ(stage.place(), expected);
  EmitCall call;
  call.slots = slots.data();
  call.seed = 3;
  call.augmentation = test::plan_of("augment: [flip_x: 1]", shape);
  const HostBatch batch(2, SampleLayout::image(shape));
  call.batch = batch.view();
  for (int twice = 0; twice < 2; ++twice) {  // cells must start at 0 each time
    stage.emit(TeamLauncher{members}, "dust", functor, shape, call);
  }
  return {batch.x().begin(), batch.x().end()};
}

TEST(Canvas, BytesDoNotDependOnMemoryOrTeamSize) {
  const auto expected = dust(Dust{}, kPortableScratchBytes, 1, CanvasPlace::scratch);
  EXPECT_EQ(dust(Dust{}, kPortableScratchBytes, 32, CanvasPlace::scratch), expected);
  for (const int painters : {1, 3}) {
    for (const int members : {1, 7, 32}) {
      EXPECT_EQ(dust({500, painters}, 0, members, CanvasPlace::memory), expected)
          << painters << " painters of size " << members;
    }
  }
}

TEST(Canvas, HoldsTheScatteredPoints) {
  const auto x = dust(Dust{}, kPortableScratchBytes, 1, CanvasPlace::scratch);
  for (std::size_t sample = 0; sample < 2; ++sample) {
    std::vector<float> count(11 * 13), last(11 * 13);
    const Dust::Scene scene = {{3, 7 + sample}, 13, 11};
    for (int i = 0; i < 500; ++i) {
      const auto cell = static_cast<std::size_t>(Dust::place(scene, i));
      count[cell] += 1;
      last[cell] = static_cast<float>(i + 1);
    }
    for (std::size_t p = 0; p < 11 * 13; ++p) {
      const std::size_t mirrored = p / 13 * 13 + 12 - p % 13;
      ASSERT_EQ(x[(sample * 11 * 13 + p) * 3], count[mirrored]);
      ASSERT_EQ(x[(sample * 11 * 13 + p) * 3 + 1], last[mirrored]);
    }
  }
}

// Each of the 11 x 13 cells takes two words; the drawn scene needs memory, too. A limit just below
// this total is not enough.
TEST(Canvas, UsesScratchIfItFits) {
  const SampleShape shape = {11, 13, 3};
  const std::size_t needed = 2 * 11 * 13 * 4 + 4 + detail::drawn_scratch<Dust>();
  for (const std::size_t limit : {needed - 1, needed}) {
    MemoryPlan memory(Device::cpu());
    CanvasEmitter<Dust> stage;
    stage.plan(memory, "test", 2, Dust{}, shape, limit);
    const bool fits = limit == needed;
    EXPECT_EQ(stage.place(), fits ? CanvasPlace::scratch : CanvasPlace::memory);
    EXPECT_EQ(memory.reservations().size(), fits ? 1u : 2u);
  }
}

// ---- field --------------------------------------------------------------------------------------

class HeatRun {
 public:
  explicit HeatRun(std::int64_t rows, int members = 1) : members_(members), rows_(rows) {
    emitter_.plan(memory_, "test", rows, functor_);
    memory_.commit();
  }

  /// Returns all values of the samples.
  std::vector<float> make(const std::vector<std::uint64_t>& samples, std::uint64_t seed = 3) {
    const auto slots = slots_of(samples);
    const HostBatch batch(rows_, SampleLayout::image(shape()));
    EmitCall call;
    call.slots = slots.data();
    call.seed = seed;
    call.batch = batch.view();
    call.batch.size = static_cast<std::int64_t>(samples.size());
    emitter_.emit(TeamLauncher{members_}, "heat", functor_, shape(), call);
    const auto values = static_cast<std::ptrdiff_t>(samples.size()) * shape().elements();
    return {batch.x().begin(), batch.x().begin() + values};
  }
  static SampleShape shape() { return {Heat::kSide, Heat::kSide, 3}; }

 private:
  Heat functor_;
  int members_;
  std::int64_t rows_;
  MemoryPlan memory_{Device::cpu()};
  FieldEmitter<Heat> emitter_;
};

/// The frame of one sample, computed by stepping its chain from the start.
std::vector<float> expected_frame(std::uint64_t sample, std::uint64_t seed = 3) {
  const Heat heat;
  const auto at = heat.when.locate(sample);
  const SampleRng rng{seed, at.chain};
  SoloTeam team({});
  std::vector<float> from(64), to(64);
  Philox4 shared;
  HeatField{}.begin(team, HeatField{}.chain(rng), rng, 8, from.data(), shared);
  for (int step = 0; step < heat.when.steps_of(at.frame); ++step) {
    HeatField{}.step(team, HeatField{}.chain(rng), 8, from.data(), to.data());
    std::swap(from, to);
  }
  std::vector<float> x;
  for (const float value : from) x.insert(x.end(), 3, value);
  return x;
}

std::vector<float> expected_frames(const std::vector<std::uint64_t>& samples) {
  std::vector<float> all;
  for (const std::uint64_t sample : samples) {
    const auto frame = expected_frame(sample);
    all.insert(all.end(), frame.begin(), frame.end());
  }
  return all;
}

TEST(Field, FramesDoNotDependOnOrderOrTeamSize) {
  for (const int members : {1, 7, 32}) {
    HeatRun run(8, members);
    // Samples in order, in reverse order, repeated within a batch, and far ahead.
    for (const std::vector<std::uint64_t>& samples :
         std::vector<std::vector<std::uint64_t>>{{0, 1, 2, 3, 4, 5, 6, 7},
                                                 {8, 9, 10, 11, 12, 13, 14, 15},
                                                 {3, 2, 1, 0},
                                                 {40, 40, 41, 40, 16},
                                                 {1000003, 17, 1000008, 5}}) {
      EXPECT_EQ(run.make(samples), expected_frames(samples)) << members << " members";
    }
  }
}

TEST(Field, FramesDoNotDependOnResidentState) {
  HeatRun resident(4);
  for (std::uint64_t first = 0; first < 60; first += 4) {
    const std::vector<std::uint64_t> samples = {first, first + 1, first + 2, first + 3};
    HeatRun fresh(4);  // as after a resume
    ASSERT_EQ(resident.make(samples), fresh.make(samples)) << first;
  }
}

TEST(Field, ChainsDependOnTheSeed) {
  HeatRun run(2);
  const auto first = run.make({10, 11}, 3);
  const auto other = run.make({10, 11}, 4);
  EXPECT_NE(other, first);
  EXPECT_EQ(run.make({10, 11}, 3), first);
}

// ---- sets ---------------------------------------------------------------------------------------

template <class F>
std::unique_ptr<HostBatch> spray(const F& functor, const std::vector<std::uint64_t>& samples,
                                 int members) {
  const auto slots = slots_of(samples);
  SampleLayout layout = functor.layout();
  layout.latents = 2;  // simulates another source with more latents
  layout.targets = 3;
  auto batch = std::make_unique<HostBatch>(static_cast<std::int64_t>(samples.size()), layout);
  EmitCall call;
  call.slots = slots.data();
  call.seed = 9;
  call.batch = batch->view();
  Emitter<F>{}.emit(TeamLauncher{members}, "spray", functor, layout.shape(), call);
  return batch;
}

std::vector<std::uint64_t> ids(std::uint64_t count) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < count; ++i) samples.push_back(100 + i);
  return samples;
}

TEST(Sets, HoldTheirItemsFollowedByZeros) {
  const Spray functor;
  const auto batch = spray(functor, ids(40), 1);
  for (std::size_t row = 0; row < 40; ++row) {
    const SampleRng rng{9, 100 + row};
    const int items = functor.items_of(rng);
    ASSERT_EQ(batch->count()[row], std::min(items, 6));
    ASSERT_EQ(batch->globals()[row], static_cast<float>(items));
    ASSERT_EQ(batch->label()[row], items % 2);
    for (int i = 0; i < 6; ++i) {
      const std::size_t at = (row * 6 + static_cast<std::size_t>(i)) * 2;
      ASSERT_EQ(batch->x()[at], i < items ? static_cast<float>(i + 1) : 0.f);
      ASSERT_EQ(batch->x()[at + 1], i < items ? Spray::value(rng, i) : 0.f);
    }
    ASSERT_EQ(batch->latents()[2 * row], static_cast<float>(items));
    ASSERT_EQ(batch->latents()[2 * row + 1], 0);
    ASSERT_EQ(batch->target()[3 * row], 1);
    ASSERT_EQ(batch->target()[3 * row + 1], static_cast<float>(-items));
    ASSERT_EQ(batch->target()[3 * row + 2], 0);
  }
}

TEST(Sets, CountItemsThatDoNotFit) {
  const Spray functor;
  const auto batch = spray(functor, ids(40), 1);
  unsigned long long samples = 0, items = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const int made = functor.items_of({9, 100 + i});
    samples += made > 6 ? 1 : 0;
    items += static_cast<unsigned long long>(std::max(0, made - 6));
  }
  EXPECT_GT(samples, 0u);
  EXPECT_EQ(batch->view().overflow->samples, samples);
  EXPECT_EQ(batch->view().overflow->items, items);
}

TEST(Sets, TeamsAndSingleThreadsMakeEqualSets) {
  const auto alone = spray(Spray{}, ids(5), 1);
  for (const int members : {1, 7, 64}) {
    const auto together = spray(TeamSpray{}, ids(5), members);
    EXPECT_TRUE(*together == *alone) << members << " members";
    EXPECT_EQ(together->view().overflow->items, alone->view().overflow->items);
  }
}

}  // namespace
}  // namespace wellspring::test
