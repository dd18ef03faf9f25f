// Repeated timing: the median and the spread of many short measurements. Called by the benchmarks;
// host only.
#pragma once

#include "kernels/device.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::bench {

/// A rate beside the one it cannot exceed.
struct Ceiling {
  std::string what;  ///< "memory write, 8 MiB"
  double rate = 0;   ///< in the unit of the row
};

/// One line of a report.
struct Row {
  std::string name;  ///< "shapes 224x224x3 f32"
  std::string unit;  ///< of the rate: "images/s", "GB/s", "GFLOP/s"
  double rate = 0;   ///< median
  double spread = 0;
  int repeats = 0;
  std::optional<Ceiling> ceiling;
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
};

/// Warms up until two runs agree, then measures `repeats` times; each measurement repeats `run`
/// for at least 20 ms so that the clock and the scheduler do not matter.
Row measure(const std::string& name, const std::string& unit, const Work& work, int repeats = 11);

/// Bytes per second at which this device's memory takes zeros into a buffer of `bytes`.
double write_bandwidth(Device device, std::size_t bytes);

/// Names that an extended regular expression is found in.
class Filter {
 public:
  /// Empty: all of them. Error (config): no regular expression, or more than 256 bytes.
  explicit Filter(const std::string& pattern);
  bool matches(const std::string& name) const { return matches_(name); }

 private:
  std::function<bool(const std::string&)> matches_;
};

// The benchmark groups. Each appends the rows whose name matches.
void bench_generators(Report& report, const Filter& filter);
void bench_ops(Report& report, const Filter& filter);
void bench_train(Report& report, const Filter& filter);

/// With the machine's description.
nlohmann::json to_json(const Report& report);

}  // namespace wellspring::bench
