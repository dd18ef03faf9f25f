#include "core/measure/processor_load.h"

#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace wellspring {

std::optional<ProcessorTimes::Machine> parse_processor_times(std::string_view stat, double ticks) {
  std::istringstream lines{std::string(stat)};
  std::string name;
  // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user and nice.
  std::array<double, 8> times{};
  if (!(lines >> name) || name != "cpu" || ticks <= 0) return std::nullopt;
  for (double& time : times)
    if (!(lines >> time)) return std::nullopt;
  ProcessorTimes::Machine machine;
  machine.busy = (times[0] + times[1] + times[2] + times[5] + times[6]) / ticks;
  machine.stolen = times[7] / ticks;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line.starts_with("cpu");)
    ++machine.processors;
  if (machine.processors == 0) return std::nullopt;
  return machine;
}

double processor_seconds() {
  timespec own{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0) return 0;
  return static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
}

ProcessorTimes processor_times() {
  ProcessorTimes times;
  times.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  times.own = processor_seconds();
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) text << line << '\n';
  times.machine = parse_processor_times(text.str(), static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return times;
}

ProcessorLoad load_between(const ProcessorTimes& begin, const ProcessorTimes& end) {
  ProcessorLoad load;
  const double wall = end.wall - begin.wall;
  if (wall <= 0) return load;
  load.own = (end.own - begin.own) / wall;
  if (!begin.machine || !end.machine) return load;
  const double busy = (end.machine->busy - begin.machine->busy) / wall;
  // busy and own use different clocks, so their difference may be slightly negative.
  load.machine = {std::max(0.0, busy - load.own),
                  std::max(0.0, (end.machine->stolen - begin.machine->stolen) / wall),
                  end.machine->processors};
  return load;
}

bool ProcessorLoad::busy() const {
  return machine && machine->others + machine->stolen > 0.05 * machine->processors;
}

std::string ProcessorLoad::to_string() const {
  if (!machine)
    return fmt::format("this program used {:.2f} processors; use by other programs is unknown",
                       own);
  const std::string stolen =
      machine->stolen < 0.005 ? "" : fmt::format(", the hypervisor {:.2f}", machine->stolen);
  return fmt::format("other programs used {:.2f} of {}{}, this one {:.2f}", machine->others,
                     counted(machine->processors, "processor"), stolen, own);
}

}  // namespace wellspring
