// Processor use by this process and by others, for judging a measurement. Called by benchmarks and
// training runs; host only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wellspring {

/// Times in seconds, each since a fixed moment.
struct ProcessorTimes {
  double wall = 0;
  double own = 0;  ///< processor time of all threads of this process
  /// Sums over all processors, from /proc/stat.
  struct Machine {
    double busy = 0;    ///< by any process, including this one
    double stolen = 0;  ///< taken by the hypervisor of this virtual machine
    int processors = 0;
  };
  std::optional<Machine> machine;  ///< empty if unknown
};

/// Processor time of all threads of this process, seconds; 0 if unknown.
double processor_seconds();
/// Current times. Never fails: values that cannot be read are left out.
ProcessorTimes processor_times();

/// Parses the first lines of /proc/stat (proc(5)), in units of 1 / `ticks` seconds. Empty if they
/// have another format.
std::optional<ProcessorTimes::Machine> parse_processor_times(std::string_view stat, double ticks);

/// Averages over a time span, in processors: 1.5 means one and a half processors busy all the time.
struct ProcessorLoad {
  double own = 0;
  struct Others {
    double others = 0;  ///< by other programs, and by the kernel for any program
    double stolen = 0;
    int processors = 0;  ///< processors of the machine
  };
  std::optional<Others> machine;

  /// True if others used more than 1/20 of the machine. False if unknown.
  bool busy() const;
  /// "other programs used 0.93 of 2 processors, this one 1.05".
  std::string to_string() const;
};

/// The load between two calls of processor_times(). The kernel counts in hundredths of a second, so
/// spans below a second give rough values.
ProcessorLoad load_between(const ProcessorTimes& begin, const ProcessorTimes& end);

}  // namespace wellspring
