#include "measure/training_ladder.h"

#include "core/error.h"
#include "core/text/text.h"
#include "kernels/runtime/caches.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/host_limits.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace wellspring {
namespace {

/// Least number of resident batches of the ceiling.
constexpr std::size_t kKeptBatches = 8;
/// Steps planned for the run: more than are measured. A mixture needs a table of all its steps.
constexpr std::int64_t kSteps = 1'000'000'000, kMixedSteps = 100'000;

/// Mean weights of the sources over the run: the integral of the piecewise-linear schedule.
std::vector<double> mean_weights(const std::vector<SchedulePoint>& points) {
  std::vector<double> mean(points.front().weights.size(), 0);
  const auto share = [](const SchedulePoint& point, std::size_t k) {
    double sum = 0;
    for (const double weight : point.weights) sum += weight;
    return point.weights[k] / sum;
  };
  for (std::size_t k = 0; k < mean.size(); ++k) {
    mean[k] = share(points.front(), k) * points.front().at +
              share(points.back(), k) * (1 - points.back().at);
    for (std::size_t i = 1; i < points.size(); ++i)
      mean[k] +=
          (share(points[i - 1], k) + share(points[i], k)) / 2 * (points[i].at - points[i - 1].at);
  }
  return mean;
}

RunConfig measurable(RunConfig config, std::vector<std::string>& notes) {
  if (config.train.graph == GraphMode::check)
    fail(ErrorKind::config, {config.name + ": train.graph is check, which runs every step twice",
                             "", "add train.graph=on or train.graph=off"});
  config.evaluation.sources.clear();
  config.train.keep_best.clear();
  config.train.patience = 0;
  config.train.max_time.clear();
  config.train.epochs = 0;
  config.train.steps = config.data.sources.size() > 1 ? kMixedSteps : kSteps;
  config.init.from.clear();
  // A phase that begins during the measurement would make rungs train different networks.
  bool unfreezes = false;
  for (ParameterRule& rule : config.optimizer.parameters) {
    unfreezes = unfreezes || rule.unfreeze_at.value_or(0) > 0;
    if (rule.unfreeze_at) rule.unfreeze_at = 0;
  }
  if (unfreezes)
    notes.push_back("measured with the parameters of unfreeze_at trained from the start");
  if (config.data.schedule.size() > 1) {
    const std::vector<double> weights = mean_weights(config.data.schedule);
    std::string text;
    for (std::size_t k = 0; k < weights.size(); ++k)
      text += fmt::format("{}{} {:.3g}", k > 0 ? ", " : "", config.data.sources[k].spec.name,
                          weights[k]);
    notes.push_back("measured with the mean weights of the schedule: " + text);
    config.data.schedule = {{0, weights}};
  }
  return config;
}

std::uint64_t free_memory(Device device) {
  return device.is_cuda() ? describe(device).free_bytes : host_memory().available_bytes;
}

/// Enough batches that a step finds none of its rows in a cache; at most a quarter of the free memory,
/// and the least number if the configuration limits memory.
KeepBatches resident_batches(const RunConfig& config) {
  if (config.memory_limit() > 0) return {.least = kKeptBatches};
  const Device device = Device::parse(config.device);
  return {.least = kKeptBatches,
          .bytes = static_cast<std::size_t>(
              std::min<std::uint64_t>(beyond_caches(device), free_memory(device) / 4))};
}

}  // namespace

TrainingLadder::TrainingLadder(RunConfig config, TrainObserver& observer)
    : config_(measurable(std::move(config), notes_)), observer_(observer) {
  configured_ = trainer(config_, resident_batches(config_));
  if (streams()) add_cached();
}

std::unique_ptr<Trainer> TrainingLadder::trainer(const RunConfig& config,
                                                 const KeepBatches& keep) const {
  TrainerOptions options;
  options.write_files = false;
  options.keep = keep;
  return std::make_unique<Trainer>(config, observer_, options);
}

/// A trainer, or null, with a note, if this machine or the data do not allow the configuration, such
/// as images that only a crop brings to their size, or twice the batch that the memory allows.
std::unique_ptr<Trainer> TrainingLadder::possible_trainer(const std::string& what,
                                                          const RunConfig& config) {
  try {
    return trainer(config);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config && error.kind() != ErrorKind::device) throw;
    const std::string text = error.what();
    notes_.push_back(fmt::format("not tried: {}: {}", what, text.substr(0, text.find('\n'))));
    return nullptr;
  }
}

std::vector<std::string> TrainingLadder::notes() const {
  std::vector<std::string> notes = notes_;
  const KeptBatches kept = configured_->kept_batches();
  const std::size_t wanted = beyond_caches(Device::parse(config_.device));
  if (kept.count > 0 && kept.bytes < wanted)
    notes.push_back(
        fmt::format("the ceiling may find its rows in a cache: {} resident batches and the memory "
                    "of a step have {}, less than {}",
                    kept.count, human_bytes(kept.bytes), human_bytes(wanted)));
  return notes;
}

bool TrainingLadder::streams() const {
  return std::ranges::any_of(plan().sources, &PlanReport::Input::streamed);
}

RunConfig TrainingLadder::streamed_as(Storage storage, std::optional<RowForm> cache,
                                      double fraction) const {
  RunConfig config = config_;
  for (std::size_t k = 0; k < config.data.sources.size(); ++k) {
    if (!plan().sources[k].streamed) continue;
    SourceSpec& spec = config.data.sources[k].spec;
    spec.storage = storage;
    spec.cache.clear();
    if (cache)
      spec.cache.push_back(
          {.form = plan().sources[k].encoded ? *cache : RowForm::decoded, .fraction = fraction});
  }
  return config;
}

/// Adds the rungs whose rows are in memory, unless they need more than half of it.
void TrainingLadder::add_cached() {
  double bytes = 0;
  bool encoded = false;
  for (const PlanReport::Input& source : plan().sources) {
    if (!source.streamed) continue;
    bytes += source.bytes;
    encoded = encoded || source.encoded;
  }
  const auto add = [&](std::unique_ptr<Trainer>& to, Storage storage, std::optional<RowForm> cache,
                       const char* where, std::uint64_t available) {
    if (fits(bytes, available, where)) to = trainer(streamed_as(storage, cache));
  };
  const Device device = Device::parse(config_.device);
  add(resident_, Storage::resident, {}, "on the device", describe(device).memory_bytes);
  add(decoded_, Storage::streamed, RowForm::decoded, "in host memory",
      host_memory().available_bytes);
  if (encoded)
    add(encoded_, Storage::streamed, RowForm::encoded, "in host memory as encoded",
        host_memory().available_bytes);
}

/// False, with a note, if rows need more than half of the memory.
bool TrainingLadder::fits(double bytes, std::uint64_t available, const std::string& where) {
  if (bytes <= static_cast<double>(available) / 2) return true;
  notes_.push_back(fmt::format("skipped the rung with rows {}: they need {}, but only {} are free",
                               where, human_bytes(static_cast<std::uint64_t>(bytes)),
                               human_bytes(available)));
  return false;
}

Rung TrainingLadder::rung(std::string name, std::string stage, Trainer& trainer,
                          TimedPart part) const {
  // Batches that were read ahead while other rungs ran are used up without a step: during a step, a
  // data path that is nearly as fast would read others, which would hide that it is slower.
  std::int64_t ahead = 0;
  if (part != TimedPart::without_data)
    for (std::size_t k = 0; k < config_.data.sources.size(); ++k)
      if (trainer.plan().sources[k].streamed)
        ahead = std::max(ahead, config_.data.sources[k].spec.ahead);
  Rung rung{std::move(name), std::move(stage), static_cast<double>(trainer.plan().batch)};
  if (part != TimedPart::without_data) rung.bytes = rung.samples * plan().sample_bytes;
  rung.apart = part == TimedPart::data_alone;
  rung.memory = trainer.plan().memory;
  if (Device::parse(config_.device).is_cpu())
    rung.processors = compute_threads(trainer.config().threads).count;
  rung.run = [&trainer, part, ahead](std::int64_t steps) {
    wait_until_idle();
    if (ahead > 0) {
      trainer.time_steps(static_cast<std::uint64_t>(ahead), TimedPart::data_alone);
      trainer.time_steps(1, part);
    }
    return trainer.time_steps(static_cast<std::uint64_t>(steps), part);
  };
  return rung;
}

/// The stages of a step whose rows are on the device.
std::string TrainingLadder::device_stage() const {
  const bool generates = std::ranges::any_of(config_.data.sources, [](const SourceConfig& source) {
    return source.spec.kind == SourceKind::generator;
  });
  std::string stage = generates ? "generation" : "";
  if (augments()) stage += stage.empty() ? "augmentation" : " and augmentation";
  return stage.empty() ? "gathering rows" : stage;
}

bool TrainingLadder::augments() const {
  return std::ranges::any_of(config_.data.sources, [](const SourceConfig& source) {
    return !source.augmentations.list.empty();
  });
}

std::vector<Rung> TrainingLadder::rungs() {
  std::vector<Rung> rungs = {rung("resident batches", "", *configured_, TimedPart::without_data)};
  std::string stage = device_stage();
  const auto add = [&](const char* name, const std::unique_ptr<Trainer>& trainer,
                       const char* next) {
    if (trainer) rungs.push_back(rung(name, std::exchange(stage, ""), *trainer));
    stage += (stage.empty() ? "" : ", ") + std::string(next);
  };
  if (streams()) {
    const bool encoded = std::ranges::any_of(plan().sources, &PlanReport::Input::encoded);
    add("rows on the device", resident_, "copying");
    add("decoded rows in host memory", decoded_, encoded ? "decoding" : "reading files");
    if (encoded) add("encoded rows in host memory", encoded_, "reading files");
  }
  rungs.push_back(rung("as configured", stage, *configured_));
  rungs.push_back(rung("data alone, no network", "", *configured_, TimedPart::data_alone));
  return rungs;
}

std::int64_t TrainingLadder::reading_threads_of(const SourceSpec& spec) const {
  return reading_threads(spec.threads > 0 ? spec.threads : config_.threads);
}

std::vector<Counterfactual> TrainingLadder::test_causes(const std::vector<Cause>& causes,
                                                        LadderLimits limits) {
  if (causes.empty()) return {};
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<Counterfactual> tried;
  std::vector<Rung> rungs = {rung("as configured", "", *configured_)};
  const auto add = [&](const char* what, std::vector<std::string> stages, const RunConfig& config) {
    const Counterfactual counterfactual{.what = what, .stages = std::move(stages)};
    if (std::ranges::none_of(causes,
                             [&](const Cause& cause) { return counterfactual.tests(cause); }))
      return;
    std::unique_ptr<Trainer> other = possible_trainer(what, config);
    if (!other) return;
    trainers.push_back(std::move(other));
    rungs.push_back(rung(what, "", *trainers.back()));
    tried.push_back(counterfactual);
  };
  if (streams()) {
    RunConfig threads = config_;
    for (SourceConfig& source : threads.data.sources)
      source.spec.threads = 2 * reading_threads_of(source.spec);
    add("twice the reading threads", {"decoding", "reading files"}, threads);
    double bytes = 0;
    for (const PlanReport::Input& source : plan().sources)
      bytes += source.streamed ? source.bytes : 0;
    const bool encoded = std::ranges::any_of(plan().sources, &PlanReport::Input::encoded);
    const bool cached = std::ranges::any_of(config_.data.sources, [](const SourceConfig& source) {
      return !source.spec.cache.empty();
    });
    if (!cached && fits(bytes / 2, host_memory().available_bytes, "half in host memory")) {
      if (encoded)
        add("half of the rows decoded in memory", {"decoding"},
            streamed_as(Storage::streamed, RowForm::decoded, 0.5));
      add("half of the rows in memory as they are stored", {"reading files"},
          streamed_as(Storage::streamed, RowForm::encoded, 0.5));
    }
  }
  if (augments()) {
    RunConfig plain = config_;
    for (SourceConfig& source : plain.data.sources) {
      source.augmentations.list.clear();
      source.augmentations.groups.clear();
    }
    add("no augmentation", {"augmentation"}, plain);
  }
  if (tried.empty()) return tried;
  const Ladder ladder = measure_ladder(rungs, limits);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    tried[i].gain = ladder.rungs[i + 1].share;
    tried[i].interval = ladder.rungs[i + 1].share_interval;
  }
  return tried;
}

std::vector<Rung> TrainingLadder::sweep() {
  std::vector<Rung> rungs = {rung("as configured", "", *configured_)};
  const auto add = [&](const std::string& key, std::int64_t value, std::int64_t least,
                       const auto& change) {
    for (const std::int64_t other : {value / 2, 2 * value}) {
      if (other < least) continue;
      RunConfig config = config_;
      change(config, other);
      const std::string what = fmt::format("{}={}", key, other);
      std::unique_ptr<Trainer> changed = possible_trainer(what, config);
      if (!changed) continue;
      swept_.push_back(std::move(changed));
      rungs.push_back(rung(what, "", *swept_.back()));
    }
  };
  add("train.batch", config_.train.batch, 1,
      [](RunConfig& c, std::int64_t n) { c.train.batch = n; });
  if (Device::parse(config_.device).is_cpu())
    add("threads", compute_threads(config_.threads).count, 1,
        [](RunConfig& c, std::int64_t n) { c.threads = n; });
  for (std::size_t k = 0; k < config_.data.sources.size(); ++k) {
    if (!plan().sources[k].streamed) continue;
    const SourceSpec& spec = config_.data.sources[k].spec;
    const std::string source = fmt::format("data.sources.{}.", k);
    add(source + "threads", reading_threads_of(spec), 1,
        [k](RunConfig& c, std::int64_t n) { c.data.sources[k].spec.threads = n; });
    add(source + "ahead", spec.ahead, 2,
        [k](RunConfig& c, std::int64_t n) { c.data.sources[k].spec.ahead = n; });
  }
  return rungs;
}

std::vector<std::filesystem::path> TrainingLadder::streamed_files() const {
  std::vector<std::filesystem::path> files;
  for (std::size_t k = 0; k < config_.data.sources.size(); ++k)
    if (plan().sources[k].streamed)
      for (auto& file : files_below(config_.resolve(config_.data.sources[k].spec.path)))
        files.push_back(std::move(file));
  return files;
}

std::optional<FileCount> TrainingLadder::files() const {
  if (!streams()) return std::nullopt;
  FileCount files;
  for (const std::filesystem::path& file : streamed_files()) {
    std::error_code unknown;  // then its bytes are not counted
    const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
    ++files.count;
    if (!unknown) files.bytes += bytes;
  }
  return files;
}

std::optional<ReadingRates> TrainingLadder::reading_rates() const {
  if (!streams()) return std::nullopt;
  return wellspring::reading_rates(streamed_files());
}

ColdFiles TrainingLadder::measure_cold(LadderLimits limits) {
  const std::vector<std::filesystem::path> files = streamed_files();
  if (files.empty()) return {{}, "the files are not at the configured path"};
  if (!bytes_read()) return {{}, "the system does not count bytes from storage"};
  BytesRead read;
  Rung cold = rung("files from storage", "storage", *configured_);
  cold.run = [&, warm = cold.run](std::int64_t steps) {
    drop_from_page_cache(files);
    const BytesRead before = *bytes_read();
    StepTimes times = warm(steps);
    const BytesRead after = *bytes_read();
    read.calls += after.calls - before.calls;
    read.storage += after.storage - before.storage;
    return times;
  };
  const Ladder ladder = measure_ladder({rungs().front(), cold}, limits);
  if (std::string reason = kept_by_page_cache(read); !reason.empty())
    return {{}, std::move(reason)};
  return {ladder.rungs.back(), ""};
}

std::optional<double> TrainingLadder::decoding_rate() const {
  using Clock = std::chrono::steady_clock;
  constexpr double kSeconds = 0.3;
  RunConfig config = config_;
  const Mixture mixture = config.open_training();
  for (int k = 0; k < mixture.size(); ++k) {
    const Dataset* const rows = mixture.source(k).rows();
    if (rows == nullptr || !rows->encoded()) continue;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(rows->layout().bytes()));
    const std::unique_ptr<RowReader> reader = rows->reader();
    reader->read(0, row.data());
    std::int64_t count = 0;
    const auto begin = Clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    while (seconds() < kSeconds) reader->read(++count % rows->size(), row.data());
    return static_cast<double>(count) / seconds();
  }
  return std::nullopt;
}

}  // namespace wellspring
