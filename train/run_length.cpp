#include "train/run_length.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/same_run.h"
#include "train/optimizer/learning_rate.h"
#include "train/step/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace wellspring {
namespace {

/// The largest number of steps; a double represents all smaller integers exactly.
constexpr double kMostSteps = 0x1p53;

/// Average number of samples per batch from this source.
double samples_per_step(const RunConfig& config, int source) {
  const std::vector<double>& weights = config.data.schedule.front().weights;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto samples = static_cast<double>(config.train.batch / config.data.views);
  return samples * weights[static_cast<std::size_t>(source)] / sum;
}

/// True if the weights of the sources are constant.
bool has_constant_weights(const DataConfig& data) {
  return std::ranges::all_of(data.schedule, [&](const SchedulePoint& point) {
    return point.weights == data.schedule.front().weights;
  });
}

/// The limit that has ended a run with this progress: out_of_patience, out_of_time or nullopt.
std::optional<RunStatus> limit_reached(const RunConfig& config, const RunProgress& progress) {
  const auto patience = static_cast<std::uint64_t>(config.train.patience);
  if (patience > 0 && progress.since_best >= patience) return RunStatus::out_of_patience;
  if (progress.training_seconds >= config.train.max_seconds()) return RunStatus::out_of_time;
  return std::nullopt;
}

}  // namespace

void settle_epochs(RunConfig& config, const Mixture& mixture, std::vector<std::string>& notes) {
  if (config.train.epochs == 0) return;
  if (!has_constant_weights(config.data))
    fail(ErrorKind::config,
         {"train.epochs: data.schedule changes the weights of the sources during the run",
          "the number of samples of a data set then follows from the number of steps",
          "set train.steps"});
  double longest = 0;  // steps per epoch
  std::string note;
  for (int i = 0; i < mixture.size(); ++i) {
    const Source& source = mixture.source(i);
    const double per_step = samples_per_step(config, i);
    if (source.size() == 0 || per_step == 0) continue;
    const std::uint64_t samples = source.size() * source.order().repeats;
    if (static_cast<double>(samples) / per_step <= longest) continue;
    longest = static_cast<double>(samples) / per_step;
    note = fmt::format("{} of {} from '{}'", counted(config.train.epochs, "epoch"),
                       counted(samples, "sample"), source.name());
  }
  if (longest == 0)
    fail(ErrorKind::config, {"train.epochs: no source is a data set",
                             "generators have no epochs: their samples are new "
                             "in every step",
                             "set train.steps; N samples are N / train.batch steps"});
  const double steps = std::ceil(static_cast<double>(config.train.epochs) * longest);
  if (steps >= kMostSteps)
    fail(ErrorKind::config, {fmt::format("train.epochs: {:.3g} steps are too many", steps), "",
                             "set fewer epochs, or increase the source's weight"});
  config.train.steps = static_cast<std::int64_t>(steps);
  config.train.epochs = 0;
  config.check_sample_ids();
  expect_unfrozen_within(config.train.steps, config.optimizer);
  notes.push_back(fmt::format("{}: {}", note, counted(config.train.steps, "step")));
}

bool may_be_longer(const RunConfig& config) {
  RunConfig longer = config;
  longer.train.steps *= 2;
  return has_constant_weights(config.data) &&
         ops::same_rates(learning_rate_schedule(config), learning_rate_schedule(longer),
                         static_cast<std::uint64_t>(config.train.steps));
}

std::string higher_limit(const RunConfig& config, RunStatus limit, double training_seconds) {
  return limit == RunStatus::out_of_time
             ? fmt::format("train.max_time={:.6g}s",
                           2 * std::max(config.train.max_seconds(), training_seconds))
             : fmt::format("train.patience={}", 2 * config.train.patience);
}

std::uint64_t extended_steps(const RunConfig& config, std::uint64_t more,
                             const CommandWith& command) {
  const std::string folder = config.folder().string();
  const std::optional<std::filesystem::path> newest = CheckpointStore(config.folder()).newest();
  if (!newest)
    fail(ErrorKind::config,
         {fmt::format("--extend: {} has no checkpoint", folder),
          "only a run that has ended can be extended", "train it first, without --extend"});
  const CheckpointHeader header = read_checkpoint_header(*newest);
  const std::optional<std::uint64_t> planned = planned_steps(header.identity);
  const std::optional<RunStatus> limit = limit_reached(config, header.progress);
  if (planned && header.step < *planned) {
    // The run may have been extended before, so its length may differ from the configuration's.
    std::vector<std::string> settings = {fmt::format("train.steps={}", *planned)};
    if (config.train.epochs > 0) settings.emplace_back("train.epochs=0");
    if (limit) settings.push_back(higher_limit(config, *limit, header.progress.training_seconds));
    fail(ErrorKind::config, {fmt::format("--extend: {} is at step {} of {}{}", folder, header.step,
                                         *planned, limit ? ", " + to_string(*limit) : ""),
                             "only a run that has ended can be extended",
                             "continue it without --extend: " + command(settings)});
  }
  if (limit)
    fail(ErrorKind::config,
         {fmt::format("--extend: {} has reached its limit: {}", folder, to_string(*limit)),
          "the longer run would end at once",
          fmt::format("add {} to the command",
                      higher_limit(config, *limit, header.progress.training_seconds))});
  return header.step + more;
}

}  // namespace wellspring
