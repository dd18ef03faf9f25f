// Who had the machine's processors for a while: this process, other ones, or nobody. For the
// verdict on a measurement; host only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wellspring {

/// Seconds since some moment in the past, of the same machine.
struct ProcessorTimes {
  double wall = 0;
  double own = 0;  ///< processor time of all threads of this process
  /// Of all processors together, from /proc/stat.
  struct Machine {
    double busy = 0;    ///< with anything, this process included
    double stolen = 0;  ///< in which whoever runs this virtual machine ran something else
    int processors = 0;
  };
  std::optional<Machine> machine;  ///< none where the system does not tell
};

/// Now. Never fails: what cannot be read is left out.
ProcessorTimes processor_times();

/// The first lines of /proc/stat (proc(5)), whose unit is 1 / `ticks` seconds. Nothing where they
/// are something else.
std::optional<ProcessorTimes::Machine> parse_processor_times(std::string_view stat, double ticks);

/// Averages over a while, in processors: 1.5 are one and a half that were busy all the time.
struct ProcessorLoad {
  double own = 0;
  struct Others {
    double others = 0;  ///< other programs, and the system on behalf of anybody
    double stolen = 0;
    int processors = 0;  ///< of the machine
  };
  std::optional<Others> machine;

  /// Whether others took more than a twentieth of the machine. False where that is not known.
  bool busy() const;
  /// "other programs took 0.93 of its 2 processors, this one 1.05".
  std::string to_string() const;
};

/// Between two calls of processor_times(). The kernel counts in hundredths of a second: over less
/// than a second these are rough figures.
ProcessorLoad load_between(const ProcessorTimes& begin, const ProcessorTimes& end);

}  // namespace wellspring
