// Trace of a CUDA program by NVIDIA's CUPTI: kernels, copies and fills with times and graph nodes.
// A shared library that the driver loads when it starts:
//
//     CUDA_INJECTION64_PATH=.../libkernel_trace.so WELLSPRING_TRACE=FILE COMMAND
//
// Writes one JSON object per line as CUPTI delivers it, and {"end": RECORDS, "dropped": N} when the
// program ends. If CUPTI cannot be used, it writes {"unavailable": WHY} and the program runs
// untraced. Times are nanoseconds. All records of a graph launch share its `launch` number; `node`
// is the graph node; `graph` is 0 outside graphs.
#include "kernels/runtime/device_activity.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using nlohmann::json;
using wellspring::DeviceActivity;

std::FILE* file = nullptr;
std::size_t records = 0;

void write(const json& line) {
  // Names come from the traced program, so invalid UTF-8 is replaced.
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

void write_activity(const DeviceActivity& made) {
  constexpr const char* kKinds[] = {"kernel", "copy", "fill"};
  json line = {{"kind", kKinds[static_cast<int>(made.kind)]},
               {"name", made.name},
               {"start", made.begin},
               {"end", made.end},
               {"stream", made.stream},
               {"launch", made.launch},
               {"graph", made.graph},
               {"node", made.node}};
  if (made.kind == DeviceActivity::Kind::kernel) {
    line["grid"] = made.grid;
    line["block"] = made.block;
    line["registers"] = made.registers;
    line["shared_bytes"] = made.shared_bytes;
  } else {
    line["bytes"] = made.bytes;
  }
  write(line);
  ++records;
}

void finish() {
  const std::size_t dropped = wellspring::end_device_activity();
  write({{"end", records}, {"dropped", dropped}});
}

}  // namespace

/// Called by the driver after loading this library; 1 means success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("WELLSPRING_TRACE");
  if (path == nullptr) return 1;
  file = std::fopen(path, "we");
  if (file == nullptr) {
    std::fprintf(stderr, "kernel_trace: cannot write %s\n", path);
    return 1;
  }
  const std::string problem = wellspring::begin_device_activity(write_activity);
  if (problem.empty()) {
    std::atexit(finish);
  } else {
    write({{"unavailable", problem}});
  }
  return 1;
}
