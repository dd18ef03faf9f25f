// Repeated timing: the median of many short measurements, by turns with those of what bounds it.
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

/// The rate that another one cannot exceed.
struct Ceiling {
  std::string what;                       ///< "memory write, 8 MiB"
  double rate = 0;                        ///< median, in the unit of the row
  std::optional<Interval> interval = {};  ///< of the median: see median_interval
  CeilingShare share = {};                ///< that the row reached of it
  ProcessorLoad load = {};                ///< while both were measured
};

/// Another way to do the same work.
struct Rival {
  std::string what;                       ///< "a plain loop"
  double rate = 0;                        ///< median, in the unit of the row
  std::optional<Interval> interval = {};  ///< of the median
  double times = 0;                       ///< by how many times the row is faster: median of pairs
  std::optional<Interval> times_interval = {};
  ProcessorLoad load = {};  ///< while both were measured
};

/// One line of a report.
struct Row {
  std::string name;  ///< "shapes 224x224x3 f32"
  std::string unit;  ///< of the rate: "images/s", "GB/s", "GFLOP/s"
  double rate = 0;   ///< median
  double spread = 0;
  int repeats = 0;
  std::optional<Interval> interval = {};  ///< of the median
  std::optional<Ceiling> ceiling = {};
  std::optional<Rival> rival = {};
  double bytes = 0;  ///< written a sample, in all columns; 0: not told
  std::optional<GpuCeilings> gpu = {};
};

struct Report {
  Device device;
  std::function<void(const Row&)> on_row;  ///< called with each row as soon as it is measured
  std::vector<Row> rows = {};

  void add(Row row) {
    rows.push_back(std::move(row));
    if (on_row) on_row(rows.back());
  }
};

/// Something to be timed: `run` does `work` units, or enqueues them, and `wait` returns when all
/// that was enqueued is done. Apart, since waiting after each launch would be timed, too.
struct Work {
  std::function<void()> run;
  double work = 1;
  std::function<void()> wait = {};
  /// Makes so many runs and returns their seconds; replaces `run` and `wait` if not all of the work
  /// is timed.
  std::function<double(int)> seconds = {};
};
/// What a work is held against: of the same unit.
struct Beside {
  std::string what;  ///< "memory write of as many bytes"
  Work work;
};

inline constexpr double kShortestWindow =
    0.02;  ///< seconds; clock and scheduler matter less than 1 %
inline constexpr int kUsualPairs = 11;

/// Warms up both until two runs agree, then measures them by turns, `repeats` times each, each time
/// for kShortestWindow at least, and as long as the other: what else runs on the machine meets both
/// alike. Who goes first changes with each pair.
Row measure(const std::string& name, const std::string& unit, const Work& work, const Beside& bound,
            int repeats = kUsualPairs);
/// The same beside what bounds nothing.
Row compare(const std::string& name, const std::string& unit, const Work& work, const Beside& rival,
            int repeats = kUsualPairs);

/// Writes a buffer with random words, or copies one of two halves into the other, as our kernels
/// do: every thread a part, ordinary stores.
class MemoryTraffic {
 public:
  enum class Kind : std::uint8_t {
    write,  ///< bytes written are counted
    copy,   ///< bytes read and bytes written
  };
  /// Of `bytes` that are read or written at each run.
  MemoryTraffic(Device device, Kind kind, std::size_t bytes);
  /// `per_run`: what a run counts as. Valid while this lives.
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

/// Names that an extended regular expression is found in.
class Filter {
 public:
  /// Empty: all of them. Error (config): no regular expression, or more than 256 bytes.
  explicit Filter(const std::string& pattern);
  bool matches(const std::string& name) const { return matches_(name); }

 private:
  std::function<bool(const std::string&)> matches_;
};

/// What is measured in place of the usual launches of generators and steps of training, where
/// anything of it is given.
struct LaunchChoice {
  std::optional<std::int64_t> batch = {};  ///< samples a launch, or a step
  std::optional<int> size = {};            ///< side of images, pixels
  std::optional<int> threads = {};         ///< of the CPU; of generators alone
  std::optional<int> repeats = {};         ///< pairs of windows; of generators and train

  bool any() const { return batch || size || threads; }
};

// The benchmark groups. Each appends the rows whose name matches.
void bench_generators(Report& report, const Filter& filter, const LaunchChoice& choice = {});
void bench_augmentation(Report& report, const Filter& filter);
void bench_ops(Report& report, const Filter& filter);
void bench_train(Report& report, const Filter& filter, const LaunchChoice& choice = {});
/// The training step of a configuration. `observer` is told how far reading its data is. Error
/// (config): train.graph is check.
void bench_run(Report& report, RunConfig config, TrainObserver& observer,
               std::optional<int> repeats = {});

/// "shapes 32x32x3   12.3 k/s (12.1 k to 12.4 k)   97.4 % (...) of 12.6 k (memory write)".
std::string to_string(const Row& row);
/// With the machine's description.
nlohmann::json to_json(const Report& report);

}  // namespace wellspring::bench
