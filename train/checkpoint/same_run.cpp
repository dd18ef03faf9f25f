#include "train/checkpoint/same_run.h"

#include "core/config/config_values.h"
#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/plural.h"
#include "train/checkpoint/tensor_text.h"
#include "train/optimizer/learning_rate.h"
#include "train/step/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// `config` with the steps, warm-up and cool-down of `identity`; nullopt if `identity` does not
/// give the number of steps.
std::optional<RunConfig> of_other_length(const RunConfig& config, const std::string& identity) {
  RunConfig other = config;
  bool found = false;
  for (const ConfigEntry& entry : config_entries(identity, "checkpoint")) {
    try {
      if (entry.path_text() == "train.steps") {
        other.train.steps = std::stoll(entry.value);
        found = true;
      }
      if (entry.path_text() == "optimizer.warmup") other.optimizer.warmup = std::stod(entry.value);
      if (entry.path_text() == "optimizer.cooldown")
        other.optimizer.cooldown = std::stod(entry.value);
    } catch (const std::logic_error&) {  // not a number
      return std::nullopt;
    }
  }
  if (!found) return std::nullopt;
  return other;
}

[[noreturn]] void refuse_shorter_run(const fs::path& checkpoint, std::uint64_t before,
                                     std::uint64_t now) {
  fail(ErrorKind::config,
       {fmt::format("{}: this run has {}, but the configuration has only {}", checkpoint.string(),
                    counted(before, "step"), now),
        "it was extended, or the configuration was changed",
        fmt::format("to continue it, set train.steps={} and no train.epochs; for a new run, set "
                    "another out=FOLDER",
                    before)});
}

}  // namespace

std::optional<std::uint64_t> planned_steps(const std::string& identity) {
  for (const ConfigEntry& entry : config_entries(identity, "checkpoint"))
    if (entry.path_text() == "train.steps") return parse_number<std::uint64_t>(entry.value);
  return std::nullopt;
}

std::uint64_t expect_same_run(const fs::path& checkpoint, const CheckpointHeader& header,
                              const RunConfig& config) {
  const auto steps = static_cast<std::uint64_t>(config.train.steps);
  const std::vector<std::string> differences =
      config_differences(header.identity, config.identity_yaml());
  if (differences.empty()) return steps;
  const std::optional<RunConfig> other = of_other_length(config, header.identity);
  if (other && other->train.steps != config.train.steps &&
      config_differences(header.identity, other->identity_yaml()).empty()) {
    const auto before = static_cast<std::uint64_t>(other->train.steps);
    if (before > steps) refuse_shorter_run(checkpoint, before, steps);
    const ops::ScheduleSpec rates = learning_rate_schedule(*other);
    const std::uint64_t cooldown_begin = rates.total - rates.cooldown;
    if (ops::same_rates(rates, learning_rate_schedule(config), header.step)) return before;
    refuse_longer_run(
        checkpoint, before, steps,
        fmt::format("its learning-rate schedule depends on the number of steps, and with another "
                    "number the rates would have differed before step {}; only a constant rate "
                    "(optimizer.schedule=constant{}, or optimizer.floor=1) can continue, with the "
                    "same {} (optimizer.warmup={:.9g})",
                    header.step,
                    rates.cooldown > 0
                        ? fmt::format(" before its cool-down, so from a checkpoint up to step {}",
                                      cooldown_begin)
                        : "",
                    counted(rates.warmup, "warm-up step"),
                    static_cast<double>(rates.warmup) / static_cast<double>(steps)));
  }
  const bool other_version = std::ranges::any_of(differences, [](const std::string& line) {
    return line.find("generator_version: ") != std::string::npos;
  });
  fail(ErrorKind::config,
       {fmt::format("{} belongs to a run with a different configuration", checkpoint.string()),
        listed(differences) +
            (other_version ? "; a different generator version makes different samples" : ""),
        "restore the configuration, or start a new run: set another out=FOLDER, and init.from to "
        "start with these weights"});
}

void refuse_longer_run(const fs::path& checkpoint, std::uint64_t before, std::uint64_t now,
                       const std::string& why) {
  fail(ErrorKind::config,
       {fmt::format("{}: this run was planned for {} and cannot be extended to {}",
                    checkpoint.string(), counted(before, "step"), now),
        why,
        fmt::format("start a new run with these weights: set another out=FOLDER and init.from={}",
                    checkpoint.string())});
}

}  // namespace wellspring
