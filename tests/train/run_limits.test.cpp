// train.keep_best, train.patience and train.max_time, including across resumes.
#include "core/io/npy.h"
#include "core/signals.h"
#include "tests/train/training_testing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/keep_best.h"
#include "train/metrics/metrics_log.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <thread>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

/// Interrupts the run or waits during its evaluation.
struct EvaluationListener : Listener {
  std::uint64_t interrupt_at_evaluation = UINT64_MAX;
  void on_evaluation(const EvaluationReport& report) override {
    Listener::on_evaluation(report);
    if (report.step == interrupt_at_evaluation) request_interrupt();
  }
};

/// Evaluates every two steps; the learning rate is so high that the loss on the random labels of
/// `noise` rises and falls.
RunConfig limited_run(const fs::path& folder, std::vector<std::string> settings = {}) {
  settings.insert(settings.begin(),
                  {"eval.every=2", "optimizer.lr=0.1", "train.keep=1", "train.checkpoint_every=5"});
  return small_run(folder, std::move(settings));
}

std::string best_folder(const fs::path& run) {
  return fs::read_symlink(run / "checkpoints/best").string();
}

/// The step with the smallest loss on `source` (the first of equal ones).
BestReport smallest_loss(const fs::path& run, const std::string& source) {
  BestReport best{source + ".loss", std::numeric_limits<double>::infinity(), 0};
  for (const EvaluationReport& report : read_metrics(run).evaluations)
    for (const EvaluationResult& result : report.results)
      if (result.name == source && result.loss < best.value) {
        best.value = result.loss;
        best.step = report.step;
      }
  return best;
}

EvaluationReport evaluation(std::uint64_t step, double loss, double accuracy = 0) {
  EvaluationResult shapes;
  shapes.name = shapes.head = "shapes";
  shapes.samples = 20;
  shapes.loss = loss;
  shapes.accuracy = accuracy;
  shapes.heads = {{"shapes", loss, {{"accuracy", accuracy}}}};
  return {step, 0, {shapes}, {}};
}

TEST(KeepBest, KeepsTheCheckpointOfTheBestEvaluation) {
  const TemporaryFolder folder;
  Listener listener;
  const FinishReport finish =
      Trainer(limited_run(folder.path(), {"train.keep_best=noise.loss"}), listener, quick()).run();
  const BestReport best = smallest_loss(folder.path(), "noise");
  ASSERT_LT(best.step, 28u) << "the best checkpoint would be kept anyway";
  EXPECT_EQ(finish.best, best);
  EXPECT_EQ(best_folder(folder.path()), "step-" + std::to_string(best.step));
  EXPECT_EQ(finish.best_checkpoint, folder / "checkpoints/best");
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{best.step, 30}));
  const CheckpointHeader header = read_checkpoint_header(folder / "checkpoints/best");
  EXPECT_EQ(header.step, best.step);
  EXPECT_EQ(header.progress.best, best);
  for (const auto& entry : header.files)
    check_digest(folder / "checkpoints/best" / entry.first, header);
  expect_parts(slurp(folder / "checkpoints/best/model.safetensors"), {best.to_string()});
  expect_parts(slurp(folder / "report.html"), {"best checkpoint", best.to_string()});
}

TEST(KeepBest, ResumesToEqualBytes) {
  std::uint64_t earliest = UINT64_MAX;
  for (const auto& [figure, graph] : std::vector<std::pair<std::string, std::string>>{
           {"noise.loss", "on"}, {"shapes.accuracy", "on"}, {"noise.accuracy", "check"}}) {
    SCOPED_TRACE(figure);
    const std::vector<std::string> all = {"train.keep_best=" + figure, "train.patience=9",
                                          "train.log_every=3", "train.graph=" + graph};
    const TemporaryFolder straight, broken;
    Listener listener;
    const FinishReport whole = Trainer(limited_run(straight.path(), all), listener, quick()).run();
    for (const std::uint64_t at : {2u, 6u, 12u}) {  // the first evaluation is the best one so far
      const SignalGuard guard;
      EvaluationListener stopper;
      stopper.interrupt_at_evaluation = at;
      Trainer part(limited_run(broken.path(), all), stopper, quick());
      EXPECT_EQ(part.run().status, RunStatus::interrupted);
      EXPECT_EQ(part.step(), at);
    }
    earliest = std::min(earliest, whole.best->step);
    const FinishReport last = Trainer(limited_run(broken.path(), all), listener, quick()).run();
    EXPECT_EQ(last.status, whole.status);
    EXPECT_EQ(last.step, whole.step);
    EXPECT_EQ(last.best, whole.best);
    EXPECT_EQ(best_folder(broken.path()), best_folder(straight.path()));
    for (const char* name : {"checkpoint.json", "model.safetensors", "state.safetensors"})
      for (const fs::path& at : {fs::path("best"), whole.checkpoint->path.filename()})
        EXPECT_EQ(slurp(straight.path() / "checkpoints" / at / name),
                  slurp(broken.path() / "checkpoints" / at / name))
            << at << " " << name;
    EXPECT_EQ(read_metrics(broken.path()).evaluations.size(),
              read_metrics(straight.path()).evaluations.size());
  }
  EXPECT_LT(earliest, 12u) << "no best value is older than the last resume";
}

// The evaluation at the resumed step is on record, but not in the state of the step's checkpoint: a
// signal had interrupted it, and the process that repeated it was killed.
TEST(KeepBest, CountsARecordedEvaluation) {
  const TemporaryFolder folder;
  const std::vector<std::string> settings = {"train.keep_best=loss"};
  Listener listener;
  {
    const SignalGuard guard;
    Trainer first(limited_run(folder.path(), settings), listener, quick());
    first.train_until(2);
    first.checkpoint();
  }
  write_file(folder / "metrics.jsonl", to_line(evaluation(2, -1)));
  const FinishReport finish =
      Trainer(limited_run(folder.path(), settings), listener, quick()).run();
  EXPECT_EQ(finish.best, (BestReport{"shapes.loss", -1, 2}));
  EXPECT_EQ(best_folder(folder.path()), "step-2");
}

// A process can be killed after it has written the best checkpoint and before it has marked it.
TEST(KeepBest, RepairsItsMark) {
  const TemporaryFolder folder;
  EvaluationListener stopper;
  const auto until = [&](std::uint64_t step) {
    const SignalGuard guard;
    stopper.interrupt_at_evaluation = step;
    // The weights do not move, so the first evaluation stays the best.
    Trainer trainer(small_run(folder.path(), {"train.keep_best=loss", "eval.every=2",
                                              "train.keep=1", "optimizer.lr=1e-30"}),
                    stopper, quick());
    trainer.run();
    return trainer.step();
  };
  ASSERT_EQ(until(4), 4u);
  fs::remove(folder / "checkpoints/best");
  fs::create_symlink("step-1", folder / "checkpoints/best");
  ASSERT_EQ(until(6), 6u);
  EXPECT_EQ(best_folder(folder.path()), "step-2");
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{2, 6}));
  // A text file, as on file systems without symbolic links.
  const fs::path best = folder / "checkpoints/best";
  fs::remove(best);
  spill(best, "step-2\n");
  ASSERT_EQ(until(8), 8u);
  EXPECT_FALSE(fs::is_symlink(best));
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{2, 8}));
  EXPECT_EQ(find_checkpoint(best), folder / "checkpoints/step-2");
  EXPECT_EQ(find_model_file(best), folder / "checkpoints/step-2/model.safetensors");
  spill(best, "step-4\n");
  expect_parts(message_of(ErrorKind::data, [&] { find_model_file(best); }), {"step-4"});
  spill(best, "notes of mine\n");
  EXPECT_EQ(find_model_file(best), best) << "some file, refused when it is read";
}

TEST(KeepBest, KeepsTheMarkWhenItIsTurnedOffAndStartsAgainForAnotherFigure) {
  const TemporaryFolder folder;
  EvaluationListener stopper;
  const auto until = [&](std::uint64_t step, std::vector<std::string> settings) {
    const SignalGuard guard;
    stopper.interrupt_at_evaluation = step;
    Trainer trainer(limited_run(folder.path(), std::move(settings)), stopper, quick());
    trainer.run();
    return trainer.plan().notes;
  };
  until(2, {"train.keep_best=loss"});
  until(8, {});
  EXPECT_EQ(best_folder(folder.path()), "step-2");
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{2, 8}));
  std::string notes;
  for (const std::string& note : until(10, {"train.keep_best=noise.accuracy"}))
    notes += note + "\n";
  expect_parts(notes, {"train.keep_best followed shapes.loss so far"});
  EXPECT_NE(best_folder(folder.path()), "step-2");
}

TEST(KeepBest, StartsAgainInAnotherFolder) {
  const TemporaryFolder folder, other;
  Listener listener;
  const std::vector<std::string> settings = {"train.keep_best=loss", "optimizer.lr=1e-30",
                                             "eval.every=2", "train.keep=1"};
  ASSERT_EQ(Trainer(small_run(folder.path(), settings), listener, quick()).run().best->step, 2u);
  const ResumeChoice newest = ResumeChoice::parse((folder / "checkpoints/step-30").string());
  Trainer trainer(small_run(other.path(), settings), listener, quick(newest));
  std::string notes;
  for (const std::string& note : trainer.plan().notes) notes += note + "\n";
  expect_parts(notes, {"the best checkpoint so far (step 2) is not in", "starts again"});
  EXPECT_EQ(trainer.run().best->step, 30u);
  EXPECT_EQ(best_folder(other.path()), "step-30");
}

TEST(Patience, StopsARunThatAHigherOneContinues) {
  const TemporaryFolder folder, straight;
  // The weights do not move: all evaluations are ties, and the first one stays the best.
  const std::vector<std::string> still = {"optimizer.lr=1e-30", "train.keep_best=accuracy"};
  const auto with = [&](const TemporaryFolder& where, const std::string& patience) {
    std::vector<std::string> settings = still;
    settings.push_back(patience);
    settings.emplace_back("eval.every=3");
    settings.insert(settings.end(), {"train.keep=2", "train.checkpoint_every=0"});
    return small_run(where.path(), std::move(settings));
  };
  Listener listener;
  const FinishReport stopped = Trainer(with(folder, "train.patience=4"), listener, quick()).run();
  EXPECT_EQ(stopped.status, RunStatus::out_of_patience);
  EXPECT_EQ(stopped.step, 15u);
  EXPECT_EQ(stopped.best->step, 3u);
  EXPECT_EQ(CheckpointStore(folder.path()).steps(), (std::vector<std::uint64_t>{3, 15}));
  expect_parts(slurp(folder / "report.html"), {"stopped by train.patience"});
  const FinishReport again = Trainer(with(folder, "train.patience=4"), listener, quick()).run();
  EXPECT_EQ(again.status, RunStatus::out_of_patience);
  EXPECT_EQ(again.step, 15u);
  EXPECT_EQ(read_metrics(folder.path()).evaluations.size(), 5u) << "not evaluated again";

  Trainer longer(with(folder, "train.patience=99"), listener, quick());
  EXPECT_EQ(longer.run().status, RunStatus::finished);
  Trainer whole(with(straight, "train.patience=0"), listener, quick());
  whole.run();
  EXPECT_EQ(longer.state_bytes(), whole.state_bytes());
}

/// Spends more than the time limit in the window that ends at `step`.
struct SlowListener : Listener {
  std::uint64_t step = 12;
  void on_step_metrics(const StepReport& report) override {
    Listener::on_step_metrics(report);
    if (report.step == step) std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  }
};

TEST(MaxTime, StopsARunThatAHigherOneContinues) {
  const TemporaryFolder folder, straight;
  const auto with = [](const TemporaryFolder& where, const std::string& limit) {
    return small_run(where.path(), {"train.max_time=" + limit, "train.keep_best=loss",
                                    "train.patience=2", "eval.every=29"});
  };
  SlowListener slow;
  const FinishReport stopped = Trainer(with(folder, "2 s"), slow, quick()).run();
  EXPECT_EQ(stopped.status, RunStatus::out_of_time);
  EXPECT_GT(stopped.step, 0u);
  EXPECT_LT(stopped.step, 30u);
  ASSERT_TRUE(stopped.evaluation.has_value());
  EXPECT_EQ(stopped.evaluation->step, stopped.step) << "a final evaluation";
  EXPECT_FALSE(stopped.best.has_value()) << "which takes no part in the search";
  EXPECT_GE(stopped.limited_seconds, 2.0);
  EXPECT_EQ(CheckpointStore(folder.path()).steps().back(), stopped.step);
  // The time accumulates over processes.
  const FinishReport again = Trainer(with(folder, "2 s"), slow, quick()).run();
  EXPECT_EQ(again.status, RunStatus::out_of_time);
  EXPECT_EQ(again.step, stopped.step);
  EXPECT_EQ(read_metrics(folder.path()).evaluations.size(), 1u);

  Listener listener;
  Trainer longer(with(folder, "10 d"), listener, quick());
  EXPECT_EQ(longer.step(), stopped.step);
  const FinishReport finished = longer.run();
  EXPECT_EQ(finished.status, RunStatus::finished);
  Trainer whole(with(straight, "10 d"), listener, quick());
  EXPECT_EQ(whole.run().best, finished.best);
  EXPECT_EQ(longer.state_bytes(), whole.state_bytes());
  std::uint64_t covered = 0;
  for (const StepReport& report : read_metrics(folder.path()).steps) covered += report.window;
  EXPECT_EQ(covered, 30u) << "each step is in one window";
}

// The held-out samples have one class, so there is no area. The progress so far is kept, and the
// run can continue with another figure.
TEST(KeepBest, EndsAtTheFirstEvaluationWithoutTheFigure) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::int32_t classes) {
    std::vector<float> x(64);
    std::vector<std::int32_t> label(16);
    for (int i = 0; i < 16; ++i) label[static_cast<std::size_t>(i)] = i % classes;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 64) / 64;
    NpzWriter file(folder / name);
    file.add("x", {ElementType::f32, {16, 4}}, std::as_bytes(std::span(x)));
    file.add("label", {ElementType::i32, {16}}, std::as_bytes(std::span(label)));
    file.commit();
  };
  write("train.npz", 2);
  write("val.npz", 1);
  const auto run = [&](const std::string& figure) {
    const RunConfig config = RunConfig::parse(
        fmt::format("out: {0}/run\ndevice: cpu\nthreads: 1\n"
                    "data: {{sources: [{{name: a, kind: files, path: {0}/train.npz}}]}}\n"
                    "eval: {{every: 3, sources: [{{of: a, path: {0}/val.npz, classes: 2}}]}}\n"
                    "model: {{name: mlp, widths: [4]}}\n"
                    "train: {{batch: 4, steps: 7, keep_best: {1}}}\n",
                    folder.path().string(), figure),
        "run.yaml");
    Listener listener;
    return Trainer(config, listener, quick()).run();
  };
  const auto refused = [&] {
    return message_of(ErrorKind::data, [&] { run("area under the curve"); });
  };
  const std::string message = refused();
  expect_parts(message, {"step 3: train.keep_best", "a.area under the curve", "of one class",
                         "another train.keep_best", "checkpoints/step-3"});
  expect_parts(refused(), {"step 3: train.keep_best"});
  EXPECT_TRUE(run("loss").best.has_value());
}

class Keeper : public testing::Test {
 protected:
  static BestKeeper of(const std::string& figure, const std::string& patience = "0") {
    HeadSpec head;
    head.name = "shapes";
    head.classes = {"a", "b"};
    return BestKeeper(small_run("unused", {"train.keep_best=" + figure,
                                           "train.patience=" + patience, "eval.every=10"}),
                      {head});
  }
  /// The first message of a keeper that continues at step 10.
  static std::string resumed(BestKeeper& keeper, const RunProgress& progress) {
    std::vector<std::string> notes;
    keeper.resume(progress, 10, nullptr, notes);
    return notes.empty() ? "" : notes.front();
  }
};

TEST_F(Keeper, PrefersTheLargerAccuracyAndTheSmallerLossAndTheEarlierOfEqualOnes) {
  BestKeeper accuracy = of("accuracy"), loss = of("shapes.loss");
  EXPECT_TRUE(accuracy.compare(evaluation(10, 2, 0.5)));
  EXPECT_FALSE(accuracy.compare(evaluation(20, 1, 0.5)));
  EXPECT_TRUE(accuracy.compare(evaluation(30, 3, 0.6)));
  EXPECT_EQ(accuracy.progress().best, (BestReport{"shapes.accuracy", 0.6, 30}));
  EXPECT_TRUE(loss.compare(evaluation(10, 2, 0.5)));
  EXPECT_FALSE(loss.compare(evaluation(20, 2, 0.9)));
  EXPECT_TRUE(loss.compare(evaluation(30, 1, 0.1)));
}

TEST_F(Keeper, NeverPrefersValuesThatAreNotFinite) {
  BestKeeper keeper = of("loss", "3");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(keeper.compare(evaluation(10, nan, 0)));
  EXPECT_FALSE(keeper.compare(evaluation(20, -std::numeric_limits<double>::infinity(), 0)));
  EXPECT_FALSE(keeper.progress().best.has_value());
  EXPECT_TRUE(keeper.compare(evaluation(30, 5, 0)));
  EXPECT_FALSE(keeper.compare(evaluation(40, nan, 0)));
  EXPECT_EQ(keeper.progress().best->step, 30u);
}

TEST_F(Keeper, RefusesAFigureThatIsNeverThere) {
  const auto refused = [](BestKeeper& keeper, const EvaluationReport& report) {
    return message_of(ErrorKind::data, [&] { keeper.compare(report); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // One class only: the area is missing.
  EvaluationReport one_class = evaluation(10, 1, 0.5), many = one_class, diverged = one_class;
  ClassifierReport classes;
  classes.classes = {{"a", 20}, {"b", 0}};
  one_class.results[0].heads[0].classifier = classes;
  classes.classes[1].samples = 20;
  many.results[0].heads[0].classifier = classes;
  diverged.results[0].heads[0].classifier = classes;
  diverged.results[0].loss = nan;
  BestKeeper area = of("area under the curve");
  EXPECT_FALSE(area.compare(diverged)) << "may appear later";
  one_class.step = many.step = 20;
  const std::string message = refused(area, one_class);
  expect_parts(message, {"train.keep_best", "shapes.area under the curve", "of one class"});
  EXPECT_EQ(refused(area, one_class), message) << "also when a resumed run reads it again";
  expect_parts(refused(area, many), {"too many scores to keep in memory"});
  // Never finite: refused at the last step, 30.
  BestKeeper loss = of("loss");
  EXPECT_FALSE(loss.compare(evaluation(20, nan)));
  expect_parts(refused(loss, evaluation(30, nan)), {"shapes.loss", "not finite in any evaluation"});
  BestKeeper better = of("loss");
  EXPECT_TRUE(better.compare(evaluation(20, 1)));
  EXPECT_FALSE(better.compare(evaluation(30, nan)));
}

TEST_F(Keeper, CountsEachScheduledEvaluationOnce) {
  BestKeeper keeper = of("loss", "2");
  keeper.compare(evaluation(10, 1, 0));
  keeper.compare(evaluation(20, 2, 0));
  keeper.compare(evaluation(20, 2, 0));  // the same, read from the metrics after a resume
  EXPECT_FALSE(keeper.compare(evaluation(25, 0.5, 0))) << "at a time limit";
  EXPECT_FALSE(keeper.out_of_patience());
  keeper.compare(evaluation(30, 2, 0));
  EXPECT_TRUE(keeper.out_of_patience());
  keeper.compare(evaluation(40, 0.5, 0));
  EXPECT_FALSE(keeper.out_of_patience());
}

TEST_F(Keeper, ComparesTheLastStep) {
  HeadSpec head;
  head.classes = {"a", "b"};
  BestKeeper keeper(small_run("unused", {"train.keep_best=loss", "eval.every=20"}), {head});
  EXPECT_TRUE(keeper.compare(evaluation(20, 2, 0)));
  EXPECT_FALSE(keeper.compare(evaluation(29, 1, 0)));
  EXPECT_TRUE(keeper.compare(evaluation(30, 1, 0)));
}

TEST_F(Keeper, StartsAgainWithOtherHeldOutSets) {
  BestKeeper before = of("loss");
  before.compare(evaluation(10, 1, 0));
  BestKeeper same = of("loss");
  EXPECT_EQ(resumed(same, before.progress()), "");
  EXPECT_EQ(same.progress(), before.progress());
  HeadSpec head;
  head.classes = {"a", "b"};
  const auto changed = [&](const std::string& setting) {
    return BestKeeper(small_run("unused", {"train.keep_best=loss", "eval.every=10", setting}),
                      {head});
  };
  BestKeeper other = changed("eval.samples=7");
  expect_parts(resumed(other, before.progress()), {"the held-out sets have changed"});
  EXPECT_FALSE(other.progress().best.has_value());
  EXPECT_FALSE(other.compare(evaluation(10, 0.5, 0))) << "used the earlier sets";
  EXPECT_TRUE(other.compare(evaluation(20, 3, 0)));
  BestKeeper other_signal = changed("eval.signal=a");
  EXPECT_EQ(resumed(other_signal, before.progress()), "") << "the area is the same";
  BestKeeper more_patient = changed("train.patience=5");
  EXPECT_EQ(resumed(more_patient, before.progress()), "");
}

TEST_F(Keeper, CountsNothingWithoutPatience) {
  BestKeeper keeper = of("loss");
  keeper.compare(evaluation(10, 1, 0));
  keeper.compare(evaluation(20, 2, 0));
  EXPECT_EQ(keeper.progress().since_best, 0u);
}

TEST(FigureToKeep, RefusesWhatAnEvaluationCanLackAndPatienceWithoutEvaluations) {
  HeadSpec head;
  head.name = "labels";
  head.classes = {"a", "b"};
  const auto figure = [&](std::vector<std::string> settings) {
    return figure_to_keep(small_run("unused", std::move(settings)), {head});
  };
  expect_parts(
      message_of(ErrorKind::config,
                 [&] {
                   figure({"train.keep_best=background rejection at 30 %", "eval.every=5"});
                 }),
      {"cannot be followed", "no background sample passes", "area under the curve"});
  expect_parts(message_of(ErrorKind::config,
                          [&] {
                            figure({"train.keep_best=loss", "train.patience=1", "eval.every=31"});
                          }),
               {"train.patience: eval.every is 31", "only 30 steps"});
  EXPECT_EQ(figure({"train.keep_best=labels/accuracy", "eval.every=5"})->name(), "shapes.accuracy");
  EXPECT_EQ(figure({"train.keep_best=noise.labels/loss", "eval.every=5"})->name(), "noise.loss");
}

TEST(FigureToKeep, NamesScoresOfAllHeldOutSources) {
  HeadSpec labels, energy;
  labels.name = "labels";
  labels.classes = {"a", "b", "c"};
  energy.name = "energy";
  energy.loss = LossKind::regression;
  energy.targets = {{"E", "GeV", 0, 1}};
  const auto figure = [&](const std::string& text) {
    return figure_to_keep(small_run("unused", {"train.keep_best=" + text, "eval.every=5"}),
                          {labels, energy});
  };
  EXPECT_EQ(figure("accuracy")->name(), "shapes.accuracy");
  EXPECT_EQ(figure("noise.accuracy")->name(), "noise.accuracy");
  EXPECT_EQ(figure("labels/accuracy")->name(), "shapes.labels/accuracy");
  const std::optional<HeldOutFigure> loss = figure("energy/loss");
  EvaluationReport report = evaluation(5, 3);
  report.results[0].heads = {{"labels", 2, {}}, {"energy", 1, {}}};
  EXPECT_EQ(loss->better, HeldOutFigure::Better::smaller);
  EXPECT_EQ(loss->value_in(report), 1.0);
  EXPECT_EQ(figure("noise.rmse of E")->better, HeldOutFigure::Better::smaller);
  EXPECT_EQ(figure_to_keep(small_run("unused"), {labels}), std::nullopt);
  expect_parts(message_of(ErrorKind::config, [&] { figure("acuracy"); }),
               {"no held-out figure 'acuracy'", "did you mean 'accuracy'?", "noise.mae of E"});
  EXPECT_THROW(figure("area under the curve"), Error) << "three classes";
}

}  // namespace
}  // namespace wellspring::test
