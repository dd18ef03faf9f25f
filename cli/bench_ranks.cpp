#include "cli/bench_ranks.h"

#include "bench/measure.h"
#include "cli/command.h"
#include "cli/local_ranks.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/measure/spread.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "measure/table.h"
#include "train/ranks/open_ranks.h"
#include "train/ranks/rank_settings.h"
#include "train/trainer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wellspring::cli {
namespace {

using std::chrono::seconds;

constexpr double kWindow = 1.5;  ///< seconds of one measurement
constexpr int kLargestErrorCode = static_cast<int>(ErrorKind::device);

/// Rates of one number of ranks, samples per second.
struct Rates {
  int ranks = 1;
  std::vector<double> turns = {};

  double median() const { return spread_of(turns).median; }
};

RunConfig config_for(const RankBench& options, int ranks) {
  RunConfig config = RunConfig::load(options.config, options.settings);
  if (config.train.graph == GraphMode::check)
    fail(ErrorKind::config, {config.name + ": train.graph is check, which runs every step twice",
                             "", "add train.graph=on or train.graph=off"});
  if (options.weak) config.train.batch *= ranks;
  config.evaluation.sources.clear();  // neither read nor evaluated
  config.train.keep_best.clear();
  static_cast<void>(share_of(config.train.batch, 0, ranks, config.rank_rows_unit()));
  return config;
}

/// Rates of all ranks together, in samples per second, from `turns` windows.
std::vector<double> measure(RunConfig config, Communicator& ranks, int turns) {
  constexpr std::uint64_t kTrial = 4;
  const auto batch = static_cast<double>(config.train.batch);
  TrainObserver silent;
  TrainerOptions options;
  options.write_files = false;
  options.ranks = &ranks;
  Trainer trainer(std::move(config), silent, options);
  const double step = trainer.time_steps(kTrial).wall / static_cast<double>(kTrial);
  // All ranks take as many steps as rank 0 says.
  std::array<std::uint64_t, 1> steps = {
      std::max(kTrial, static_cast<std::uint64_t>(kWindow / std::max(step, 1e-6)))};
  ranks.broadcast(std::as_writable_bytes(std::span(steps)));
  std::vector<double> rates;
  for (int turn = 0; turn < turns; ++turn) {
    ranks.barrier();
    rates.push_back(batch * static_cast<double>(steps[0]) / trainer.time_steps(steps[0]).wall);
  }
  return rates;
}

std::vector<double> measure_as_rank(const RankBench& options, const Launch& launch, int turns) {
  RunConfig config = config_for(options, launch.size);
  take_part_of_node(config, launch);
  constexpr seconds kTimeout{600};
  const std::unique_ptr<ConnectedRanks> ranks = open_ranks(
      launch, Device::parse(config.device), fmt::format("{} {}", kVersion, kCommit), kTimeout);
  try {
    take_processors(config, launch, *ranks);
    return measure(std::move(config), *ranks, turns);
  } catch (const std::exception& error) {
    ranks->abandon(fmt::format("rank {} has failed: {}", launch.rank, error.what()));
    throw;
  }
}

/// In a new process: starts the ranks, and rank 0 writes the rate to `out`. Returns the exit code of
/// this process, which may also be one of the ranks.
int measure_in_process(const RankBench& options, int count, int out) {
  if (const auto code = start_local_ranks(count)) return *code;
  const std::optional<Launch> launch = find_launch(process_environment(), getppid());
  const double rate = launch ? measure_as_rank(options, *launch, 1).at(0)
                             : measure(config_for(options, 1), single_rank(), 1).at(0);
  const bool first = !launch || launch->rank == 0;
  if (first && write(out, &rate, sizeof rate) != static_cast<ssize_t>(sizeof rate))
    fail(ErrorKind::runtime, {"cannot pass on a rate"});
  return 0;
}

/// Ranks as processes, so that each measurement starts without threads and libraries in use.
double measure_locally(const RankBench& options, int count) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) fail(ErrorKind::runtime, {"cannot make a pipe"});
  const pid_t child = fork();
  if (child < 0) fail(ErrorKind::runtime, {"cannot start a process"});
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(ends[0]);
    int code = static_cast<int>(ErrorKind::runtime);
    try {
      code = measure_in_process(options, count, ends[1]);
    } catch (const Error& error) {
      tell(stderr, "wellspring: error: {}\n", error.what());
      code = static_cast<int>(error.kind());
    } catch (const std::exception& error) {
      tell(stderr, "wellspring: error: {}\n", error.what());
    }
    std::_Exit(code);
  }
  close(ends[1]);
  double rate = 0;
  const bool read_it = read(ends[0], &rate, sizeof rate) == static_cast<ssize_t>(sizeof rate);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (read_it && status == 0) return rate;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  fail(code >= 1 && code <= kLargestErrorCode ? static_cast<ErrorKind>(code) : ErrorKind::runtime,
       {fmt::format("the measurement with {} has failed", counted(count, "rank")),
        "see the message above"});
}

void print(const RankBench& options, const std::vector<Rates>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"ranks", "samples/s", "lowest", "highest", "times one rank", "of the ideal"}};
  nlohmann::ordered_json json = bench::describe_program();
  for (const Rates& rates : all) {
    const double median = rates.median(), times = median / all.front().median();
    const auto [lowest, highest] = std::ranges::minmax(rates.turns);
    std::vector<std::string> row = {std::to_string(rates.ranks),
                                    human_count(median),
                                    human_count(lowest),
                                    human_count(highest),
                                    "-",
                                    "-"};
    if (all.front().ranks == 1) {
      row[4] = fmt::format("{:.2f}", times);
      row[5] = fmt::format("{:.0f} %", 100 * times / rates.ranks);
    }
    rows.push_back(std::move(row));
    json["rows"].push_back(
        {{"ranks", rates.ranks}, {"samples_per_second", median}, {"turns", rates.turns}});
  }
  tell(stdout, "{}", table_text(rows));
  if (options.json.empty()) return;
  OutputFile file(options.json, OutputFile::Mode::replace);
  file.write(json.dump(2) + "\n");
  file.finish();
}

}  // namespace

int bench_ranks(const RankBench& options) {
  if (!has_yaml_name(options.config))
    fail(ErrorKind::config, {"bench ranks takes a configuration", "",
                             "write, for example, wellspring bench ranks configs/quickstart.yaml"});
  if (!options.json.empty()) require_creatable(options.json);
  if (const auto launch = find_launch(process_environment(), getppid())) {
    const Rates rates{launch->size, measure_as_rank(options, *launch, options.turns)};
    if (launch->rank == 0) print(options, {rates});
    return 0;
  }
  std::vector<Rates> all;
  for (int ranks = 1; ranks < options.most; ranks *= 2) all.push_back({ranks});
  all.push_back({options.most});
  for (const Rates& rates : all) static_cast<void>(config_for(options, rates.ranks));
  for (int turn = 0; turn < options.turns; ++turn)
    for (Rates& rates : all) rates.turns.push_back(measure_locally(options, rates.ranks));
  print(options, all);
  return 0;
}

}  // namespace wellspring::cli
