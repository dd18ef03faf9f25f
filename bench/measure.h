// Repeated timing: medians over many short windows that alternate with windows of a reference.
// Called by the benchmarks; host only.
#pragma once

#include "bench/gpu_ceilings.h"
#include "bench/write_words.h"
#include "core/measure/ceiling.h"
#include "core/measure/processor_load.h"
#include "core/measure/spread.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::bench {

/// Upper bound of a rate.
struct Ceiling {
  std::string what;                       ///< "memory write, 8 MiB"
  double rate = 0;                        ///< median, in the unit of the row
  std::optional<Interval> interval = {};  ///< interval of the median: see median_interval
  CeilingShare share = {};                ///< reached by the row
  ProcessorLoad load = {};                ///< while both were measured
};

/// Another way to do the same work.
struct Rival {
  std::string what;                       ///< "a plain loop"
  double rate = 0;                        ///< median, in the unit of the row
  std::optional<Interval> interval = {};  ///< interval of the median
  double times = 0;                       ///< speed-up of the row: median over pairs
  std::optional<Interval> times_interval = {};
  ProcessorLoad load = {};  ///< while both were measured
};

/// One line of a report.
struct Row {
  std::string name;  ///< "shapes 224x224x3 f32"
  std::string unit;  ///< unit of the rate: "images/s", "GB/s", "GFLOP/s"
  double rate = 0;   ///< median
  double spread = 0;
  int repeats = 0;
  std::optional<Interval> interval = {};  ///< interval of the median
  std::optional<Ceiling> ceiling = {};
  std::optional<Rival> rival = {};
  double bytes = 0;  ///< written per sample, all columns; 0: unknown
  std::optional<GpuCeilings> gpu = {};
  /// Rate by the host's clock over the rate by marks on the stream, as in RungResult; 0: only the
  /// host's clock was used.
  double clocks = 0;
  /// Share of the rate that was lost while it was measured: see slowdown_of.
  double slowdown = 0;
};

/// The relative drop of the median from the first to the last third of these rates, in the order in
/// which they were measured, if it is more than 5 % and all rates of the last third are below all of
/// the first; otherwise 0. A processor that throttles does this, and 11 equally distributed rates
/// with a probability of 1/20 (3 and 3 values) at most.
double slowdown_of(const std::vector<double>& rates);

class MemoryTraffic;

inline constexpr double kShortestWindow = 0.02;  ///< seconds; clock and scheduler add < 1 %
inline constexpr int kUsualPairs = 11;

struct Report {
  Device device;
  std::function<void(const Row&)> on_row;  ///< called after each row
  std::vector<Row> rows = {};
  MemoryTraffic* flush = nullptr;  ///< empties the caches before each run of an operation
  int repeats = kUsualPairs;       ///< pairs of windows; operations and files

  void add(Row row) {
    rows.push_back(std::move(row));
    if (on_row) on_row(rows.back());
  }
};

/// Work to be timed: `run` does or enqueues `work` units, and `wait` returns when the queue is
/// empty. They are separate so that a window does not contain one wait per launch.
struct Work {
  std::function<void()> run;
  double work = 1;
  std::function<void()> wait = {};
  /// Makes the given number of runs and returns their time in seconds. Replaces `run` and `wait` if
  /// only part of the work is timed.
  std::function<double(int)> seconds = {};
};
/// Baseline work, in the same unit.
struct Reference {
  std::string what;  ///< "memory write of the same size"
  Work work;
};

/// Units per second: the median of windows of at least kShortestWindow, after a warm-up.
double rate_of(const Work& work);

/// Warms up both until two runs agree, then measures `repeats` pairs of windows, one window of
/// each. The two windows of a pair have equal length, at least kShortestWindow, so that both see
/// the same load. They alternate in going first.
Row measure(const std::string& name, const std::string& unit, const Work& work,
            const Reference& bound, int repeats = kUsualPairs);
/// The same with a rival instead of a bound.
Row compare(const std::string& name, const std::string& unit, const Work& work,
            const Reference& rival, int repeats = kUsualPairs);

/// Writes random words into a buffer, or copies one half of it to the other. As in our kernels,
/// each thread handles one part, with ordinary stores.
class MemoryTraffic {
 public:
  enum class Kind : std::uint8_t {
    write,  ///< counts bytes written
    copy,   ///< counts bytes read and written
  };
  /// `bytes`: read or written per run.
  MemoryTraffic(Device device, Kind kind, std::size_t bytes);
  /// `per_run`: units of work per run. Valid while this object lives.
  Work work(double per_run);

 private:
  void fill();
  void run();

  Kind kind_;
  Stream stream_;
  MemoryPlan memory_;
  Planned<std::byte> block_;
  Planned<WriteWords::Words> tile_;
};

/// The work with caches that `flush` has emptied before each run; unchanged if it is null. Times
/// include one wait per run, and at most 5 runs of a window are made.
Work cold(const Work& work, MemoryTraffic* flush);

/// Selects the names that contain a match for an extended regular expression.
class Filter {
 public:
  /// An empty pattern selects all. Throws a config error if it is invalid or exceeds 256 bytes.
  explicit Filter(const std::string& pattern);
  bool matches(const std::string& name) const { return matches_(name); }

 private:
  std::function<bool(const std::string&)> matches_;
};

/// Overrides of the standard generator launches and training steps.
struct LaunchChoice {
  std::optional<std::int64_t> batch = {};  ///< samples per launch or step
  std::optional<int> size = {};            ///< image side, pixels
  std::optional<int> threads = {};         ///< CPU threads; generators only
  std::optional<int> repeats = {};         ///< pairs of windows; generators and train

  bool any() const { return batch || size || threads; }
};

// The benchmark groups. Each appends the rows whose names match.
void bench_generators(Report& report, const Filter& filter, const LaunchChoice& choice = {});
/// One generator with the given parameters. A user's generator with the name of a built-in one is
/// also compared with it.
void bench_generator(Report& report, const GeneratorEntry& entry,
                     const std::vector<ParamSetting>& settings, const LaunchChoice& choice = {});
void bench_augmentation(Report& report, const Filter& filter);
void bench_ops(Report& report, const Filter& filter);
void bench_files(Report& report, const Filter& filter);
void bench_train(Report& report, const Filter& filter, const LaunchChoice& choice = {});
/// The training step of a configuration. `observer` is told the progress of reading the data.
/// Throws a config error if train.graph is check.
void bench_run(Report& report, RunConfig config, TrainObserver& observer,
               std::optional<int> repeats = {});

/// "shapes 32x32x3   12.3 k/s (12.1 k to 12.4 k)   97.4 % (...) of 12.6 k (memory write)".
std::string to_string(const Row& row);
/// Version, commit and build of this program, and the machine.
nlohmann::ordered_json describe_program();
/// With `describe_program` and the device.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace wellspring::bench
