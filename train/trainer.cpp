#include "train/trainer.h"

#include "core/files.h"
#include "core/text.h"
#include "core/version.h"
#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/learner.h"
#include "train/metrics_log.h"
#include "train/preview.h"
#include "train/report.h"
#include "train/signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr const char* kPreviewFile = "preview.png";

/// Eager steps before the step is recorded: libraries choose their kernels and make their handles
/// in the first, the second shows that nothing is made anew. They count as steps.
constexpr std::uint64_t kWarmUpSteps = 2;

/// Rates are medians over this many windows where time allows.
constexpr int kWindows = 10;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

Throughput summarise(const std::string& what, const std::vector<double>& rates) {
  Throughput result;
  result.what = what;
  result.windows = rates.size();
  if (rates.empty()) return result;
  result.samples_per_second = median(rates);
  std::vector<double> deviations;
  for (const double rate : rates) deviations.push_back(std::abs(rate - result.samples_per_second));
  // 1.4826: makes the median absolute deviation the standard deviation of a normal law.
  result.spread = 1.4826 * median(deviations);
  return result;
}

/// A block of device memory that a step changes and the next one reads.
struct KeptBlock {
  std::string name;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Copies of state blocks in host memory.
class Snapshot {
 public:
  void save(Stream& stream, const std::vector<KeptBlock>& blocks) {
    copies_.resize(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      copies_[i].resize(blocks[i].bytes);
      stream.copy(copies_[i].data(), blocks[i].data, blocks[i].bytes, CopyDirection::device_to_host,
                  "save state");
    }
    stream.synchronize();
  }
  void restore(Stream& stream, const std::vector<KeptBlock>& blocks) const {
    for (std::size_t i = 0; i < blocks.size(); ++i)
      stream.copy(blocks[i].data, copies_[i].data(), blocks[i].bytes, CopyDirection::host_to_device,
                  "restore state");
    stream.synchronize();
  }
  /// The name of the first block that differs and the byte where it does; "" where all are equal.
  std::string difference(const Snapshot& other, const std::vector<KeptBlock>& blocks) const {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto at = std::mismatch(copies_[i].begin(), copies_[i].end(), other.copies_[i].begin());
      if (at.first != copies_[i].end())
        return fmt::format("{}, byte {}", blocks[i].name, at.first - copies_[i].begin());
    }
    return "";
  }
  const std::vector<std::vector<std::uint8_t>>& copies() const { return copies_; }

 private:
  std::vector<std::vector<std::uint8_t>> copies_;
};

/// Steps whose metrics are reported together.
struct Window {
  explicit Window(Device device) : begin(device, true), end(device, true), copied(device) {}
  std::uint64_t first = 0, last = 0;  ///< steps [first, last)
  std::uint64_t timed_from = 0;       ///< first step after `begin`
  bool clean = true;                  ///< nothing but steps since `begin`, and all of them
  bool pending = false;               ///< ended, not reported yet
  Event begin, end, copied;
};

}  // namespace

ResumeChoice ResumeChoice::parse(const std::string& text) {
  if (text == "auto") return {Kind::automatic, {}};
  if (text == "never") return {Kind::never, {}};
  return {Kind::path, text};
}

class Trainer::Impl {
 public:
  /// `training`: in place of what the configuration opens.
  Impl(RunConfig config, std::optional<Mixture> training, TrainObserver& observer,
       TrainerOptions options);

  FinishReport run();
  void train_until(std::uint64_t last);
  EvaluationReport evaluate();
  CheckpointReport checkpoint();
  Throughput measure_as_configured(double seconds);
  Throughput measure_ceiling(double seconds);
  std::vector<std::uint8_t> state_bytes();

  RunConfig config;
  PlanReport plan;
  GraphCensus census;
  std::uint64_t step = 0;

 private:
  // Planning.
  void plan_memory();
  void lock_folder();
  void set_weights();
  void describe_plan();

  // One step.
  void enqueue_data(Stream& stream);
  void enqueue_learning(Stream& stream);
  void enqueue_step(Stream& stream);
  void advance();
  void checked_step();
  void record();

  // Metrics.
  void open_window(std::uint64_t first);
  void close_window();
  void report(Window& window);
  void flush();
  void interrupt_window();
  StepReport summarise_rows(const Window& window, const ops::StepMetrics* ring) const;
  [[noreturn]] void fail_nonfinite(std::uint64_t at) const;
  [[noreturn]] void fail_data(const Error& error);
  void require_finite();

  // The run.
  void prepare_folder();
  void train_loop();
  void save_preview();
  void write_report(const FinishReport& finish);
  std::vector<KeptBlock> state_blocks() const;
  RunState run_state();
  std::map<std::string, std::uint64_t> sample_counts() const;
  void require_same_data(const RunState& state, const fs::path& checkpoint) const;
  CheckpointReport write_checkpoint();
  std::uint64_t steps() const { return static_cast<std::uint64_t>(config.train.steps); }
  std::uint64_t log_every() const { return static_cast<std::uint64_t>(config.train.log_every); }

  TrainObserver& observer_;
  TrainerOptions options_;
  Device device_;
  DType compute_;
  Stream stream_, copy_stream_;
  MemoryPlan memory_;
  Mixture mixture_;
  Learner learner_;
  HeldOut held_out_;
  CheckpointStore store_;
  std::optional<FolderLock> lock_;
  BatchColumns batch_;
  ops::ScheduleSpec schedule_;
  ops::HeadRange heads_[kMaxSources];
  Planned<StepState> state_;
  Planned<ops::StepMetrics> ring_;
  std::array<Planned<ops::StepMetrics>, 2> host_ring_;
  std::unique_ptr<StepGraph> graph_;

  std::array<Window, 2> windows_;
  std::size_t window_ = 0;  ///< the one that is open
  std::vector<double> rates_;
  std::uint64_t first_step_ = 0;
  double other_seconds_ = 0;  ///< of run(): evaluation, checkpoints
  std::unique_ptr<MetricsLog> log_;
  Snapshot before_, eager_, replayed_;  ///< of --graph check
  std::optional<EvaluationReport> last_evaluation_;
  std::optional<CheckpointReport> last_checkpoint_;
};

namespace {

Learner::Input learner_input(const Mixture& training, const Mixture& held_out) {
  SampleLayout layout = training.layout();
  layout.latents = std::max(layout.latents, held_out.layout().latents);
  return {layout, training.heads()};
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// Planning

Trainer::Impl::Impl(RunConfig run_config, std::optional<Mixture> training, TrainObserver& observer,
                    TrainerOptions options)
    : config(std::move(run_config)),
      observer_(observer),
      options_(std::move(options)),
      device_(Device::parse(config.device)),
      compute_(config.compute_type(device_)),
      stream_(device_, static_cast<int>(config.threads)),
      copy_stream_(device_, static_cast<int>(config.threads)),
      memory_(device_),
      mixture_(training ? *std::move(training) : config.open_training()),
      learner_(config, stream_, memory_, compute_, learner_input(mixture_, mixture_)),
      held_out_(config, config.open_held_out(), learner_, memory_),
      store_(config.folder()),
      windows_{Window(device_), Window(device_)} {
  plan_memory();
  if (options_.write_files) lock_folder();
  mixture_.load(stream_);
  learner_.load(stream_);
  held_out_.load(stream_);
  set_weights();
  describe_plan();
  open_window(step - step % log_every());
}

void Trainer::Impl::plan_memory() {
  batch_.plan(memory_, "data", config.train.batch, learner_.layout(), compute_);
  state_ = memory_.reserve<StepState>("metrics", "step state", 1);
  // Two windows: one is copied out while the other is filled.
  const auto rows = static_cast<std::size_t>(2 * config.train.log_every);
  ring_ = memory_.reserve<ops::StepMetrics>("metrics", "ring", rows);
  for (Planned<ops::StepMetrics>& copy : host_ring_)
    copy =
        memory_.reserve<ops::StepMetrics>("metrics", "copy of the ring", rows, MemorySpace::host);
  mixture_.plan(memory_, config.train.batch, steps());
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  memory_.commit(static_cast<std::size_t>(config.memory * kGib));

  mixture_.fill_heads(heads_);
  const OptimizerConfig& optimizer = config.optimizer;
  schedule_.peak = static_cast<float>(optimizer.lr);
  schedule_.floor = static_cast<float>(optimizer.lr * optimizer.floor);
  schedule_.warmup = static_cast<std::uint64_t>(
      std::llround(optimizer.warmup * static_cast<double>(config.train.steps)));
  schedule_.total = steps();
}

/// Before the run's own checkpoint is read: another process could be replacing it.
void Trainer::Impl::lock_folder() {
  lock_.emplace(config.folder(), "wait for it or stop it, or choose another out=FOLDER");
  if (!lock_->held())
    plan.notes.push_back(fmt::format(
        "the file system of {} has no locks: start no second run there", config.folder().string()));
}

void Trainer::Impl::set_weights() {
  ParameterArena& parameters = learner_.parameters();
  parameters.initialise(stream_, config.seed);
  const std::optional<fs::path> newest = store_.newest();
  std::optional<fs::path> from;
  if (options_.resume.kind == ResumeChoice::Kind::path)
    from = find_checkpoint(options_.resume.path);
  if (options_.write_files && options_.resume.kind == ResumeChoice::Kind::automatic) from = newest;
  if (options_.write_files && options_.resume.kind == ResumeChoice::Kind::never && newest)
    fail(ErrorKind::config, {fmt::format("{} holds checkpoints", config.folder().string()),
                             "a new run would mix its own with them",
                             "choose another out=FOLDER, remove the folder, or resume"});
  if (from) {
    const RunState state = resume_checkpoint(*from, config, parameters, stream_);
    require_same_data(state, *from);
    step = state.step;
    StepState device_state;
    device_state.step = step;
    stream_.copy(state_.data(), &device_state, sizeof device_state, CopyDirection::host_to_device,
                 "resume counters");
    // A run may be resumed with another log_every; its ring then begins anew.
    if (state.ring.size() == ring_.size())
      stream_.copy(ring_.data(), state.ring.data(), ring_.bytes(), CopyDirection::host_to_device,
                   "resume metrics");
    stream_.synchronize();
    plan.notes.push_back(fmt::format("resumed at step {} from {}", step, from->string()));
  } else if (!config.init.from.empty()) {
    const TransferReport transfer = transfer_weights(
        find_model_file(config.init.from), config.init.head, learner_.heads(), parameters, stream_);
    plan.notes.push_back(fmt::format("weights of {}: {}", config.init.from, transfer.to_string()));
  }
  first_step_ = step;
}

void Trainer::Impl::describe_plan() {
  plan.name = config.name;
  plan.folder = options_.write_files ? config.folder() : fs::path();
  plan.device = fmt::format("{} ({})", device_.to_string(), describe(device_).name);
  plan.precision = to_string(compute_);
  constexpr std::array kModes = {"off", "on", "check"};
  plan.graph = kModes.at(static_cast<std::size_t>(config.train.graph));
  plan.model = config.model.name;
  plan.parameters = learner_.parameters().count();
  plan.batch = config.train.batch;
  plan.steps = steps();
  plan.first_step = step;
  plan.memory_table = memory_.table();
  double sum = 0;
  for (const double weight : config.data.schedule.front().weights) sum += weight;
  for (int i = 0; i < mixture_.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    plan.sources.push_back({mixture_.source(i).name(), mixture_.source(i).summary(),
                            config.data.sources[k].spec.head,
                            config.data.schedule.front().weights[k] / sum});
  }
}

// ---------------------------------------------------------------------------------------------
// One step

void Trainer::Impl::enqueue_data(Stream& stream) {
  mixture_.emit(stream, state_.data(), batch_.view());
}

void Trainer::Impl::enqueue_learning(Stream& stream) {
  const BatchView batch = batch_.view();
  learner_.forward(stream, batch);
  learner_.loss(stream, batch, mixture_.slots(), heads_,
                static_cast<float>(config.loss.label_smoothing));
  learner_.learn(stream, batch, state_.data());
  ops::collect_metrics(stream, batch.size, mixture_.slots(), learner_.losses(), learner_.correct(),
                       state_.data(), ring_.data(), static_cast<std::uint32_t>(ring_.size()));
  ops::end_step(stream, state_.data());
}

void Trainer::Impl::enqueue_step(Stream& stream) {
  ops::begin_step(stream, schedule_, state_.data());
  enqueue_data(stream);
  enqueue_learning(stream);
}

void Trainer::Impl::record() {
  stream_.synchronize();
  graph_ = StepGraph::record(stream_, [this](Stream& stream) { enqueue_step(stream); });
  census = graph_->census();
  observer_.on_graph(census);
}

void Trainer::Impl::advance() {
  if (config.train.graph != GraphMode::off && !graph_ && step >= first_step_ + kWarmUpSteps)
    record();
  try {
    mixture_.before_step(stream_, step);
  } catch (const Error& error) {
    fail_data(error);
  }
  if (!graph_) {
    enqueue_step(stream_);
  } else if (config.train.graph == GraphMode::check) {
    checked_step();
  } else {
    graph_->launch(stream_);
  }
  mixture_.after_step(stream_, step);
  ++step;
}

void Trainer::Impl::checked_step() {
  const std::vector<KeptBlock> blocks = state_blocks();
  before_.save(stream_, blocks);
  enqueue_step(stream_);
  eager_.save(stream_, blocks);
  before_.restore(stream_, blocks);
  graph_->launch(stream_);
  replayed_.save(stream_, blocks);
  const std::string difference = eager_.difference(replayed_, blocks);
  if (!difference.empty())
    fail(
        ErrorKind::runtime,
        {fmt::format("step {}: the recorded step and the eager one differ in {}", step, difference),
         "both began with equal states; a node depends on something that is not device memory, or "
         "adds in an order that changes",
         "train with --graph off and report this"});
}

std::vector<KeptBlock> Trainer::Impl::state_blocks() const {
  const ParameterArena& parameters = learner_.parameters();
  const auto bytes = static_cast<std::size_t>(parameters.length()) * sizeof(float);
  std::vector<KeptBlock> blocks = {{"master weights", parameters.master(), bytes}};
  const ops::ParameterView view = parameters.view();
  if (view.working != view.master)
    blocks.push_back({"working weights", view.working,
                      static_cast<std::size_t>(view.matrices) * size_of(view.compute)});
  if (parameters.first_moment() != nullptr)
    blocks.push_back({"first moment", parameters.first_moment(), bytes});
  if (parameters.second_moment() != nullptr)
    blocks.push_back({"second moment", parameters.second_moment(), bytes});
  blocks.push_back({"step state", state_.data(), state_.bytes()});
  blocks.push_back({"metrics ring", ring_.data(), ring_.bytes()});
  const BatchView batch = batch_.view();
  blocks.push_back(
      {"samples", batch.x,
       static_cast<std::size_t>(batch.size * batch.layout.elements()) * size_of(batch.dtype)});
  blocks.push_back(
      {"labels", batch.label, static_cast<std::size_t>(batch.size) * sizeof(std::int32_t)});
  return blocks;
}

std::vector<std::uint8_t> Trainer::Impl::state_bytes() {
  std::vector<KeptBlock> blocks = state_blocks();
  std::erase_if(blocks, [](const KeptBlock& block) {
    return block.name == "samples" || block.name == "labels";
  });
  Snapshot snapshot;
  snapshot.save(stream_, blocks);
  std::vector<std::uint8_t> all;
  for (const auto& copy : snapshot.copies()) all.insert(all.end(), copy.begin(), copy.end());
  return all;
}

// ---------------------------------------------------------------------------------------------
// Metrics

void Trainer::Impl::open_window(std::uint64_t first) {
  Window& window = windows_[window_];
  window.first = first;
  window.timed_from = step;
  window.clean = first == step;
  window.begin.record(stream_);
}

/// The clock of the open window begins anew after something else took time.
void Trainer::Impl::interrupt_window() {
  Window& window = windows_[window_];
  window.clean = window.clean && window.first == step;
  window.timed_from = step;
  window.begin.record(stream_);
}

/// Ends the open window: its rows travel to the host beside the steps that follow.
void Trainer::Impl::close_window() {
  Window& window = windows_[window_];
  window.last = step;
  window.end.record(stream_);
  window.end.wait(copy_stream_);
  copy_stream_.copy(host_ring_[window_].data(), ring_.data(), ring_.bytes(),
                    CopyDirection::device_to_host, "metrics");
  window.copied.record(copy_stream_);
  window.pending = true;
  window_ = 1 - window_;
  report(windows_[window_]);  // the one before must be out before its ring is copied over
  if (windows_[1 - window_].copied.done()) report(windows_[1 - window_]);
  open_window(step);
}

void Trainer::Impl::flush() {
  report(windows_[1 - window_]);
  stream_.synchronize();
}

void Trainer::Impl::report(Window& window) {
  if (!window.pending) return;
  window.pending = false;
  window.copied.synchronize();
  const std::size_t index = &window == windows_.data() ? 0 : 1;
  const ops::StepMetrics* ring = host_ring_[index].data();
  for (std::uint64_t s = window.first; s < window.last; ++s)
    if (const auto flag = ring[s % ring_.size()].nonfinite; flag != 0) fail_nonfinite(flag - 1);
  const StepReport step_report = summarise_rows(window, ring);
  if (step_report.clean) rates_.push_back(step_report.samples_per_second);
  if (log_) log_->write(step_report);
  observer_.on_step_metrics(step_report);
}

StepReport Trainer::Impl::summarise_rows(const Window& window, const ops::StepMetrics* ring) const {
  StepReport result;
  result.step = window.last;
  result.steps = steps();
  result.window = window.last - window.first;
  double correct = 0, samples = 0;
  const auto n = static_cast<std::size_t>(mixture_.size());
  result.sources.resize(n);
  for (std::uint64_t s = window.first; s < window.last; ++s) {
    const ops::StepMetrics& row = ring[s % ring_.size()];
    result.loss += row.loss;
    for (std::size_t k = 0; k < n; ++k) {
      SourceReport& source = result.sources[k];
      source.samples += row.source_count[k];
      source.loss += row.source_loss[k];
      source.accuracy += row.source_correct[k];
      correct += row.source_correct[k];
      samples += row.source_count[k];
    }
  }
  const ops::StepMetrics& last = ring[(window.last - 1) % ring_.size()];
  result.loss /= static_cast<double>(result.window);
  result.accuracy = samples > 0 ? correct / samples : 0;
  result.gradient_norm = last.gradient_norm;
  result.learning_rate = last.learning_rate;
  for (std::size_t k = 0; k < n; ++k) {
    SourceReport& source = result.sources[k];
    const int index = static_cast<int>(k);
    source.name = mixture_.source(index).name();
    const auto count = static_cast<double>(source.samples);
    if (source.samples > 0) {
      source.loss /= count;
      source.accuracy /= count;
    }
    const double wanted =
        mixture_.target(window.last, index) - mixture_.target(window.first, index);
    source.wanted_share = wanted / static_cast<double>(result.window * plan.batch);
    source.achieved_share = samples > 0 ? count / samples : 0;
  }
  const double seconds = window.end.milliseconds_since(window.begin) / 1000;
  const auto timed = static_cast<double>(window.last - window.timed_from);
  result.samples_per_second = seconds > 0 ? timed * static_cast<double>(plan.batch) / seconds : 0;
  // The first steps of a process choose kernels and record the graph.
  result.clean = window.clean && window.first >= first_step_ + kWarmUpSteps + 1;
  return result;
}

void Trainer::Impl::fail_nonfinite(std::uint64_t at) const {
  const std::optional<fs::path> good = store_.newest();
  fail(
      ErrorKind::runtime,
      {fmt::format("step {}: the loss or the gradient is not finite", at),
       "its update was skipped, and training cannot go on from there",
       fmt::format("lower optimizer.lr, lengthen optimizer.warmup or set train.clip; the last good "
                   "checkpoint is {}",
                   good && options_.write_files ? good->string() : "none")});
}

/// From a handler: a file that turns out to be damaged does not cost what was learnt before it.
void Trainer::Impl::fail_data(const Error& error) {
  if (error.kind() != ErrorKind::data) throw;
  std::string kept;
  if (log_ && step > first_step_) {
    if (store_.path_of(step) != store_.newest()) checkpoint();
    kept = fmt::format("what was learnt is kept in {}; the same command goes on from there",
                       store_.path_of(step).string());
  }
  fail(ErrorKind::data, {fmt::format("step {}: {}", step, error.what()), "", kept});
}

void Trainer::Impl::require_finite() {
  StepState state;
  stream_.copy(&state, state_.data(), sizeof state, CopyDirection::device_to_host, "step state");
  stream_.synchronize();
  if (state.nonfinite != 0) fail_nonfinite(state.nonfinite - 1);
}

// ---------------------------------------------------------------------------------------------
// The run

EvaluationReport Trainer::Impl::evaluate() {
  const auto begin = Clock::now();
  flush();
  EvaluationReport result;
  try {
    result = held_out_.evaluate(stream_, learner_, step);
  } catch (const Error& error) {
    fail_data(error);
  }
  if (log_) log_->write(result);
  observer_.on_evaluation(result);
  last_evaluation_ = result;
  other_seconds_ += seconds_since(begin);
  interrupt_window();
  return result;
}

std::map<std::string, std::uint64_t> Trainer::Impl::sample_counts() const {
  std::map<std::string, std::uint64_t> counts;
  for (int i = 0; i < mixture_.size(); ++i) {
    const Source& source = mixture_.source(i);
    if (source.size() > 0) counts[source.name()] = source.size();
  }
  return counts;
}

void Trainer::Impl::require_same_data(const RunState& state, const fs::path& checkpoint) const {
  for (const auto& [source, count] : sample_counts()) {
    const auto before = state.samples.find(source);
    if (before != state.samples.end() && before->second == count) continue;
    fail(ErrorKind::data,
         {fmt::format("{}: source '{}' had {} samples, and now has {}", checkpoint.string(), source,
                      before == state.samples.end() ? 0 : before->second, count),
          "they would come in another order than in the run so far",
          "restore the files, or start a new run: another out=FOLDER, with init.from to begin with "
          "these weights"});
  }
}

RunState Trainer::Impl::run_state() {
  RunState state;
  state.step = step;
  state.samples = sample_counts();
  state.ring.resize(ring_.size());
  stream_.copy(state.ring.data(), ring_.data(), ring_.bytes(), CopyDirection::device_to_host,
               "metrics");
  stream_.synchronize();
  return state;
}

CheckpointReport Trainer::Impl::write_checkpoint() {
  try {
    return store_.write(config, learner_.parameters(), learner_.heads(), learner_.layout().shape(),
                        run_state(), stream_);
  } catch (const Error& error) {
    const std::optional<fs::path> newest = store_.newest();
    fail(error.kind(),
         {fmt::format("step {}: the checkpoint could not be written: {}", step, error.what()), "",
          fmt::format("make room and run again; the newest complete checkpoint is {}",
                      newest ? newest->string() : "none")});
  }
}

CheckpointReport Trainer::Impl::checkpoint() {
  const auto begin = Clock::now();
  flush();
  require_finite();
  if (log_) log_->sync();
  const CheckpointReport result = write_checkpoint();
  observer_.on_checkpoint(result);
  last_checkpoint_ = result;
  other_seconds_ += seconds_since(begin);
  interrupt_window();
  return result;
}

void Trainer::Impl::train_until(std::uint64_t last) {
  while (step < last) {
    advance();
    if (step % log_every() == 0) close_window();
  }
  flush();
}

void Trainer::Impl::prepare_folder() {
  make_folders(config.folder());
  remove_stale_temporaries(config.folder());
  store_.clean();
  write_file(config.folder() / "config.resolved.yaml", config.to_yaml());
  log_ = std::make_unique<MetricsLog>(config.folder(), step);
}

void Trainer::Impl::train_loop() {
  const auto every = [this](std::int64_t n) {
    return n > 0 && step % static_cast<std::uint64_t>(n) == 0 && step < steps();
  };
  interrupt_window();
  while (step < steps() && !interrupt_requested()) {
    advance();
    if (step == 1 && options_.write_files) save_preview();
    if (step % log_every() == 0) close_window();
    if (every(config.evaluation.every) && !held_out_.empty()) evaluate();
    if (every(config.train.checkpoint_every) && options_.write_files) checkpoint();
  }
  if (step == steps() && step % log_every() != 0) close_window();
  flush();
  require_finite();
}

FinishReport Trainer::Impl::run() {
  const auto begin = Clock::now();
  other_seconds_ = 0;
  if (options_.write_files) prepare_folder();
  observer_.on_plan(plan);
  train_loop();

  FinishReport finish;
  finish.status = step < steps() ? RunStatus::interrupted : RunStatus::finished;
  if (finish.status == RunStatus::finished && !held_out_.empty()) evaluate();
  if (options_.write_files && store_.path_of(step) != store_.newest()) checkpoint();
  finish.training_seconds = seconds_since(begin) - other_seconds_;
  finish.step = step;
  finish.as_configured = summarise("as configured", rates_);
  if (finish.status == RunStatus::finished && options_.ceiling_seconds > 0 && step > first_step_)
    finish.resident = measure_ceiling(options_.ceiling_seconds);
  finish.evaluation = last_evaluation_;
  finish.checkpoint = last_checkpoint_;
  if (!finish.checkpoint && options_.write_files)
    finish.checkpoint = CheckpointReport{step, store_.path_of(step), 0, 0};
  finish.seconds = seconds_since(begin);
  if (options_.write_files) {
    finish.folder = config.folder();
    if (fs::exists(config.folder() / kPreviewFile)) finish.preview = config.folder() / kPreviewFile;
    finish.report = config.folder() / "report.html";
    write_report(finish);
  }
  observer_.on_finish(finish);
  return finish;
}

void Trainer::Impl::save_preview() {
  if (batch_.view().layout.kind != SampleKind::image) return;
  stream_.synchronize();
  write_png(config.folder() / kPreviewFile,
            batch_sheet(stream_, batch_.view(), mixture_.host_slots(0),
                        preview_sources(config, mixture_)));
}

void Trainer::Impl::write_report(const FinishReport& finish) {
  ReportInput input;
  input.plan = plan;
  input.finish = finish;
  input.history = read_metrics(config.folder(), step);
  input.config_yaml = config.to_yaml();
  input.version = kVersion;
  if (!finish.preview.empty()) input.preview_png = read_bytes(finish.preview);
  input.preview_caption = "As the network saw it at step 0, augmentation included.";
  write_file(finish.report, report_html(input));
}

// ---------------------------------------------------------------------------------------------
// Measuring

/// Rates of `run(n)`, which does n steps and waits, in windows of about a tenth of `seconds`.
template <class Run>
std::vector<double> measure_rates(double seconds, std::int64_t batch, Run run) {
  constexpr std::size_t kFewest = 3;
  std::vector<double> rates;
  const auto begin = Clock::now();
  std::uint64_t steps = 1;
  while (rates.size() < kFewest || seconds_since(begin) < seconds) {
    const auto window_begin = Clock::now();
    run(steps);
    const double spent = seconds_since(window_begin);
    const bool long_enough = spent >= 0.5 * seconds / kWindows;
    if (long_enough || seconds_since(begin) >= seconds)
      rates.push_back(static_cast<double>(steps) * static_cast<double>(batch) / spent);
    if (!long_enough) steps *= 2;
  }
  return rates;
}

Throughput Trainer::Impl::measure_as_configured(double seconds) {
  train_until(std::max(step, first_step_ + kWarmUpSteps + 1));
  const std::vector<double> rates =
      measure_rates(seconds, plan.batch, [this](std::uint64_t n) { train_until(step + n); });
  interrupt_window();
  return summarise("as configured", rates);
}

Throughput Trainer::Impl::measure_ceiling(double seconds) {
  // The batch that lies in memory is that of the last step; before the first there is none.
  if (step == first_step_) train_until(first_step_ + 1);
  flush();
  const std::vector<KeptBlock> blocks = state_blocks();
  Snapshot saved;
  saved.save(stream_, blocks);
  const auto body = [this](Stream& stream) {
    ops::begin_step(stream, schedule_, state_.data());
    enqueue_learning(stream);
  };
  body(stream_);
  std::unique_ptr<StepGraph> graph;
  if (config.train.graph != GraphMode::off) {
    stream_.synchronize();
    graph = StepGraph::record(stream_, body);
  }
  const auto run = [&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      if (graph) {
        graph->launch(stream_);
      } else {
        body(stream_);
      }
    }
    stream_.synchronize();
  };
  run(1);
  const std::vector<double> rates = measure_rates(seconds, plan.batch, run);
  saved.restore(stream_, blocks);
  interrupt_window();
  return summarise("resident batches (repeat)", rates);
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
Throughput Trainer::measure_as_configured(double seconds) {
  return impl_->measure_as_configured(seconds);
}
Throughput Trainer::measure_ceiling(double seconds) {
  return impl_->measure_ceiling(seconds);
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

// ---------------------------------------------------------------------------------------------
// Evaluation of a checkpoint alone

RunConfig config_of_checkpoint(const fs::path& where) {
  const fs::path file = find_model_file(where);
  return RunConfig::parse(describe_model(file).config_yaml, file.string());
}

EvaluationReport evaluate_checkpoint(const fs::path& where, RunConfig config,
                                     TrainObserver& observer) {
  const fs::path file = find_model_file(where);
  const ModelDescription model = describe_model(file);
  if (config.evaluation.sources.empty())
    fail(ErrorKind::config, {"there is nothing to evaluate on", "eval.sources is empty",
                             "name held-out sources in the configuration"});
  const Device device = Device::parse(config.device);
  Stream stream(device, static_cast<int>(config.threads));
  MemoryPlan memory(device);
  Mixture mixture = config.open_held_out();
  const SampleLayout layout = mixture.layout();
  const SampleShape shape = layout.shape();
  if (!(shape == model.shape))
    fail(ErrorKind::config,
         {fmt::format("{} was trained on {}x{}x{} values a sample, the held-out ones have {}x{}x{}",
                      file.string(), model.shape.height, model.shape.width, model.shape.channels,
                      shape.height, shape.width, shape.channels),
          "height, width and channels must agree", "set data.size, or evaluate on other data"});
  Learner::Input input{layout, model.heads};
  Learner learner(config, stream, memory, config.compute_type(device), std::move(input));
  HeldOut held_out(config, std::move(mixture), learner, memory);
  memory.commit();
  learner.load(stream);
  held_out.load(stream);
  load_weights(file, learner.parameters(), stream);
  EvaluationReport report = held_out.evaluate(stream, learner, model.step);
  observer.on_evaluation(report);
  return report;
}

}  // namespace wellspring
