#include "train/trainer.h"

#include "core/signals.h"
#include "train/describe_run.h"
#include "train/evaluation/evaluation.h"
#include "train/finished_run.h"
#include "train/keep_best.h"
#include "train/metrics/run_times.h"
#include "train/normalised_data.h"
#include "train/run_failures.h"
#include "train/run_folder.h"
#include "train/run_progress.h"
#include "train/run_samples.h"
#include "train/run_state.h"
#include "train/step/metrics_windows.h"
#include "train/step/run_context.h"
#include "train/step/snapshot.h"
#include "train/step/step.h"
#include "train/step/step_marks.h"
#include "train/step/step_runner.h"
#include "train/step_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wellspring {
namespace fs = std::filesystem;

class Trainer::Impl {
 public:
  /// `training` replaces the sources that the configuration opens.
  Impl(RunConfig config, std::optional<Mixture> training, TrainObserver& observer,
       TrainerOptions options);

  FinishReport run();
  void train_until(std::uint64_t last);
  KeptBatches kept_batches() const { return step_.kept_batches(kept_.size()); }
  EvaluationReport evaluate();
  CheckpointReport checkpoint();
  StepTimes time_steps(std::uint64_t count, TimedPart part);
  std::vector<std::uint8_t> state_bytes() { return stored_bytes(stream_, context_.memory.state()); }

  RunConfig config;
  PlanReport plan;
  GraphCensus census;
  std::uint64_t step = 0;

 private:
  std::optional<FinishReport> finished_before();
  RunStatus train_and_evaluate();
  RunStatus train_loop();
  /// Prepares and launches steps before `last`. `marks` may be null.
  void advance(StepRunner& runner, std::uint64_t last, StepMarks* marks = nullptr);
  StepTimes time_kept_steps(std::uint64_t count);
  void keep_batches();
  void not_trained_since(RunClock::Clock::time_point begin, Pause pause);
  void on_window(const WindowLines& window);
  bool read_evaluation();
  EvaluationReport evaluate_weights(RunClock::Clock::time_point begin);
  void evaluate_and_keep();
  void keep_if_best();
  std::optional<fs::path> newest_checkpoint() const {
    return folder_ ? folder_->checkpoints().newest() : std::nullopt;
  }
  bool written() const { return last_checkpoint_ && last_checkpoint_->step == step; }
  /// A folder of a later step than the resumed one is left from before the resume.
  bool has_checkpoint_of_this_step() const {
    return step > first_step_ ? written()
                              : newest_checkpoint() == folder_->checkpoints().path_of(step);
  }
  /// True if this process has made steps since its last checkpoint, if any.
  bool lacks_checkpoint() const { return options_.write_files && step > first_step_ && !written(); }
  void save_preview();
  void save_predictions();
  std::string save_progress();
  [[noreturn]] void fail_data(const Error& error);

  std::uint64_t steps() const { return static_cast<std::uint64_t>(config.train.steps); }
  std::uint64_t log_every() const { return static_cast<std::uint64_t>(config.train.log_every); }
  bool every(std::int64_t n) const { return n > 0 && step % static_cast<std::uint64_t>(n) == 0; }
  bool evaluates_here() const {
    return !evaluator_.empty() && (step == steps() || every(config.evaluation.every));
  }
  RunProgress progress() const;

  TrainObserver& observer_;
  TrainerOptions options_;
  RunContext context_;
  Stream& stream_ = context_.stream;
  Mixture mixture_;
  SupervisedTask task_;
  Evaluator evaluator_;
  TrainingStep step_;
  StepLauncher launcher_{config, context_, mixture_, task_};
  MetricsWindows windows_;
  StepRunner runner_;
  BestKeeper best_;
  StepRunner data_alone_;         ///< recorded without warm-up, like kept_
  std::vector<StepRunner> kept_;  ///< steps on kept batches
  RunState state_;
  RunClock clock_{config.train.max_seconds(), options_.checkpoint_seconds};
  std::optional<RunFolder> folder_;  ///< nullopt: writes nothing
  WindowTimes window_times_;
  std::uint64_t first_step_ = 0;               ///< first step of this process
  std::optional<std::uint64_t> evaluated_at_;  ///< step of the last evaluation
  std::optional<EvaluationReport> last_evaluation_;
  std::optional<CheckpointReport> last_checkpoint_;
};

// Start

Trainer::Impl::Impl(RunConfig run_config, std::optional<Mixture> training, TrainObserver& observer,
                    TrainerOptions options)
    : config(std::move(run_config)),
      observer_(observer),
      options_(std::move(options)),
      context_(*options_.ranks, config),
      mixture_(
          open_normalised(config, std::move(training), options_, observer.watch(), plan.notes)),
      task_(config, context_, config.compute_type(context_.device()),
            SupervisedTask::Input::of(config, mixture_)),
      evaluator_(config, open_evaluated(config, task_.heads(), observer.watch()), task_, context_),
      step_(config, mixture_, task_, context_, options_.keep),
      windows_(context_, step_.ring(), [this](const WindowLines& window) { on_window(window); }),
      runner_(
          config.train.graph, [this](Stream& stream) { step_.enqueue(stream); }, context_.memory,
          config.train.steps_per_launch),
      best_(config, task_.heads()),
      data_alone_(
          config.train.graph, [this](Stream& s) { step_.enqueue_data(s); }, context_.memory,
          config.train.steps_per_launch, 0),
      state_(config, context_, mixture_, task_, step_, best_) {
  mixture_.plan(context_.memory, context_.share, steps());
  launcher_.expect_rows();
  context_.memory.check(config.memory_limit());
  observer_.on_memory(context_.memory.table());
  context_.memory.commit(config.memory_limit());
  // Lock the folder before reading its checkpoint: another process could be replacing it.
  if (options_.write_files && context_.is_first()) folder_.emplace(config);
  mixture_.load(stream_);
  for (std::string& note : mixture_.notes()) plan.notes.push_back(std::move(note));
  step_.load(stream_);
  evaluator_.load();
  if (context_.is_first())
    for (std::string& overlap : evaluator_.compare(mixture_, observer_.watch()))
      plan.notes.push_back(std::move(overlap));
  const RunState::Start start =
      state_.begin(options_.resume, folder_ ? &folder_->checkpoints() : nullptr, plan.notes);
  step = first_step_ = plan.first_step = start.step;
  task_.select_phase(step);
  clock_.resume(start.training_seconds);
  describe_run(plan, config, context_, mixture_, task_, folder_ ? &*folder_ : nullptr);
  if (std::ranges::any_of(plan.sources, &PlanReport::Input::streamed))
    windows_.mark_waits(context_.device(), log_every());
  runner_.on_record([this](const GraphCensus& recorded, std::uint64_t graph_steps) {
    if (graph_steps == 1) census = recorded;
    observer_.on_graph(recorded, graph_steps);
  });
  windows_.open(stream_, step - step % log_every(), step);
}

// Progress

FinishReport Trainer::Impl::run() {
  clock_.start();
  if (const auto before = finished_before()) return *before;
  if (folder_) folder_->open(config, plan, step, best_.progress().best);
  observer_.on_plan(plan);
  if (folder_ && step < steps()) state_.write(step, progress(), CheckpointWriting::rehearse);
  clock_.checkpointed();
  clock_.exclude(clock_.began(), Pause::start);
  const ProcessorTimes before = processor_times();
  FinishReport finish;
  finish.status = train_and_evaluate();
  finish.load = load_between(before, processor_times());
  if (options_.write_files && !context_.of_first(folder_ && has_checkpoint_of_this_step()))
    checkpoint();
  finish.time = clock_.spent();
  finish.time.clocks = windows_.clocks().ratio();
  window_times_.summarise(finish, plan);
  finish.limited_seconds = progress().training_seconds;
  finish.step = step;
  finish.evaluation = last_evaluation_;
  finish.checkpoint = last_checkpoint_;
  finish.best = best_.progress().best;
  if (folder_) folder_->write_report(config, plan, finish);
  context_.ranks.barrier();
  observer_.on_finish(finish);
  return finish;
}

/// The report of an earlier process if it has finished the run.
std::optional<FinishReport> Trainer::Impl::finished_before() {
  if (!options_.write_files || step != steps()) return std::nullopt;
  std::optional<FinishReport> report = folder_ ? finished_run(config) : std::nullopt;
  if (!context_.of_first(report.has_value())) return std::nullopt;
  if (!report) report.emplace().status = RunStatus::already_finished;
  report->step = step;
  return report;
}

RunStatus Trainer::Impl::train_and_evaluate() {
  try {
    // The evaluation at the resumed step is usually recorded; repeat it if a signal interrupted it.
    if (options_.write_files && step > 0 && step == first_step_) {
      if (read_evaluation())
        keep_if_best();
      else if (evaluates_here())
        evaluate_and_keep();
    }
    const RunStatus status = train_loop();
    if (status != RunStatus::interrupted && !evaluator_.empty() && evaluated_at_ != step)
      evaluate_and_keep();
    return status;
  } catch (const Interrupted&) {  // thrown by an evaluation, after its step is complete
    return RunStatus::interrupted;
  }
}

RunStatus Trainer::Impl::train_loop() {
  not_trained_since(RunClock::Clock::now(), Pause::start);
  RunDecision decision;
  bool damage_ahead = false;
  while (step < steps()) {
    const std::uint64_t count = launcher_.next(runner_, step, damage_ahead ? step + 1 : steps());
    windows_.before_rows(stream_);
    const std::optional<Error> damage = launcher_.prepare(step, count);
    windows_.rows_ready(stream_);
    decision = decide(context_, clock_, best_, observer_, damage.has_value());
    if (decision.checkpoint_now && !decision.end && lacks_checkpoint()) {
      checkpoint();
      continue;
    }
    if (decision.damaged && count > 1) {
      damage_ahead = true;  // trains up to the damaged step
      continue;
    }
    if (decision.damaged) end_damaged(context_, step, damage, save_progress());
    if (decision.end) break;
    launcher_.launch(runner_, step, count);
    windows_.launched(stream_);
    step += count;
    if (folder_ && brings_a_source(mixture_, step - 1)) save_preview();
    if (step % log_every() == 0) windows_.close(stream_, step);
    if (step == steps()) break;  // run() writes the last checkpoint
    if (evaluates_here()) evaluate_and_keep();
    const std::int64_t checkpoint_every = config.train.checkpoint_every;
    const bool due = checkpoint_every > 0 ? every(checkpoint_every) : decision.checkpoint_due;
    if (due && lacks_checkpoint()) checkpoint();
  }
  if (step == steps() && step % log_every() != 0) windows_.close(stream_, step);
  windows_.flush(stream_);
  state_.require_finite(newest_checkpoint());
  return decision.end.value_or(RunStatus::finished);
}

RunProgress Trainer::Impl::progress() const {
  RunProgress progress = best_.progress();
  if (!config.train.max_time.empty()) progress.training_seconds = clock_.all_training_seconds();
  return progress;
}

/// Excludes the time since `begin` and restarts the clock of the open window.
void Trainer::Impl::not_trained_since(RunClock::Clock::time_point begin, Pause pause) {
  clock_.exclude(begin, pause);
  windows_.interrupt(stream_, step);
}

void Trainer::Impl::advance(StepRunner& runner, std::uint64_t last, StepMarks* marks) {
  std::uint64_t count = launcher_.next(runner, step, last);
  std::optional<Error> damage = launcher_.prepare(step, count);
  if (damage && count > 1) damage = launcher_.prepare(step, count = 1);  // damage may be further on
  if (damage) fail_data(*damage);
  if (marks != nullptr) marks->data_ready();
  launcher_.launch(runner, step, count);
  step += count;
  if (marks != nullptr) marks->launch_ended(count);
}

void Trainer::Impl::train_until(std::uint64_t last) {
  while (step < last) {
    advance(runner_, last);
    if (step % log_every() == 0) windows_.close(stream_, step);
  }
  windows_.flush(stream_);
}

StepTimes Trainer::Impl::time_steps(std::uint64_t count, TimedPart part) {
  train_until(std::max(step, first_step_ + StepRunner::kWarmUpSteps) + 1);
  if (part == TimedPart::without_data) return time_kept_steps(count);
  StepRunner& runner = part == TimedPart::whole ? runner_ : data_alone_;
  if (part == TimedPart::data_alone) advance(runner, step + 1);  // records the step
  StepMarks marks(stream_, count);
  for (const std::uint64_t last = step + count; step < last;) {
    advance(runner, last, &marks);
    if (step % log_every() == 0) windows_.close(stream_, step);
  }
  const StepTimes times = marks.times();
  windows_.flush(stream_);
  return times;
}

StepTimes Trainer::Impl::time_kept_steps(std::uint64_t count) {
  const bool first = kept_.empty();
  if (first) keep_batches();
  StepTimes times = time_repeated(kept_, first, stream_, context_.memory, step, count);
  windows_.interrupt(stream_, step);
  return times;
}

/// Keeps the batches of the next steps.
void Trainer::Impl::keep_batches() {
  const auto end = RunClock::Clock::now() + std::chrono::duration<double>(options_.keep_seconds);
  for (std::size_t k = 0; k < std::max<std::size_t>(1, step_.kept_batches()); ++k) {
    if (k > 0 && k >= options_.keep.least && RunClock::Clock::now() > end) return;
    if (step_.kept_batches() > 0) {
      train_until(step + 1);
      step_.keep(stream_, k);
    }
    kept_.emplace_back(
        config.train.graph, [this, k](Stream& s) { step_.enqueue_kept(s, k); }, context_.memory,
        config.train.steps_per_launch, 0);
  }
}

void Trainer::Impl::on_window(const WindowLines& window) {
  const auto begin = RunClock::Clock::now();
  for (std::uint64_t s = window.first; s < window.last; ++s)
    if (const auto flag = window.line(s).nonfinite; flag != 0)
      fail_nonfinite(flag - 1, newest_checkpoint());
  StepReport report =
      summarise_window(window, mixture_, step_.losses(), config.train.batch, steps());
  // The first steps of a process are slow: they select kernels and record the graph.
  const bool first = window.first <= first_step_ + StepRunner::kWarmUpSteps;
  if (first) report.clean = false;
  window_times_.add(report, window.seconds, window.last - window.timed_from, first);
  if (folder_ && folder_->metrics() != nullptr) folder_->metrics()->write(report);
  observer_.on_step_metrics(report);
  window_times_.reported_since(begin);
}

// Evaluation

/// Rank 0 reads the recorded evaluation of this step. Returns on all ranks whether there was one.
bool Trainer::Impl::read_evaluation() {
  if (folder_) last_evaluation_ = evaluation_at(folder_->path(), step);
  const bool found = context_.of_first(last_evaluation_.has_value());
  if (found) evaluated_at_ = step;
  return found;
}

EvaluationReport Trainer::Impl::evaluate() {
  const auto begin = RunClock::Clock::now();
  windows_.flush(stream_);
  const EvaluationReport result = evaluate_weights(begin);
  if (folder_ && folder_->metrics() != nullptr) folder_->metrics()->write(result);
  observer_.on_evaluation(result);
  last_evaluation_ = result;
  evaluated_at_ = step;
  not_trained_since(begin, Pause::evaluation);
  return result;
}

/// Evaluates the weights that the run exports. If that ends early, excludes the time since `begin`.
EvaluationReport Trainer::Impl::evaluate_weights(RunClock::Clock::time_point begin) {
  const auto swap_average = [&] {
    if (config.train.exports_average()) task_.parameters().swap_average(stream_);
  };
  swap_average();
  state_.share_running_statistics();
  EvaluationReport result;
  try {
    result = evaluator_.evaluate(step, observer_.watch());
    if (folder_) save_predictions();
  } catch (const Error& error) {
    swap_average();
    clock_.exclude(begin, Pause::evaluation);
    fail_data(error);
  } catch (const Interrupted&) {
    swap_average();
    clock_.exclude(begin, Pause::evaluation);
    throw;
  }
  swap_average();
  return result;
}

void Trainer::Impl::evaluate_and_keep() {
  evaluate();
  keep_if_best();
}

/// Writes a checkpoint if the last evaluation is the best of the run.
void Trainer::Impl::keep_if_best() {
  try {
    const bool better = context_.is_first() && best_.compare(*last_evaluation_);
    if (context_.of_first(better) && options_.write_files) checkpoint();
  } catch (const Error& error) {
    fail_data(error);
  }
}

// Files

CheckpointReport Trainer::Impl::checkpoint() {
  const auto begin = RunClock::Clock::now();
  windows_.flush(stream_);
  state_.require_finite(newest_checkpoint());
  if (folder_) folder_->sync_metrics();
  const CheckpointReport result = state_.write(step, progress(), CheckpointWriting::keep);
  observer_.on_checkpoint(result);
  last_checkpoint_ = result;
  clock_.checkpointed();
  not_trained_since(begin, Pause::checkpoint);
  return result;
}

void Trainer::Impl::save_predictions() {
  constexpr std::int64_t kShown = 8;  // samples
  try {
    if (const auto predictions = evaluator_.predict_pixels(kShown))
      folder_->write_predictions(
          picture_of(*predictions, config, *evaluator_.samples().mixture, step));
  } catch (const Interrupted&) {
    // The evaluation is complete, on all ranks; only the picture is left out.
  }
}

void Trainer::Impl::save_preview() {
  const auto begin = RunClock::Clock::now();
  if (step > 1) windows_.pause(stream_);
  stream_.synchronize();
  const Preview preview = preview_batch(config, mixture_, stream_, step_.batch(), step - 1);
  folder_->write_preview(step - 1, preview.image);
  if (step > 1) not_trained_since(begin, Pause::picture);
}

/// Saves this process's steps before it ends because of damaged data. All ranks call it. Returns
/// advice.
std::string Trainer::Impl::save_progress() {
  if (!options_.write_files || step == first_step_) return "";
  if (!context_.of_first(folder_ && has_checkpoint_of_this_step())) checkpoint();
  return fmt::format("progress is saved in {}; once that is fixed, the same command resumes it",
                     CheckpointStore(config.folder()).path_of(step).string());
}

/// Saves nothing if other ranks may be in the middle of a step. Called from a catch block.
void Trainer::Impl::fail_data(const Error& error) {
  if (error.kind() != ErrorKind::data) throw;
  const bool saves = context_.ranks.size() == 1 && folder_ && folder_->metrics() != nullptr;
  fail_damaged(step, error, saves ? save_progress() : "");
}

Trainer::Trainer(RunConfig config, TrainObserver& observer, TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::nullopt, observer, std::move(options))) {
}
Trainer::Trainer(RunConfig config, Mixture training, TrainObserver& observer,
                 TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(training), observer,
                                   std::move(options))) {}
Trainer::~Trainer() = default;

FinishReport Trainer::run() {
  return impl_->run();
}
void Trainer::train_until(std::uint64_t last) {
  impl_->train_until(last);
}
KeptBatches Trainer::kept_batches() const {
  return impl_->kept_batches();
}
std::uint64_t Trainer::step() const {
  return impl_->step;
}
EvaluationReport Trainer::evaluate() {
  return impl_->evaluate();
}
CheckpointReport Trainer::checkpoint() {
  return impl_->checkpoint();
}
StepTimes Trainer::time_steps(std::uint64_t count, TimedPart part) {
  return impl_->time_steps(count, part);
}
const RunConfig& Trainer::config() const {
  return impl_->config;
}
const PlanReport& Trainer::plan() const {
  return impl_->plan;
}
const GraphCensus& Trainer::census() const {
  return impl_->census;
}
std::vector<std::uint8_t> Trainer::state_bytes() {
  return impl_->state_bytes();
}

}  // namespace wellspring
