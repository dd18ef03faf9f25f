#include "bench/machine.h"

#include "kernels/runtime/host_limits.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/utsname.h>

namespace wellspring::bench {
namespace {

/// The value on the first line of `path` that begins with `key`, without separator and spaces.
std::string value_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    if (!text.starts_with(key)) continue;
    const std::size_t begin = text.find_first_not_of(" \t:=\"", key.size());
    if (begin == std::string::npos) return "";
    const std::size_t end = text.find_last_not_of(" \t\"");
    return text.substr(begin, end - begin + 1);
  }
  return "";
}

/// The processor features that affect the speed of host code and oneDNN.
std::string speed_features() {
  static constexpr std::array kFeatures{"sse4_2",      "avx2",     "fma",
                                        "f16c",        "avx512f",  "avx512_vnni",
                                        "avx512_bf16", "amx_bf16", "avx_vnni"};
  std::istringstream all(value_of("/proc/cpuinfo", "flags"));
  std::string found;
  for (std::string flag; all >> flag;) {
    for (const char* feature : kFeatures) {
      if (flag == feature) found += (found.empty() ? "" : " ") + flag;
    }
  }
  return found.empty() ? "unknown" : found;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = value_of("/proc/cpuinfo", "model name");
  machine.instruction_sets = speed_features();
  const ThreadChoice threads = compute_threads(0);
  machine.threads = threads.count;
  machine.threads_from = threads.decided_by;
  const HostMemory memory = host_memory();
  machine.memory_bytes = static_cast<double>(memory.total_bytes);
  machine.available_bytes = static_cast<double>(memory.available_bytes);
  machine.memory_limited_by = memory.limited_by;
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  utsname name{};
  if (uname(&name) == 0) {
    machine.system = fmt::format("{} {}, {}", name.sysname, name.release,
                                 value_of("/etc/os-release", "PRETTY_NAME"));
  }
  return machine;
}

nlohmann::json to_json(const Machine& machine) {
  return {{"processor", machine.processor},
          {"instruction_sets", machine.instruction_sets},
          {"system", machine.system},
          {"threads", machine.threads},
          {"threads_from", machine.threads_from},
          {"memory_bytes", machine.memory_bytes},
          {"load", machine.load}};
}

}  // namespace wellspring::bench
