#include "train/trainer.h"

#include "core/signals.h"
#include "core/text/plural.h"
#include "train/checkpoint/data_identity.h"
#include "train/checkpoint/same_run.h"
#include "train/describe_run.h"
#include "train/evaluation/evaluation.h"
#include "train/finished_run.h"
#include "train/keep_best.h"
#include "train/metrics/rates.h"
#include "train/normalised_data.h"
#include "train/run_failures.h"
#include "train/run_folder.h"
#include "train/run_samples.h"
#include "train/step/metrics_windows.h"
#include "train/step/snapshot.h"
#include "train/step/step.h"
#include "train/step/step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
/// State blocks whose size depends on log_every, which may change on resume.
const std::vector<std::string> kRingBlocks = {"metrics/ring", "metrics/sums of the ring"};

}  // namespace

class Trainer::Impl {
 public:
  /// `training` replaces the sources that the configuration opens.
  Impl(RunConfig config, std::optional<Mixture> training, TrainObserver& observer,
       TrainerOptions options);

  FinishReport run();
  void train_until(std::uint64_t last);
  EvaluationReport evaluate();
  CheckpointReport checkpoint();
  double time_steps(std::uint64_t count);
  double time_resident_steps(std::uint64_t count);
  std::vector<std::uint8_t> state_bytes();

  RunConfig config;
  PlanReport plan;
  GraphCensus census;
  std::uint64_t step = 0;

 private:
  // Start.
  void commit_memory();
  void set_weights();
  void resume(const fs::path& checkpoint);

  // Progress.
  RunStatus train_and_evaluate();
  void train_loop();
  void advance();
  void not_trained_since(Clock::time_point begin);
  void on_window(const WindowLines& window);
  void evaluate_and_keep();
  void keep_if_best();
  CheckpointReport write_checkpoint(CheckpointWriting writing = CheckpointWriting::keep);
  bool checkpoint_due() const;
  std::optional<fs::path> newest_checkpoint() const;
  bool has_checkpoint_of_this_step() const {
    return newest_checkpoint() == folder_->checkpoints().path_of(step);
  }
  void save_preview();

  // Failure.
  [[noreturn]] void fail_data(const Error& error);
  void require_finite();

  std::uint64_t steps() const { return static_cast<std::uint64_t>(config.train.steps); }
  bool every(std::int64_t n) const { return n > 0 && step % static_cast<std::uint64_t>(n) == 0; }
  bool evaluates_here() const {
    return !evaluator_.empty() && (step == steps() || every(config.evaluation.every));
  }
  double trained_seconds() const { return seconds_since(began_) - other_seconds_; }
  double all_seconds() const { return earlier_seconds_ + trained_seconds(); }
  /// The status of a run that ends here; nullopt if it goes on.
  std::optional<RunStatus> end_reached() const;
  RunProgress progress() const;
  std::uint64_t log_every() const { return static_cast<std::uint64_t>(config.train.log_every); }

  TrainObserver& observer_;
  TrainerOptions options_;
  Device device_;
  Stream stream_;
  MemoryPlan memory_;
  Mixture mixture_;
  SupervisedTask task_;
  Evaluator evaluator_;
  TrainingStep step_;
  MetricsWindows windows_;
  StepRunner runner_;
  BestKeeper best_;
  StepRunner resident_;              ///< step without its data part, recorded without warm-up
  std::optional<RunFolder> folder_;  ///< nullopt: writes nothing
  DataIdentity data_;                ///< for checkpoints
  std::vector<double> rates_;
  std::uint64_t first_step_ = 0;            ///< first step of this process
  Clock::time_point began_ = Clock::now();  ///< start of run()
  double other_seconds_ = 0;                ///< time in run() spent on evaluation and checkpoints
  double earlier_seconds_ = 0;              ///< RunProgress::training_seconds of the checkpoint
  double time_limit_ = config.train.max_seconds();
  Clock::time_point checkpointed_ = Clock::now();
  std::optional<EvaluationReport> last_evaluation_;
  std::optional<CheckpointReport> last_checkpoint_;
};

// ---------------------------------------------------------------------------------------------
// Start

Trainer::Impl::Impl(RunConfig run_config, std::optional<Mixture> training, TrainObserver& observer,
                    TrainerOptions options)
    : config(std::move(run_config)),
      observer_(observer),
      options_(std::move(options)),
      device_(Device::parse(config.device)),
      stream_(device_, static_cast<int>(config.threads)),
      memory_(device_),
      mixture_(
          open_normalised(config, std::move(training), options_, observer.watch(), plan.notes)),
      task_(config, stream_, memory_, config.compute_type(device_),
            SupervisedTask::Input::of(config, mixture_)),
      evaluator_(config, config.open_held_out(observer.watch(), config.dense_labels()), task_,
                 memory_),
      step_(config, mixture_, task_, memory_),
      windows_(device_, static_cast<int>(config.threads), memory_, step_.ring(),
               [this](const WindowLines& window) { on_window(window); }),
      runner_(
          config.train.graph, [this](Stream& stream) { step_.enqueue(stream); }, memory_),
      best_(config, task_.heads()),
      resident_(
          config.train.graph, [this](Stream& s) { step_.enqueue_resident(s); }, memory_, 0) {
  commit_memory();
  // Lock the folder before reading its checkpoint: another process could be replacing it.
  if (options_.write_files) folder_.emplace(config);
  mixture_.load(stream_);
  for (std::string& note : mixture_.notes()) plan.notes.push_back(std::move(note));
  step_.load(stream_);
  evaluator_.load(stream_);
  for (std::string& overlap : evaluator_.compare(mixture_, stream_.threads(), observer_.watch()))
    plan.notes.push_back(std::move(overlap));
  set_weights();
  describe_run(plan, config, stream_, mixture_, task_, memory_, folder_ ? &*folder_ : nullptr);
  plan.first_step = step;
  runner_.on_record([this](const GraphCensus& recorded) {
    census = recorded;
    observer_.on_graph(recorded);
  });
  windows_.open(stream_, step - step % log_every(), step);
}

void Trainer::Impl::commit_memory() {
  mixture_.plan(memory_, config.train.batch, steps());
  memory_.check(config.memory_limit());
  observer_.on_memory(memory_.table());
  memory_.commit(config.memory_limit());
}

void Trainer::Impl::set_weights() {
  task_.parameters().initialise(stream_, config.seed);
  data_ = data_identity(mixture_);
  if (const auto from =
          checkpoint_to_resume(options_.resume, folder_ ? &folder_->checkpoints() : nullptr)) {
    resume(*from);
  } else if (!config.init.from.empty()) {
    const TransferReport transfer =
        transfer_weights(find_model_file(config.init.from), config.init.head, task_.heads(),
                         task_.parameters(), stream_);
    plan.notes.push_back(
        fmt::format("weights from {}: {}", config.init.from, transfer.to_string()));
  }
  first_step_ = step;
}

void Trainer::Impl::resume(const fs::path& checkpoint) {
  const ResumeReport resumed = resume_checkpoint(checkpoint, config, task_.parameters(),
                                                 memory_.state(), kRingBlocks, stream_);
  require_same_data(resumed.data, data_, checkpoint);
  if (resumed.steps != steps() && !mixture_.same_assignment(resumed.steps, resumed.step))
    refuse_longer_run(checkpoint, resumed.steps, steps(),
                      "the assignment of batch slots to sources depends on the number of steps");
  step = resumed.step;
  earlier_seconds_ = resumed.progress.training_seconds;
  best_.resume(resumed.progress, step, folder_ ? &folder_->checkpoints() : nullptr, plan.notes);
  if (resumed.steps != steps())
    plan.notes.push_back(
        fmt::format("extended from {} to {}", counted(resumed.steps, "step"), steps()));
  add_resume_notes(plan.notes, checkpoint, step, stream_);
}

// ---------------------------------------------------------------------------------------------
// Progress

FinishReport Trainer::Impl::run() {
  began_ = Clock::now();
  other_seconds_ = 0;
  if (folder_ && step == steps())
    if (const auto before = finished_run(config)) return *before;
  if (folder_) folder_->open(config, plan, step, best_.progress().best);
  observer_.on_plan(plan);
  if (folder_ && step < steps()) write_checkpoint(CheckpointWriting::rehearse);
  checkpointed_ = Clock::now();
  other_seconds_ = seconds_since(began_);
  const ProcessorTimes before = processor_times();
  FinishReport finish;
  finish.status = train_and_evaluate();
  finish.throughput = summarise_rates(rates_);
  finish.load = load_between(before, processor_times());
  if (folder_ && !has_checkpoint_of_this_step()) checkpoint();
  finish.training_seconds = trained_seconds();
  finish.limited_seconds = progress().training_seconds;
  finish.step = step;
  finish.evaluation = last_evaluation_;
  finish.checkpoint = last_checkpoint_;
  finish.best = best_.progress().best;
  finish.seconds = seconds_since(began_);
  if (folder_) folder_->write_report(config, plan, finish);
  observer_.on_finish(finish);
  return finish;
}

RunStatus Trainer::Impl::train_and_evaluate() {
  try {
    // The evaluation at the resumed step is usually recorded; repeat it if a signal interrupted it.
    if (folder_ && step > 0 && step == first_step_) {
      last_evaluation_ = evaluation_at(folder_->path(), step);
      if (last_evaluation_) keep_if_best();
      if (!last_evaluation_ && evaluates_here()) evaluate_and_keep();
    }
    train_loop();
    const std::optional<RunStatus> end = end_reached();
    if (!end) return RunStatus::interrupted;
    if (!evaluator_.empty() && !(last_evaluation_ && last_evaluation_->step == step))
      evaluate_and_keep();
    return *end;
  } catch (const Interrupted&) {  // thrown by an evaluation, after its step is complete
    return RunStatus::interrupted;
  }
}

void Trainer::Impl::train_loop() {
  not_trained_since(Clock::now());
  while (!end_reached() && !interrupt_requested()) {
    advance();
    if (folder_ && brings_a_source(mixture_, step - 1)) save_preview();
    if (step % log_every() == 0) windows_.close(stream_, step);
    if (step == steps()) break;
    if (evaluates_here()) evaluate_and_keep();
    if (folder_ && checkpoint_due()) checkpoint();
  }
  if (step == steps() && step % log_every() != 0) windows_.close(stream_, step);
  windows_.flush(stream_);
  require_finite();
}

std::optional<RunStatus> Trainer::Impl::end_reached() const {
  if (step == steps()) return RunStatus::finished;
  if (best_.out_of_patience()) return RunStatus::out_of_patience;
  if (all_seconds() >= time_limit_) return RunStatus::out_of_time;
  return std::nullopt;
}

RunProgress Trainer::Impl::progress() const {
  RunProgress progress = best_.progress();
  if (!config.train.max_time.empty()) progress.training_seconds = all_seconds();
  return progress;
}

/// Excludes the time since `begin`, which was not spent on steps, and restarts the clock of the
/// open window.
void Trainer::Impl::not_trained_since(Clock::time_point begin) {
  other_seconds_ += seconds_since(begin);
  windows_.interrupt(stream_, step);
}

bool Trainer::Impl::checkpoint_due() const {
  if (step == steps()) return false;  // run() writes the last checkpoint
  const auto every = static_cast<std::uint64_t>(config.train.checkpoint_every);
  return every > 0 ? step % every == 0
                   : seconds_since(checkpointed_) >= options_.checkpoint_seconds;
}

void Trainer::Impl::advance() {
  try {
    mixture_.before_step(stream_, step);
  } catch (const Error& error) {
    fail_data(error);
  }
  const auto begin = Clock::now();
  runner_.run(stream_, step);
  if (device_.is_cpu()) stream_.active_threads()->step(seconds_since(begin));
  mixture_.after_step(stream_, step++);
}

void Trainer::Impl::train_until(std::uint64_t last) {
  while (step < last) {
    advance();
    if (step % log_every() == 0) windows_.close(stream_, step);
  }
  windows_.flush(stream_);
}

double Trainer::Impl::time_steps(std::uint64_t count) {
  train_until(std::max(step, first_step_ + StepRunner::kWarmUpSteps) + 1);
  stream_.synchronize();
  const auto begin = Clock::now();
  train_until(step + count);
  stream_.synchronize();
  return seconds_since(begin);
}

double Trainer::Impl::time_resident_steps(std::uint64_t count) {
  train_until(first_step_ + StepRunner::kWarmUpSteps + 1);  // also flushes the metrics ring
  Snapshot state;
  state.save(stream_, memory_.state());
  resident_.run(stream_, step);  // warms the caches again after the copy
  stream_.synchronize();
  const auto begin = Clock::now();
  for (std::uint64_t i = 0; i < count; ++i) resident_.run(stream_, step);
  stream_.synchronize();
  const double seconds = seconds_since(begin);
  state.restore(stream_, memory_.state());
  windows_.interrupt(stream_, step);
  return seconds;
}

void Trainer::Impl::on_window(const WindowLines& window) {
  for (std::uint64_t s = window.first; s < window.last; ++s)
    if (const auto flag = window.line(s).nonfinite; flag != 0)
      fail_nonfinite(flag - 1, newest_checkpoint());
  StepReport report =
      summarise_window(window, mixture_, step_.losses(), config.train.batch, steps());
  // The first steps of a process are slow: they select kernels and record the graph.
  if (window.first <= first_step_ + StepRunner::kWarmUpSteps) report.clean = false;
  if (report.clean) rates_.push_back(report.samples_per_second);
  if (folder_ && folder_->metrics() != nullptr) folder_->metrics()->write(report);
  observer_.on_step_metrics(report);
}

EvaluationReport Trainer::Impl::evaluate() {
  const auto begin = Clock::now();
  windows_.flush(stream_);
  EvaluationReport result;
  const bool averaged = config.train.exports_average();
  const auto swap_average = [&] {
    if (averaged) task_.parameters().swap_average(stream_);
  };
  swap_average();
  try {
    result = evaluator_.evaluate(stream_, task_, step, observer_.watch());
  } catch (const Error& error) {
    swap_average();
    fail_data(error);
  } catch (const Interrupted&) {
    swap_average();
    throw;
  }
  swap_average();
  if (folder_ && folder_->metrics() != nullptr) folder_->metrics()->write(result);
  observer_.on_evaluation(result);
  last_evaluation_ = result;
  not_trained_since(begin);
  return result;
}

void Trainer::Impl::evaluate_and_keep() {
  evaluate();
  keep_if_best();
}

/// Writes a checkpoint if the last evaluation is the best of the run.
void Trainer::Impl::keep_if_best() {
  try {
    if (best_.compare(*last_evaluation_) && folder_) checkpoint();
  } catch (const Error& error) {
    fail_data(error);
  }
}

std::optional<fs::path> Trainer::Impl::newest_checkpoint() const {
  return folder_ ? folder_->checkpoints().newest() : std::nullopt;
}

CheckpointReport Trainer::Impl::checkpoint() {
  const auto begin = Clock::now();
  windows_.flush(stream_);
  require_finite();
  if (folder_) folder_->sync_metrics();
  const CheckpointReport result = write_checkpoint();
  observer_.on_checkpoint(result);
  last_checkpoint_ = result;
  checkpointed_ = Clock::now();
  not_trained_since(begin);
  return result;
}

CheckpointReport Trainer::Impl::write_checkpoint(CheckpointWriting writing) {
  const CheckpointStore store(config.folder());
  try {
    return store.write({config, task_.parameters(), task_.heads(), task_.layout(), memory_.state(),
                        step, data_, progress()},
                       stream_, writing);
  } catch (const Error& error) {
    fail_checkpoint(error, step, store.newest());
  }
}

void Trainer::Impl::save_preview() {
  const auto begin = Clock::now();
  stream_.synchronize();
  folder_->write_preview(step - 1,
                         preview_batch(config, mixture_, stream_, step_.batch(), step - 1).image);
  if (step > 1) not_trained_since(begin);
}

std::vector<std::uint8_t> Trainer::Impl::state_bytes() {
  return stored_bytes(stream_, memory_.state());
}

// ---------------------------------------------------------------------------------------------
// Failure

/// Saves the progress when a data file turns out to be damaged. Called from a catch block.
void Trainer::Impl::fail_data(const Error& error) {
  if (error.kind() != ErrorKind::data) throw;
  std::string kept;
  if (folder_ && folder_->metrics() != nullptr && step > first_step_) {
    if (!has_checkpoint_of_this_step()) checkpoint();
    kept = fmt::format("progress is saved in {}; once that is mended, the same command resumes it",
                       folder_->checkpoints().path_of(step).string());
  }
  fail(ErrorKind::data, {fmt::format("step {}: {}", step, error.what()), "", kept});
}

void Trainer::Impl::require_finite() {
  StepState state;
  stream_.copy(&state, step_.state().data(), sizeof state, CopyDirection::device_to_host,
               "step state");
  stream_.synchronize();
  if (state.nonfinite != 0) fail_nonfinite(state.nonfinite - 1, newest_checkpoint());
}

// ---------------------------------------------------------------------------------------------
// Trainer

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
std::uint64_t Trainer::step() const {
  return impl_->step;
}
EvaluationReport Trainer::evaluate() {
  return impl_->evaluate();
}
CheckpointReport Trainer::checkpoint() {
  return impl_->checkpoint();
}
double Trainer::time_steps(std::uint64_t count) {
  return impl_->time_steps(count);
}
double Trainer::time_resident_steps(std::uint64_t count) {
  return impl_->time_resident_steps(count);
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
