#include "train/trainer.h"

#include "core/signals.h"
#include "generators/generator.h"
#include "kernels/ops/cpu/instruction_set.h"
#include "kernels/runtime/memory_plan.h"
#include "sources/procedural.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/error_testing.h"
#include "tests/train/model_runs.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/evaluation.h"
#include "train/metrics/metrics_log.h"

#include <cmath>
#include <memory>
#include <string_view>

namespace wellspring::test {
namespace {

TEST(TrainerTest, WritesItsFolder) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder.path(), {"eval.every=15"}), listener, quick());
  const FinishReport finish = trainer.run();
  EXPECT_EQ(finish.status, RunStatus::finished);
  EXPECT_EQ(finish.step, 30u);
  EXPECT_EQ(listener.plans, 1);
  EXPECT_EQ(listener.finishes, 1);
  EXPECT_EQ(listener.evaluations.size(), 2u);
  EXPECT_EQ(listener.checkpoints.size(), 3u);
  ASSERT_TRUE(finish.evaluation.has_value());
  EXPECT_EQ(finish.evaluation->results[0].samples, 20u);  // two batches of 8 and one of 4
  for (const char* name : {"config.resolved.yaml", "metrics.jsonl", "preview.png", "report.html",
                           "checkpoints/step-30/model.safetensors"})
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  const std::string report = slurp(folder / "report.html");
  expect_parts(report, {"<svg", "data:image/png;base64,"});
  EXPECT_EQ(report.find("<script"), std::string::npos);
  EXPECT_EQ(report.find("http"), std::string::npos) << "the report must load nothing";
}

TEST(TrainerTest, WritesCheckpointsByTimeWithoutAnInterval) {
  const TemporaryFolder folder;
  Listener listener;
  TrainerOptions options = quick();
  const std::vector<std::string> overrides = {"train.steps=4", "train.checkpoint_every=0",
                                              "train.keep=9"};
  EXPECT_GT(options.checkpoint_seconds, 60);
  EXPECT_LE(options.checkpoint_seconds, 900);
  options.checkpoint_seconds = 0;  // a checkpoint is due at every step
  Trainer(small_run(folder.path(), overrides), listener, options).run();
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  const TemporaryFolder patient;
  Trainer(small_run(patient.path(), overrides), listener, quick()).run();
  EXPECT_EQ(CheckpointStore(patient.path()).steps(), (std::vector<std::uint64_t>{4}));
}

// The first regular checkpoint would be due only at step 10.
TEST(TrainerTest, RefusesAnUnwritableFolderBeforeTheFirstStep) {
  const TemporaryFolder folder;
  Listener listener;
  test::spill(folder / "config.resolved.yaml", "");  // a run's folder
  test::spill(folder / "checkpoints", "in the way");
  Trainer trainer(small_run(folder.path(), {"train.log_every=1"}), listener, quick());
  const std::string message = message_of(ErrorKind::runtime, [&] { trainer.run(); });
  expect_parts(message, {"step 0: cannot write the checkpoint", "checkpoints"});
  EXPECT_EQ(trainer.step(), 0u);
  EXPECT_TRUE(listener.steps.empty());
}

// The trial at step 0 leaves neither a checkpoint nor a temporary folder.
TEST(TrainerTest, LeavesNoTraceOfTheTrialCheckpoint) {
  const TemporaryFolder folder;
  Listener listener;
  const SignalGuard signals;  // clears the request
  listener.interrupt_at = 1;
  Trainer(small_run(folder.path(), {"train.log_every=1"}), listener, quick()).run();
  ASSERT_FALSE(listener.steps.empty());
  for (const std::uint64_t step : CheckpointStore(folder.path()).steps()) EXPECT_GT(step, 0u);
  EXPECT_EQ(static_cast<std::size_t>(
                std::distance(std::filesystem::directory_iterator(folder / "checkpoints"), {})),
            CheckpointStore(folder.path()).steps().size());
}

TEST(TrainerTest, ReportsMetricsOfEveryStepOnce) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer(small_run(folder.path()), listener, quick()).run();
  ASSERT_EQ(listener.steps.size(), 8u);  // 7 windows of 4 and one of 2
  std::uint64_t covered = 0;
  double noise = 0, all = 0;
  for (const StepReport& report : listener.steps) {
    covered += report.window;
    EXPECT_EQ(report.step, covered);
    noise += static_cast<double>(report.sources[1].samples);
    for (const SourceReport& source : report.sources) all += static_cast<double>(source.samples);
  }
  EXPECT_EQ(covered, 30u);
  EXPECT_EQ(all, 240);
  EXPECT_NEAR(noise, 60, 1);  // weights 3 and 1
  EXPECT_EQ(read_metrics(folder.path()).steps.size(), 8u);
}

TEST(TrainerTest, EndsWithEqualBytesByGraphAndEagerly) {
  std::vector<std::uint8_t> ends[3];
  int k = 0;
  for (const char* graph : {"train.graph=off", "train.graph=on", "train.graph=check"}) {
    Listener listener;
    Trainer trainer(small_run("unused", {graph}), listener, in_memory());
    trainer.run();
    ends[k++] = trainer.state_bytes();
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

/// Noise with a new seed at every enqueue. This makes the step depend on the host, which is
/// forbidden.
class RestlessNoise final : public Generator {
 public:
  const SampleInfo& info() const override { return noise_->info(); }
  std::string parameters_yaml() const override { return noise_->parameters_yaml(); }
  void plan(MemoryPlan& memory, std::int64_t rows, DenseLabels dense) override {
    noise_->plan(memory, rows, dense);
  }
  void load(Stream& stream) override { noise_->load(stream); }
  const std::vector<std::string>& notes() const override { return noise_->notes(); }
  void emit(Stream& stream, const EmitCall& call) override {
    EmitCall other = call;
    other.seed += calls_++;
    noise_->emit(stream, other);
  }

 private:
  std::unique_ptr<Generator> noise_ = make_generator("noise", 8);
  std::uint64_t calls_ = 0;
};

TEST(TrainerTest, StopsIfACheckedStepDependsOnTheHost) {
  const auto train = [](const std::string& graph) {
    Mixture mixture(7);
    mixture.add(std::make_unique<ProceduralSource>("restless", std::make_unique<RestlessNoise>(),
                                                   ProceduralSource::Settings{}),
                {});
    Listener listener;
    Trainer trainer(small_run("unused", {"data.sources=[{name: restless, generator: noise}]",
                                         "eval.sources=[]", "train.graph=" + graph}),
                    std::move(mixture), listener, in_memory());
    trainer.run();
  };
  expect_parts(
      message_of(ErrorKind::runtime, [&] { train("check"); }),
      {"step 2: the recorded and the eager step differ in parameters/master weights, byte ",
       "reads something other than device memory", "--graph off"});
  EXPECT_NO_THROW(train("on")) << "only a check can detect it";
}

// Uses four shards per step, and also resumes a run with a different number of threads.
TEST(TrainerTest, EndsWithEqualBytesForAnyNumberOfThreads) {
  const auto config = [](const std::string& folder, int threads) {
    return small_run(folder, {"data.size=32", "train.batch=64", "train.steps=6",
                              "train.log_every=2", "model.widths=[16, 32]", "model.pool=[1, 1]",
                              "threads=" + std::to_string(threads)});
  };
  Listener listener;
  Trainer alone(config("unused", 1), listener, in_memory());
  alone.run();
  const std::vector<std::uint8_t> expected = alone.state_bytes();
  for (const int threads : {2, 3, 8}) {
    const TemporaryFolder folder;
    {
      Trainer first(config(folder.path(), threads), listener, quick());
      first.train_until(3);
      first.checkpoint();
    }
    Trainer second(config(folder.path(), threads - 1), listener, quick());
    EXPECT_EQ(second.step(), 3u);
    second.run();
    EXPECT_EQ(second.state_bytes(), expected) << threads;
  }
}

TEST(TrainerTest, RecordsStepsWithoutHostTransfers) {
  Listener listener;
  Trainer(small_run("unused"), listener, in_memory()).run();
  EXPECT_TRUE(listener.census.no_host_transfer());
  EXPECT_GT(listener.census.kernels, 10);
}

// Reports come between windows, so this window is longer than the counted steps. Libraries may
// allocate within a step if they free it. oneDNN should not, but without AVX-512, its products pack
// their matrices into memory that each call allocates.
TEST(TrainerTest, KeepsHeapAndDeviceMemoryConstantOnceRecorded) {
  std::vector<ModelRun> runs = model_runs();
  runs.push_back({"cnn", {}});
  for (const ModelRun& run : runs) {
    for (const std::string precision : {"f32", "bf16"}) {
      SCOPED_TRACE(run.name + " in " + precision);
      Listener listener;
      Trainer trainer(
          small_run("unused", with(run.settings, {"train.log_every=100", "train.steps=100",
                                                  "precision=" + precision})),
          listener, in_memory());
      trainer.train_until(3);  // two eager steps and the first replayed one
      const std::uint64_t device_before = device_allocation_count();
      const std::int64_t live_before = test::heap_blocks_alive();
      const std::uint64_t aligned_before = test::aligned_allocation_count();
      trainer.train_until(60);
      EXPECT_EQ(test::heap_blocks_alive(), live_before);
      const std::uint64_t grown = test::aligned_allocation_count() - aligned_before;
      const bool packs = std::string_view(ops::cpu::instruction_set()) != "avx512";
      EXPECT_EQ(packs ? grown % (60 - 3) : grown, 0u) << grown;
      EXPECT_EQ(device_allocation_count(), device_before);
    }
  }
}

TEST(TrainerTest, AllocatesNoDeviceMemoryInEagerSteps) {
  Listener listener;
  Trainer trainer(small_run("unused", {"train.graph=off"}), listener, in_memory());
  trainer.train_until(2);
  const std::uint64_t before = device_allocation_count();
  trainer.train_until(30);
  EXPECT_EQ(device_allocation_count(), before);
}

TEST(TrainerTest, StopsAtANonFiniteLoss) {
  const TemporaryFolder folder;
  Listener listener;
  const std::string message = message_of(ErrorKind::runtime, [&] {
    Trainer(small_run(folder.path(), {"optimizer.kind=sgd", "optimizer.lr=1000", "train.clip=0",
                                      "train.checkpoint_every=1", "model.norm=none",
                                      "model.blocks=[0, 0]", "train.steps=400"}),
            listener, quick())
        .run();
  });
  expect_parts(message, {"not finite", "step ", "checkpoints/step-"});
}

TEST(TrainerTest, DetectsANonFiniteLossAtTheNextReport) {
  Listener listener;
  message_of(ErrorKind::runtime, [&] {
    Trainer(small_run("unused", {"optimizer.kind=sgd", "optimizer.lr=1000", "train.clip=0",
                                 "model.norm=none", "model.blocks=[0, 0]", "train.steps=4000"}),
            listener, in_memory())
        .run();
  });
  ASSERT_FALSE(listener.steps.empty());
  EXPECT_LT(listener.steps.back().step, 400u);
}

TEST(TrainerTest, ShowsThePlanOfABatchThatCannotFit) {
  Listener listener;
  const std::string message = message_of(ErrorKind::device, [&] {
    Trainer(small_run("unused", {"memory=0.0001"}), listener, in_memory());
  });
  expect_parts(message, {"activations", "parameters"});
}

// If the system kills the process for lack of memory, this report is the only trace.
TEST(TrainerTest, ReportsThePlanBeforeItsAllocation) {
  struct MemoryListener : TrainObserver {
    std::string table;
    std::uint64_t allocations = 0;
    void on_memory(const std::string& told) override {
      table = told;
      allocations = device_allocation_count();
    }
  } listener;
  const std::uint64_t before = device_allocation_count();
  const Trainer trainer(small_run("unused", {"memory=1.5"}), listener, in_memory());
  expect_parts(listener.table, {"activations", "parameters", "1.5 GiB"});
  EXPECT_EQ(listener.allocations, before);
  EXPECT_GT(device_allocation_count(), before);
}

TEST(TrainerTest, RefusesSourcesOfOneHeadWithDifferentClasses) {
  Listener listener;
  const std::string shared = message_of(ErrorKind::config, [&] {
    Trainer(small_run("unused", {"data.sources.1.head=shapes"}), listener, in_memory());
  });
  EXPECT_NE(shared.find("circle"), std::string::npos) << shared;

  const TemporaryFolder folder;
  Trainer(small_run(folder.path()), listener, quick()).run();
  const std::string held_out = message_of(ErrorKind::data, [&] {
    evaluate_checkpoint(folder.path(),
                        small_run(folder.path(), {"data.sources.0.params.classes=5"}), listener);
  });
  expect_parts(held_out, {"'shapes' has 5 classes", "has 4"});
}

TEST(TrainerTest, NamesAnAbsentDevice) {
  Listener listener;
  const std::string message = message_of(ErrorKind::device, [&] {
    Trainer(small_run("unused", {"device=cuda:7"}), listener, in_memory());
  });
  EXPECT_NE(message.find("cuda:7"), std::string::npos) << message;
}

TEST(TrainerTest, EvaluationLeavesTheRunUnchanged) {
  Listener listener;
  Trainer plain(small_run("unused"), listener, in_memory());
  plain.run();
  Trainer other(small_run("unused"), listener, in_memory());
  other.train_until(9);
  const EvaluationReport once = other.evaluate();
  const EvaluationReport twice = other.evaluate();
  EXPECT_EQ(once.results[0].loss, twice.results[0].loss);
  other.run();
  EXPECT_EQ(other.state_bytes(), plain.state_bytes());
}

TEST(TrainerTest, IgnoresRowsAfterTheLastSampleInEvaluation) {
  // 20 samples in batches of 8 and of 20 must give the same counts and nearly the same loss: the
  // order of the float sums differs.
  Listener a, b;
  const TemporaryFolder folder;
  Trainer trained(small_run(folder.path()), a, quick());
  trained.run();
  const EvaluationReport small = trained.evaluate();
  RunConfig wide = small_run(folder.path(), {"train.batch=20"});
  const EvaluationReport large = evaluate_checkpoint(folder.path(), wide, b);
  ASSERT_EQ(small.results.size(), large.results.size());
  for (std::size_t i = 0; i < small.results.size(); ++i) {
    EXPECT_EQ(small.results[i].samples, large.results[i].samples);
    EXPECT_EQ(small.results[i].accuracy, large.results[i].accuracy);
    EXPECT_NEAR(small.results[i].loss, large.results[i].loss, 1e-4 * small.results[i].loss);
  }
}

TEST(TrainerTest, Learns) {
  Listener listener;
  Trainer trainer(small_run("unused", {"data.size=16", "data.sources.0.params.classes=2",
                                       "data.sources.0.params.scale_low=0.25", "train.steps=150",
                                       "train.batch=32", "eval.samples=400"}),
                  listener, in_memory());
  const FinishReport finish = trainer.run();
  // Discs or rings: guessing gives 0.5 with a standard deviation of 0.025. The margin of 0.15 is
  // six standard deviations.
  EXPECT_GT(finish.evaluation->results[0].accuracy, 0.65);
}

// Trains the whole shipped run. Its best possible accuracy is known in closed form.
TEST(TrainerTest, ComesWithinThreeTenthsOfAPointOfTheBestPossibleOnMuons) {
  const std::vector<std::string> on_the_cpu = {"device=cpu", "threads=1", "eval.every=0"};
  Listener listener;
  Trainer trainer(RunConfig::load(WELLSPRING_SOURCE_DIR "/configs/ee_mumu.yaml", on_the_cpu),
                  listener, in_memory());
  const EvaluationResult result = trainer.run().evaluation->results.at(0);
  ASSERT_TRUE(result.best_accuracy.has_value());
  EXPECT_GT(result.accuracy, *result.best_accuracy - 0.003);
  // The accuracy is a measurement, so the test allows five standard errors.
  const double error = std::sqrt(0.25 / static_cast<double>(result.samples));
  EXPECT_LT(result.accuracy, *result.best_accuracy + 5 * error);
}

TEST(TrainerTest, StartsFromAnotherRunsWeights) {
  const TemporaryFolder from;
  Listener listener;
  Trainer first(small_run(from.path()), listener, quick());
  first.run();
  const std::string init = "init.from=" + from.path().string();
  // The average must start with the same weights.
  Trainer kept(small_run("unused", {init, "init.head=keep", "train.ema=0.9"}), listener,
               in_memory());
  const auto old_results = first.evaluate(), new_results = kept.evaluate();
  for (const std::size_t head : {0, 1})
    EXPECT_EQ(old_results.results[head].loss, new_results.results[head].loss);
  // A head must be found by its name, wherever its logits are.
  Trainer moved(small_run("unused", {init, "init.head=keep", "eval.sources=[{of: noise}]",
                                     "data.sources=[{name: noise, kind: generator, "
                                     "generator: noise}]"}),
                listener, in_memory());
  EXPECT_EQ(old_results.results[1].loss, moved.evaluate().results[0].loss);
  Trainer reset(small_run("unused", {init, "init.head=reset"}), listener, in_memory());
  EXPECT_NE(reset.evaluate().results[0].loss, old_results.results[0].loss);
  ASSERT_FALSE(reset.plan().notes.empty());
  expect_parts(reset.plan().notes[0], {"reset head.weight, head.bias"});
  const std::string message = message_of(ErrorKind::config, [&] {
    Trainer(small_run("unused", {init, "model.widths=[8, 8]"}), listener, in_memory());
  });
  expect_parts(
      message,
      {"stage0.stem.conv.weight is [4, 3, 3, 3] in the file, [8, 3, 3, 3] in this network"});
}

}  // namespace
}  // namespace wellspring::test
