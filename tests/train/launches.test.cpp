// Runs with train.steps_per_launch: the same bytes and events as with one step per launch. On a GPU
// or its stand-in, a launch is one graph.
#include "tests/train/several_ranks.h"
#include "train/run_samples.h"
#include "train/step/step_runner.h"
#include "train/step/supervised_task.h"
#include "train/step_launcher.h"

#include <numeric>

namespace wellspring::test {
namespace {

std::string launch_of(int steps) {
  return fmt::format("train.steps_per_launch={}", steps);
}

struct Launches : Ranks {
  /// On WELLSPRING_TEST_DEVICE, if it is set.
  RunConfig on_device(const char* text, Settings settings) const {
    if (const char* const device = std::getenv("WELLSPRING_TEST_DEVICE"); device != nullptr)
      settings.push_back(std::string("device=") + device);
    return config(text, settings);
  }
};

/// The number of steps in each launch of a run, computed on a CPU.
std::vector<std::uint64_t> launches_of(const RunConfig& config) {
  RunContext context(single_rank(), config);
  Mixture mixture = config.open_training();
  SupervisedTask task(config, context, DType::f32, SupervisedTask::Input::of(config, mixture));
  const auto steps = static_cast<std::uint64_t>(config.train.steps);
  mixture.plan(context.memory, context.share, steps);
  StepLauncher launcher(config, context, mixture, task);
  StepRunner runner(
      GraphMode::off, [](Stream&) {}, context.memory, config.train.steps_per_launch);
  std::vector<std::uint64_t> launches;
  for (std::uint64_t step = 0; step < steps; step += launches.back()) {
    launches.push_back(launcher.next(runner, step, steps));
    runner.run(context.stream, step, launches.back());
  }
  return launches;
}

TEST_F(Launches, EndWhereTheHostActs) {
  using Counts = std::vector<std::uint64_t>;
  // Single steps: 0 and 1, which are not recorded, and steps fewer than 3 before a multiple of 4, 7
  // or 10.
  EXPECT_EQ(launches_of(small_run("unused", {"device=cpu", launch_of(3), "eval.every=7"})),
            (Counts{1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 3, 3, 1, 1, 1}));
  const Settings quiet = {"device=cpu", launch_of(3), "train.log_every=30",
                          "train.checkpoint_every=0"};
  EXPECT_EQ(launches_of(small_run("unused", quiet)), (Counts{1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1}));
  // Each phase begins with two eager steps: 9 and 10, 13 and 14.
  const std::string phases =
      "optimizer.parameters=[{match: stage*, unfreeze_at: 9}, {match: stage0.*, unfreeze_at: 13}]";
  EXPECT_EQ(launches_of(small_run("unused", test::with(quiet, {phases}))),
            (Counts{1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3}));
  // The first batch with noise is shown, so it ends a launch.
  const RunConfig later = small_run(
      "unused",
      test::with(quiet, {"data.sources=[{name: shapes, generator: shapes, params: {classes: 4}}, "
                         "{name: noise, generator: noise}]",
                         "data.schedule=[{at: 30%, weights: {shapes: 1, noise: 0}}, "
                         "{at: 100%, weights: {shapes: 1, noise: 1}}]"}));
  std::vector<std::uint64_t> ends = launches_of(later);
  EXPECT_GE(std::ranges::count(ends, 3u), 8);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  Mixture mixture = later.open_training();
  MemoryPlan memory(Device::cpu());
  mixture.plan(memory, later.train.batch, 30);
  std::uint64_t shown = 1;
  while (!brings_a_source(mixture, shown)) ++shown;
  EXPECT_GT(shown, 9u);
  EXPECT_EQ(std::ranges::count(ends, shown + 1), 1) << shown;
}

/// State, files and reports at the end of a run.
struct Left {
  std::vector<std::uint8_t> state;
  std::string checkpoint, memory;
  std::vector<double> figures;  ///< steps and losses of reports, steps of checkpoints
};

Left run_small(const Settings& settings) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer trainer(small_run(folder.path(), test::with({"eval.every=7", "train.ema=0.9"}, settings)),
                  listener, quick());
  EXPECT_EQ(trainer.run().status, RunStatus::finished);
  Left left{trainer.state_bytes(),
            slurp(folder / "checkpoints/step-30/state.safetensors"),
            trainer.plan().memory_table,
            {}};
  left.memory.resize(left.memory.find("available"));  // other programs use memory, too
  for (const StepReport& report : listener.steps)
    left.figures.insert(left.figures.end(), {static_cast<double>(report.step), report.loss});
  for (const EvaluationReport& report : listener.evaluations)
    left.figures.insert(left.figures.end(),
                        {static_cast<double>(report.step), report.results.at(0).loss});
  for (const CheckpointReport& report : listener.checkpoints)
    left.figures.push_back(static_cast<double>(report.step));
  return left;
}

TEST_F(Launches, ChangeNeitherBytesNorEvents) {
  const Left expected = run_small({});
  for (const Settings& settings : std::vector<Settings>{{launch_of(3), "train.graph=on"},
                                                        {launch_of(4), "train.graph=on"},
                                                        {launch_of(4), "train.graph=check"},
                                                        {launch_of(4), "train.graph=off"}}) {
    SCOPED_TRACE(settings[0] + " " + settings[1]);
    const Left left = run_small(settings);
    EXPECT_EQ(left.state, expected.state);
    EXPECT_EQ(left.checkpoint, expected.checkpoint);
    EXPECT_EQ(left.memory, expected.memory);
    EXPECT_EQ(left.figures, expected.figures);
  }
}

TEST_F(Launches, MayChangeWhenARunIsResumed) {
  Listener listener;
  Trainer whole(small_run("unused"), listener, in_memory());
  whole.run();
  const TemporaryFolder run;
  for (const auto& [steps, until] : {std::pair{4, 9u}, {1, 14u}, {3, 17u}}) {
    Trainer part(small_run(run.path(), {launch_of(steps)}), listener, quick());
    part.train_until(until);
    part.checkpoint();
  }
  Trainer last(small_run(run.path(), {launch_of(4)}), listener, quick());
  EXPECT_EQ(last.step(), 17u);
  last.run();
  EXPECT_EQ(last.state_bytes(), whole.state_bytes());
}

TEST_F(Launches, EndWithASignalBetweenTwoOfThemAndContinue) {
  const Settings settings = {launch_of(4), "train.checkpoint_every=0"};
  Listener listener;
  Trainer whole(small_run("unused", settings), listener, in_memory());
  whole.run();
  const TemporaryFolder run;
  {
    const SignalGuard guard;  // clears the request
    Listener interrupted;
    interrupted.interrupt_at = 8;
    const FinishReport finish =
        Trainer(small_run(run.path(), settings), interrupted, quick()).run();
    EXPECT_EQ(finish.status, RunStatus::interrupted);
    EXPECT_GE(finish.step, 8u);
    EXPECT_LT(finish.step, 30u);
    EXPECT_EQ(finish.step % 4, 0u) << "launches begin at steps 4, 8, ...";
  }
  Trainer rest(small_run(run.path(), settings), listener, quick());
  rest.run();
  EXPECT_EQ(rest.state_bytes(), whole.state_bytes());
}

// Streamed files, mixing, repeats, averages, sets, frozen phases, passes, views and sums over ranks.
TEST_F(Launches, ChangeNoBytesOfRunsOfAnyKind) {
  const std::vector<std::pair<const char*, Settings>> runs = {
      {kPictures, {}},
      {kPictures, {"train.graph=check"}},
      {kPictures, {"model={name: resnet20}", "train.steps=6", "train.sync_batch_norm=true"}},
      {kPictures, {"train.batch=32", "train.accumulate=2"}},
      {kPictures, {"train.recompute_blocks=1"}},
      {kSpectra, {"data.views=2", "data.sources.0.repeats=1"}},
      {kSets, {}},
      {kItems, {}}};
  const bool device = std::getenv("WELLSPRING_TEST_DEVICE") != nullptr;
  for (const auto& [text, settings] : runs)
    for (const int ranks : {1, 2}) {
      if (ranks > 1 && device) continue;
      const auto end_of = [&](int steps) {
        return train(on_device(text, test::with(settings, {launch_of(steps)})), ranks).states;
      };
      EXPECT_EQ(end_of(2), end_of(1))
          << testing::PrintToString(settings) << ", " << ranks << (ranks == 1 ? " rank" : " ranks");
    }
}

// The rows of one launch fill a ring of four batches; a ring of eight is also filled during a
// launch.
TEST_F(Launches, WaitForTheStreamedRowsOfAllTheirSteps) {
  const auto end_of = [&](int steps, int ahead) {
    return train(on_device(kPictures, {launch_of(steps), "train.log_every=50", "train.steps=30",
                                       "train.checkpoint_every=0", "eval.every=0",
                                       fmt::format("data.sources.1.ahead={}", ahead),
                                       "data.sources.0.weight=1"}),
                 1)
        .states;
  };
  const auto expected = end_of(1, 2);
  for (const int ahead : {4, 5, 8}) EXPECT_EQ(end_of(4, ahead), expected) << ahead;
}

// One image of the unshuffled photos per step; the sixth is damaged.
TEST_F(Launches, ReachTheStepBeforeDamagedData) {
  const Settings settings = {"eval.sources=[]", "data.sources.1.shuffle=false", launch_of(2)};
  std::vector<fs::path> photos;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "photos"))
    if (entry.is_regular_file()) photos.push_back(entry.path());
  std::ranges::sort(photos);
  fs::resize_file(photos.at(5), fs::file_size(photos[5]) - 20);
  for (const int ranks : {1, 3}) {
    const std::string out = fmt::format("of {}", ranks);
    const fs::path saved = folder / out / "checkpoints/step-5";
    expect_parts(
        message_of(ErrorKind::data,
                   [&] { train(config(kPictures, settings, out), ranks, quick()); }),
        {"step 5", photos[5].filename().string(), "progress is saved in " + saved.string()});
    EXPECT_TRUE(fs::exists(saved));
  }
  Listener listener;
  Trainer trainer(config(kPictures, settings), listener, in_memory());
  expect_parts(message_of(ErrorKind::data, [&] { trainer.train_until(14); }), {"step 5"});
  EXPECT_EQ(trainer.step(), 5u);
}

TEST_F(Launches, ShareTheirTimesAmongTheirSteps) {
  Listener listener;
  Trainer trainer(small_run("unused", {launch_of(4)}), listener, in_memory());
  for (const TimedPart part : {TimedPart::whole, TimedPart::without_data, TimedPart::data_alone}) {
    const StepTimes times = trainer.time_steps(11, part);
    ASSERT_EQ(times.steps.size(), 11u);
    ASSERT_EQ(times.waits.size(), 11u);
    EXPECT_LE(std::accumulate(times.steps.begin(), times.steps.end(), 0.0), times.wall);
  }
}

TEST_F(Launches, AreRefusedIfTheyNeverFit) {
  const auto refused = [](const Settings& settings) {
    return message_of(ErrorKind::config, [&] { small_run("unused", settings); });
  };
  expect_parts(refused({launch_of(5)}),
               {"steps_per_launch", "5 with train.log_every: 4", "at most 4"});
  expect_parts(refused({launch_of(12), "train.log_every=20"}),
               {"12 with train.checkpoint_every: 10", "or a larger train.checkpoint_every"});
  expect_parts(refused({launch_of(4), "eval.every=3"}), {"4 with eval.every: 3"});
  Listener listener;
  expect_parts(
      message_of(ErrorKind::config,
                 [&] { Trainer(config(kPictures, {launch_of(4)}), listener, in_memory()); }),
      {"source 'photos': ahead: 2 with train.steps_per_launch: 4", "set ahead: 8"});
}

}  // namespace
}  // namespace wellspring::test
