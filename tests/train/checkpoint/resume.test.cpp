// Resumed runs (after a signal, from a checkpoint, with more steps) and run folders.
#include "train/checkpoint/resume.h"

#include "core/io/npy.h"
#include "core/signals.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/metrics/metrics_log.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

TEST(TrainerTest, ResumesToEqualBytes) {
  const std::string mix = "data.mix={mixup: 0.8, cutmix: 1}";
  const std::string noise = "data.sources.1={name: noise, kind: generator, weight: 1, generator: ";
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"optimizer.kind=adamw"},
           {"optimizer.kind=sgd"},
           {"train.ema=0.9"},
           {mix},
           {mix, "loss={kind: binary_cross_entropy, label_smoothing: 0.1}",
            "data.sources.0.repeats=2", "data.augment=[{flip_x: 0.5}]"},
           {mix, noise + "ifs_multi, params: {categories: 4}}",
            "heads=[{name: shapes}, {name: noise, loss: multi_label, positives: balanced}]"},
           {noise + "dead_leaves, params: {fill: ising, fills: 4}}"}}) {
    SCOPED_TRACE(settings.back());
    const TemporaryFolder straight, broken;
    Listener listener;
    Trainer whole(small_run(straight.path(), settings), listener, quick());
    whole.run();
    {
      const SignalGuard guard;
      Listener stopper;
      stopper.interrupt_at = 12;
      Trainer first(small_run(broken.path(), settings), stopper, quick());
      EXPECT_EQ(first.run().status, RunStatus::interrupted);
      EXPECT_LT(first.step(), 30u);
    }
    Trainer second(small_run(broken.path(), settings), listener, quick());
    EXPECT_GT(second.step(), 0u);
    second.run();
    EXPECT_EQ(second.state_bytes(), whole.state_bytes());
    expect_same_checkpoints(straight.path(), broken.path());
  }
}

TEST(TrainerTest, ResumesToEqualMetrics) {
  const TemporaryFolder straight, broken;
  Listener listener;
  Trainer(small_run(straight.path()), listener, quick()).run();
  {
    Trainer first(small_run(broken.path()), listener, quick());
    first.train_until(10);  // inside a window
    first.checkpoint();
    first.train_until(14);  // these steps are lost
  }
  Trainer(small_run(broken.path()), listener, quick()).run();
  const MetricsHistory a = read_metrics(straight.path()), b = read_metrics(broken.path());
  ASSERT_EQ(b.steps.back().step, 30u);
  // The first process wrote no metrics before run(), so only metrics after the checkpoint count.
  for (const StepReport& report : b.steps) {
    const auto same = std::find_if(a.steps.begin(), a.steps.end(), [&](const StepReport& other) {
      return other.step == report.step;
    });
    ASSERT_NE(same, a.steps.end());
    EXPECT_EQ(same->loss, report.loss);
    EXPECT_EQ(same->window, report.window);
  }
}

// With two sources of constant weights, a longer run assigns batch slots as the shorter run did. A
// schedule that spans the run depends on the run's length, so a longer run is refused.
TEST(TrainerTest, ExtendsARunOnlyIfSamplesStayEqual) {
  const TemporaryFolder folder, straight, ramped;
  const auto config = [](const TemporaryFolder& where, std::vector<std::string> settings) {
    settings.insert(settings.end(), {"optimizer.floor=1", "optimizer.warmup=0"});
    return small_run(where.path(), std::move(settings));
  };
  Listener listener;
  Trainer(config(folder, {"train.steps=16"}), listener, quick()).run();
  Trainer longer(config(folder, {"train.steps=30"}), listener, quick());
  EXPECT_EQ(longer.step(), 16u);
  longer.run();
  Trainer whole(config(straight, {"train.steps=30"}), listener, quick());
  whole.run();
  EXPECT_EQ(longer.state_bytes(), whole.state_bytes());

  const auto ramp = [&](const std::string& steps) {
    return config(ramped, {"data.sources=[{name: shapes, generator: shapes}, {name: noise, "
                           "generator: noise}]",
                           "data.schedule=[{at: 0, weights: {shapes: 1, noise: 0}}, {at: 1, "
                           "weights: {shapes: 0, noise: 1}}]",
                           steps});
  };
  Trainer(ramp("train.steps=16"), listener, quick()).run();
  expect_parts(
      message_of(ErrorKind::config, [&] { Trainer(ramp("train.steps=30"), listener, quick()); }),
      {"planned for 16 steps and cannot be extended to 30", "assignment of batch slots"});
}

TEST(TrainerTest, RepeatsAnInterruptedEvaluationAfterAResume) {
  const TemporaryFolder folder;
  const std::vector<std::string> averaged = {"train.ema=0.9"};
  Listener listener;
  {
    const SignalGuard guard;
    Trainer first(small_run(folder.path(), averaged), listener, quick());
    first.train_until(30);
    const std::vector<std::uint8_t> before = first.state_bytes();
    request_interrupt();  // at the last step, when only the evaluation is left
    const FinishReport finish = first.run();
    EXPECT_EQ(finish.status, RunStatus::interrupted);
    EXPECT_GT(finish.time.evaluations, 0) << "an interrupted evaluation is not training";
    EXPECT_EQ(first.state_bytes(), before) << "weights and their average must not be swapped";
  }
  EXPECT_TRUE(read_metrics(folder.path()).evaluations.empty());
  Trainer second(small_run(folder.path(), averaged), listener, quick());
  EXPECT_EQ(second.step(), 30u);
  EXPECT_EQ(second.run().status, RunStatus::finished);
  EXPECT_EQ(read_metrics(folder.path()).evaluations.size(), 1u);
}

TEST(TrainerTest, CutsMetricsBackToTheCheckpoint) {
  const TemporaryFolder folder;
  {
    const SignalGuard guard;
    Listener stopper;
    stopper.interrupt_at = 20;
    Trainer(small_run(folder.path()), stopper, quick()).run();
  }
  // As if the run had been killed when its last checkpoint was from step 10.
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
    if (entry.path().filename() != "step-10") std::filesystem::remove_all(entry.path());
  Listener listener;
  Trainer(small_run(folder.path()), listener, quick()).run();
  std::vector<std::uint64_t> steps;
  for (const StepReport& report : read_metrics(folder.path()).steps) steps.push_back(report.step);
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{4, 8, 12, 16, 20, 24, 28, 30}));
}

// On a GPU, the instruction set also names the plans of libraries, and on a CPU it depends on the
// precision.
TEST(TrainerTest, NotesAResumeWithOtherPlansOrInstructions) {
  struct NoteReader : Listener {
    std::vector<std::string> notes;
    void on_plan(const PlanReport& plan) override { notes = plan.notes; }
  };
  const TemporaryFolder folder;
  const auto run_until = [&](std::uint64_t step) {
    const SignalGuard guard;
    NoteReader reader;
    reader.interrupt_at = step;
    Trainer(small_run(folder.path(), {"precision=bf16"}), reader, quick()).run();
    return reader.notes;
  };
  run_until(12);
  const std::string computed = read_metrics(folder.path()).runs.at(0).instruction_set;
  if (small_run(folder.path()).device != "cpu") expect_parts(computed, {"cuda, library plans "});
  const auto deviates = [&](const std::string& note) {
    return note.find("later steps use " + computed + ": the weights may deviate") != note.npos;
  };
  EXPECT_TRUE(std::ranges::none_of(run_until(20), deviates));
  std::string metrics = slurp(folder / "metrics.jsonl");
  const std::string quoted = '"' + computed + '"';
  for (std::size_t at = 0; (at = metrics.find(quoted, at)) != metrics.npos; ++at)
    metrics[at + computed.size()] = '?';
  std::ofstream(folder / "metrics.jsonl") << metrics;
  EXPECT_TRUE(std::ranges::any_of(run_until(28), deviates));
}

TEST(TrainerTest, RefusesASecondRunInAFolder) {
  const TemporaryFolder folder;
  Listener listener;
  {
    const Trainer first(small_run(folder.path()), listener, quick());
    const std::string message = message_of(
        ErrorKind::runtime, [&] { Trainer(small_run(folder.path()), listener, quick()); });
    expect_parts(message, {folder.path().string() + ": in use by process ", "another out=FOLDER"});
    // A run without a folder needs no lock.
    EXPECT_EQ(Trainer(small_run(folder.path()), listener, in_memory()).step(), 0u);
  }
  EXPECT_EQ(Trainer(small_run(folder.path()), listener, quick()).run().step, 30u);
}

TEST(TrainerTest, LeavesAFinishedRunUnchanged) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer(small_run(folder.path()), listener, quick()).run();
  const std::string report = slurp(folder / "report.html"),
                    metrics = slurp(folder / "metrics.jsonl");
  Trainer second(small_run(folder.path()), listener, quick());
  const FinishReport finish = second.run();
  EXPECT_EQ(slurp(folder / "report.html"), report);
  EXPECT_EQ(slurp(folder / "metrics.jsonl"), metrics);
  EXPECT_EQ(finish.status, RunStatus::already_finished);
  EXPECT_EQ(finish.step, 30u);
  EXPECT_TRUE(finish.evaluation.has_value());
  EXPECT_TRUE(finish.checkpoint.has_value());
}

// The shape is the same, so only the content reveals the change.
TEST(TrainerTest, RefusesToResumeOnOtherContentOfAFile) {
  const TemporaryFolder folder;
  const auto write = [&](float first_value, std::int64_t last_label) {
    std::vector<float> x(40 * 3, 0.5f);
    x[0] = first_value;
    std::vector<std::int64_t> y(40, 1);
    y[0] = 0;
    y[39] = last_label;
    write_npy(folder / "x.npy", {ElementType::f32, {40, 3}}, bytes_of(x));
    write_npy(folder / "y.npy", {ElementType::i64, {40}}, bytes_of(y));
  };
  const auto run = [&](const std::string& steps) {
    return RunConfig::parse(
        "name: a\ndevice: cpu\nthreads: 1\ndata: {sources: [{name: real, kind: files, path: " +
            (folder / "x.npy").string() +
            ", labels: y.npy}]}\nmodel: {name: mlp, widths: [4]}\n"
            "optimizer: {floor: 1, warmup: 0}\ntrain: {batch: 8, steps: 4}\n",
        "a.yaml", std::vector<std::string>{"out=" + (folder / "out").string(), steps});
  };
  Listener listener;
  write(1, 1);
  Trainer(run("train.steps=4"), listener, quick()).run();
  for (const auto& [first_value, last_label] :
       std::vector<std::pair<float, std::int64_t>>{{2.f, 1}, {1.f, 0}}) {
    write(first_value, last_label);
    expect_parts(
        message_of(ErrorKind::data, [&] { Trainer(run("train.steps=6"), listener, quick()); }),
        {"the content of source 'real' has changed", "40 samples"});
  }
  write(1, 1);  // same content, written at another time
  EXPECT_EQ(Trainer(run("train.steps=6"), listener, quick()).run().step, 6u);
}

TEST(ResumeChoice, ParsesItsThreeForms) {
  EXPECT_EQ(ResumeChoice::parse("auto").kind, ResumeChoice::Kind::automatic);
  EXPECT_EQ(ResumeChoice::parse("never").kind, ResumeChoice::Kind::never);
  EXPECT_EQ(ResumeChoice::parse("a/b").path, "a/b");
}

}  // namespace
}  // namespace wellspring::test
