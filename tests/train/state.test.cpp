// The memory plan defines what is state: --graph check compares every reserved state block,
// snapshots copy it and checkpoints keep it, without further registration.
#include "generators/generator.h"
#include "sources/procedural.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/step/snapshot.h"

#include <cstdint>
#include <cstring>
#include <memory>

namespace wellspring::test {
namespace {

/// Noise that counts its steps in its own state block, on the CPU.
class CountingNoise final : public Source {
 public:
  enum class Counts : std::uint8_t { state, host };
  explicit CountingNoise(Counts counts) : counts_(counts) {}

  const std::string& name() const override { return noise_.name(); }
  SampleLayout layout() const override { return noise_.layout(); }
  const std::vector<std::string>& classes() const override { return noise_.classes(); }
  const std::vector<std::string>& latent_names() const override { return noise_.latent_names(); }
  std::uint64_t size() const override { return noise_.size(); }
  std::uint64_t first_evaluation_sample() const override {
    return noise_.first_evaluation_sample();
  }
  std::string summary() const override { return noise_.summary(); }
  Order order() const override { return noise_.order(); }

  void plan(MemoryPlan& plan, const Share& share) override {
    noise_.plan(plan, share);
    count_ = plan.reserve_state<std::uint64_t>("counting noise", "steps seen", 1);
  }
  void emit(Stream& stream, const Slot* slots, std::uint32_t index,
            const BatchView& batch) override {
    noise_.emit(stream, slots, index, batch);
    std::uint64_t* count = count_.data();
    if (counts_ == Counts::state) {
      stream.run(NodeKind::kernel, "count", [count] { ++*count; });
    } else {  // forbidden: the host's counter would be read only while recording
      stream.run(NodeKind::kernel, "count", [count, calls = ++calls_] { *count = calls; });
    }
  }
  void emit_range(Stream& stream, const Slot* slots, std::uint32_t index, std::uint64_t first,
                  std::int64_t count, const BatchView& batch) override {
    noise_.emit_range(stream, slots, index, first, count, batch);
  }

 private:
  ProceduralSource noise_{"noise", make_generator("noise", 8), ProceduralSource::Settings{}};
  Counts counts_;
  std::uint64_t calls_ = 0;
  Planned<std::uint64_t> count_;
};

std::unique_ptr<Trainer> counting_trainer(
    const std::filesystem::path& folder, const std::string& graph,
    CountingNoise::Counts counts = CountingNoise::Counts::state, TrainerOptions options = quick()) {
  static TrainObserver observer;
  Mixture mixture(7);
  mixture.add(std::make_unique<CountingNoise>(counts), {});
  return std::make_unique<Trainer>(
      small_run(folder, {"device=cpu", "data.sources=[{name: noise, generator: noise}]",
                         "eval.sources=[]", "train.graph=" + graph}),
      std::move(mixture), observer, std::move(options));
}

TEST(State, ResumesANewBlockWithTheRest) {
  const TemporaryFolder straight, broken;
  const auto whole = counting_trainer(straight.path(), "on");
  whole->train_until(17);
  {
    const auto first = counting_trainer(broken.path(), "on");
    first->train_until(9);
    first->checkpoint();
    first->train_until(11);  // these steps are lost
  }
  const auto second = counting_trainer(broken.path(), "on");
  EXPECT_EQ(second->step(), 9u);
  second->train_until(17);
  const std::vector<std::uint8_t> bytes = second->state_bytes();
  EXPECT_EQ(bytes, whole->state_bytes());
  // The count is the last reserved block.
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + bytes.size() - sizeof count, sizeof count);
  EXPECT_EQ(count, 17u);
}

TEST(State, ComparesANewBlockInGraphCheck) {
  const auto honest =
      counting_trainer("unused", "check", CountingNoise::Counts::state, test::in_memory());
  EXPECT_NO_THROW(honest->train_until(6));
  const auto false_one =
      counting_trainer("unused", "check", CountingNoise::Counts::host, test::in_memory());
  expect_parts(message_of(ErrorKind::runtime, [&] { false_one->train_until(6); }),
               {"step 2: ", "differ in counting noise/steps seen, byte 0"});
}

// The number of batches that the host has emitted is the last reserved block.
TEST(State, EmitsNoBatchInResidentSteps) {
  const auto trainer =
      counting_trainer("unused", "off", CountingNoise::Counts::host, test::in_memory());
  trainer->time_steps(2);
  trainer->time_steps(5, TimedPart::without_data);
  trainer->time_steps(1);
  const std::vector<std::uint8_t> bytes = trainer->state_bytes();
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + bytes.size() - sizeof count, sizeof count);
  EXPECT_EQ(count, trainer->step());
}

class ResidentSteps : public testing::TestWithParam<const char*> {};

TEST_P(ResidentSteps, RestoreTheState) {
  TrainerOptions keeping = test::in_memory();
  keeping.keep.least = 3;
  for (const TrainerOptions& options : {test::in_memory(), keeping}) {
    const auto timed =
        counting_trainer("unused", GetParam(), CountingNoise::Counts::state, options);
    const auto plain =
        counting_trainer("unused", GetParam(), CountingNoise::Counts::state, test::in_memory());
    EXPECT_GT(timed->time_steps(2, TimedPart::without_data).wall, 0);
    EXPECT_GT(timed->time_steps(3).wall, 0);
    EXPECT_GT(timed->time_steps(1, TimedPart::without_data).wall, 0);
    timed->train_until(17);
    plain->train_until(17);
    EXPECT_EQ(timed->state_bytes(), plain->state_bytes());
  }
}

TEST(KeptBatches, ExceedTheBytesThatAreAskedFor) {
  const auto kept = [](std::size_t bytes, double seconds) {
    TrainerOptions options = test::in_memory();
    options.keep = {.least = 3, .bytes = bytes};
    options.keep_seconds = seconds;
    const auto trainer = counting_trainer("unused", "off", CountingNoise::Counts::state, options);
    EXPECT_EQ(trainer->kept_batches().count, 0u) << "before the first step";
    trainer->time_steps(2, TimedPart::without_data);
    return trainer->kept_batches();
  };
  constexpr double kNoLimit = 1e9;
  const KeptBatches least = kept(0, kNoLimit);
  EXPECT_EQ(least.count, 3u);
  const KeptBatches more = kept(least.bytes + 1, kNoLimit);
  EXPECT_EQ(more.count, 4u);
  EXPECT_GT(more.bytes, least.bytes);
  const std::size_t batch = more.bytes - least.bytes;
  EXPECT_EQ(kept(least.bytes + 7 * batch, kNoLimit).count, 10u);
  EXPECT_EQ(kept(std::size_t{1} << 40, kNoLimit).count, KeepBatches::kMost);
  EXPECT_EQ(kept(std::size_t{1} << 40, 0).count, 3u) << "the time is over after the least number";
}

TEST(StepTimes, HaveAStepAndAWaitForEachStep) {
  const auto trainer =
      counting_trainer("unused", "on", CountingNoise::Counts::state, test::in_memory());
  for (const TimedPart part : {TimedPart::whole, TimedPart::without_data, TimedPart::data_alone}) {
    const StepTimes times = trainer->time_steps(4, part);
    ASSERT_EQ(times.steps.size(), 4u);
    ASSERT_EQ(times.waits.size(), 4u);
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GE(times.waits[i], 0);
      EXPECT_GT(times.steps[i], times.waits[i]);
      sum += times.steps[i];
    }
    EXPECT_LE(sum, times.wall);
    EXPECT_GT(times.processor, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ResidentSteps, testing::Values("on", "off"));

// The run may have more or fewer state blocks than the checkpoint; both must be refused.
TEST(State, RefusesACheckpointWithDifferentBlocks) {
  const TemporaryFolder with, without;
  TrainObserver observer;
  const auto plain = [&](const std::filesystem::path& folder) {
    return std::make_unique<Trainer>(
        small_run(folder, {"device=cpu", "data.sources=[{name: noise, generator: noise}]",
                           "eval.sources=[]", "train.graph=on"}),
        observer, quick());
  };
  plain(without.path())->checkpoint();
  counting_trainer(with.path(), "on")->checkpoint();
  expect_parts(
      message_of(ErrorKind::config, [&] { counting_trainer(without.path(), "on"); }),
      {"state.safetensors", "counting noise/steps seen is missing from the file", "init.from"});
  expect_parts(message_of(ErrorKind::config, [&] { plain(with.path()); }),
               {"state.safetensors", "this run has no counting noise/steps seen"});
}

TEST(State, RefusesACheckpointOfAnotherFormat) {
  const TemporaryFolder folder;
  TrainObserver observer;
  Trainer(small_run(folder.path()), observer, quick()).checkpoint();
  const std::filesystem::path header = folder / "checkpoints/step-0/checkpoint.json";
  std::string text = test::slurp(header);
  const std::string format = "wellspring checkpoint 2";
  const std::size_t at = text.find(format);
  ASSERT_NE(at, std::string::npos);
  text[at + format.size() - 1] = '1';
  test::spill(header, text);
  expect_parts(
      message_of(ErrorKind::config, [&] { Trainer(small_run(folder.path()), observer, quick()); }),
      {"was written by another version of this program", "'wellspring checkpoint 1'", "init.from"});
}

/// Leaves a run with a checkpoint of step 10.
void stop_at_step_10(const std::filesystem::path& folder) {
  TrainObserver observer;
  Trainer run(small_run(folder), observer, quick());
  run.train_until(10);
  run.checkpoint();
}

// The length of the ring depends on log_every, which may change on a resume.
TEST(State, AllowsTheMetricsRingToChangeItsLength) {
  const TemporaryFolder folder;
  TrainObserver observer;
  stop_at_step_10(folder.path());
  Trainer second(small_run(folder.path(), {"train.log_every=5"}), observer, quick());
  EXPECT_EQ(second.step(), 10u);
  EXPECT_EQ(second.run().step, 30u);
}

// Its first window has only the steps after the resume.
TEST(State, ReportsNoStepsFromBeforeTheRingBegan) {
  const TemporaryFolder folder;
  Listener listener;
  stop_at_step_10(folder.path());
  Trainer(small_run(folder.path(), {"train.log_every=6"}), listener, quick()).run();
  Listener whole;
  Trainer(small_run("unused", {"train.log_every=2"}), whole, in_memory()).run();
  const StepReport& window = listener.steps.at(0);
  EXPECT_EQ(window.step, 12u);
  EXPECT_EQ(window.window, 2u);
  EXPECT_EQ(window.loss, whole.steps.at(5).loss);
  EXPECT_EQ(window.sources.at(0).achieved_share, whole.steps.at(5).sources.at(0).achieved_share);
}

TEST(SnapshotTest, ReportsTheFirstByteThatDiffers) {
  MemoryPlan memory(Device::cpu());
  const auto a = memory.reserve_state<std::uint8_t>("test", "a", 3);
  const auto b = memory.reserve_state<std::uint8_t>("test", "b", 3);
  memory.commit();
  Stream stream(Device::cpu());
  Snapshot first, second;
  first.save(stream, memory.state());
  b.data()[2] = 7;
  second.save(stream, memory.state());
  EXPECT_EQ(first.difference(first, memory.state()), "");
  EXPECT_EQ(first.difference(second, memory.state()), "test/b, byte 2");
  first.restore(stream, memory.state());
  EXPECT_EQ(b.data()[2], 0);
  a.data()[0] = 1;
  second.save(stream, memory.state());
  EXPECT_EQ(first.difference(second, memory.state()), "test/a, byte 0");
}

}  // namespace
}  // namespace wellspring::test
