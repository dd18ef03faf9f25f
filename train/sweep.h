// A sweep: one run for each combination of settings and seeds, and a table of their results. Called
// by the command line, which starts the runs; host only.
#pragma once

#include "train/config/run_config.h"
#include "train/keep_best.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// A key of the configuration and the values that it takes.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

/// Parses "key=a,b,[c, d]"; commas inside brackets do not separate values, and an empty value is
/// allowed. Errors (config): no key, a repeated value, or a key that is set separately for each run
/// (out, name, seed).
SweepAxis parse_axis(const std::string& text);

struct SweepRun {
  std::size_t cell = 0;
  std::string seed;  ///< "": the configuration's seed
  std::string name;  ///< name of the run and of its folder
  std::filesystem::path folder;
  std::vector<std::string> overrides;  ///< all that `wellspring train` needs
  bool finished = false;               ///< true if it had finished before the sweep began
};

struct SweepPlan {
  std::vector<SweepAxis> axes;
  std::vector<std::vector<std::string>> cells;  ///< values by axis; the last axis varies fastest
  std::vector<SweepRun> runs;                   ///< cell by cell, then by seed
};

/// `common`: overrides of all runs. Without seeds, each cell has one run. Errors (config): a
/// repeated key or seed, or more than 10,000 runs.
SweepPlan plan_sweep(std::vector<SweepAxis> axes, const std::vector<std::string>& seeds,
                     const std::vector<std::string>& common, const std::filesystem::path& out);

enum class SweepStatus : std::uint8_t { waiting, finished, failed, interrupted };

struct SweepOutcome {
  SweepStatus status = SweepStatus::waiting;
  std::optional<double> value;  ///< the figure, of a finished run that has it
  std::string reason;           ///< explanation of a failure
};

/// The figure "[SOURCE.][HEAD/]SCORE" in the last evaluation of a run's folder; without SOURCE, for
/// the first held-out source. nullopt if the run has no such figure. Error (data): damaged metrics.
std::optional<double> sweep_figure(const std::filesystem::path& folder, const std::string& figure);

/// Mean and standard deviation of the finished runs of each cell.
struct SweepCell {
  std::size_t runs = 0, finished = 0;
  double mean = 0;
  double spread = 0;  ///< sample standard deviation; 0 for a single run
};
std::vector<SweepCell> summarise(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes);

/// The table: one line of titles, then one line per cell. `figure`: the figure's name.
std::vector<std::vector<std::string>> sweep_table(const SweepPlan& plan,
                                                  const std::vector<SweepOutcome>& outcomes,
                                                  const std::string& figure);
/// Writes sweep.json (every run) and sweep.html (table and chart) to the folder.
void write_sweep(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes,
                 const std::string& figure, const std::filesystem::path& folder);

}  // namespace wellspring
