// `--trace FILE`: what the threads of this process did and, on a GPU, the work that CUPTI reports.
// Called by `train` and `diagnose`.
#pragma once

#include "core/measure/trace.h"
#include "core/measure/trace_track.h"
#include "kernels/runtime/device_activity.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace wellspring::cli {

class RunTrace {
 public:
  /// Starts tracing, unless `file` is empty. `device`: as in a configuration. Error (runtime): the
  /// file cannot be created; (device): as in Device::parse.
  RunTrace(const std::string& file, const std::string& device);
  ~RunTrace();  ///< stops without writing
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  /// Writes the file, and a note to standard error if GPU work is missing from it. Error (runtime):
  /// it cannot be written.
  void write();

 private:
  void add(const DeviceActivity& activity);

  std::optional<Trace> trace_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, TraceTrack> tracks_;  ///< by device and stream
  std::string missing_;  ///< why the trace contains no GPU work
};

}  // namespace wellspring::cli
