#include "kernels/runtime/threads.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <omp.h>

namespace wellspring {
namespace {

/// The first entry of OMP_NUM_THREADS; nullopt unless it is a positive number, because OpenMP's
/// runtime ignores other values (OpenMP 5.0, section 6.2).
std::optional<int> first_entry(const std::string& list) {
  const std::string_view entry = trim(std::string_view(list).substr(0, list.find(',')));
  const char* const end = entry.data() + entry.size();
  int value = 0;
  const auto [rest, error] = std::from_chars(entry.data(), end, value);
  if (error == std::errc::result_out_of_range && rest == end) return INT_MAX;
  if (error != std::errc{} || rest != end || value < 1) return std::nullopt;
  return value;
}

ThreadChoice without_limit(const ThreadLimits& limits) {
  const int sensible = most_sensible_threads(limits.processors);
  if (limits.configured < 0 || limits.configured > sensible) {
    const std::string written = fmt::format("threads = {}", limits.configured);
    if (limits.configured < 0)
      fail(ErrorKind::config,
           {written + " is negative", "",
            "set a number, or 0 for the default of the environment and the machine"});
    fail(ErrorKind::config, {fmt::format("{} is too large", written),
                             fmt::format("this process may use {}; the limit is {}",
                                         counted(limits.processors, "processor"),
                                         counted(sensible, "thread", "threads")),
                             "set threads: 0 for the default of the environment and the machine"});
  }
  if (limits.configured > 0) return {static_cast<int>(limits.configured), "the configuration"};
  if (limits.environment) {
    if (const std::optional<int> wanted = first_entry(*limits.environment))
      return {std::min(*wanted, sensible), fmt::format("OMP_NUM_THREADS={}{}", *limits.environment,
                                                       *wanted > sensible ? ", capped" : "")};
  }
  if (limits.quota && limits.quota->processors < limits.processors)
    return {std::max(1, static_cast<int>(std::ceil(limits.quota->processors))),
            fmt::format("{}, which allows {:.2f} processors", limits.quota->group,
                        limits.quota->processors)};
  return {limits.processors, "the affinity mask"};
}

ThreadLimits limits_here(std::int64_t configured) {
  ThreadLimits limits;
  limits.configured = configured;
  if (const char* value = std::getenv("OMP_NUM_THREADS")) limits.environment = value;
  limits.processors = usable_cpu_count();
  if (configured == 0) limits.quota = processor_quota();
  return limits;
}

}  // namespace

std::string ThreadChoice::to_string() const {
  return counted(count, "thread") + " set by " + decided_by;
}

int most_sensible_threads(int processors) {
  return std::max(64, 4 * processors);
}

ThreadChoice choose_threads(const ThreadLimits& limits) {
  const ThreadChoice choice = without_limit(limits);
  if (choice.count <= limits.most) return choice;
  return {limits.most, fmt::format("OMP_THREAD_LIMIT={}", limits.most)};
}

ThreadChoice compute_threads(std::int64_t configured) {
  ThreadLimits limits = limits_here(configured);
  limits.most = omp_get_thread_limit();
  return choose_threads(limits);
}

std::string summarise_device(Device device, std::int64_t configured_threads) {
  const std::string threads =
      device.is_cpu() ? ", " + compute_threads(configured_threads).to_string() : "";
  return fmt::format("{} ({}{})", device.to_string(), describe(device).name, threads);
}

int reading_threads(std::int64_t configured) {
  return choose_threads(limits_here(configured)).count;
}

}  // namespace wellspring
