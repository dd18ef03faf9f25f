#include "cli/run_trace.h"

#include "cli/options.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/step_graph.h"

#include <fmt/format.h>

namespace wellspring::cli {

RunTrace::RunTrace(const std::string& file, const std::string& device) {
  if (file.empty()) return;
  trace_.emplace(file);
  if (Device::parse(device).is_cuda())
    missing_ = begin_device_activity([this](const DeviceActivity& activity) { add(activity); });
}

RunTrace::~RunTrace() {
  end_device_activity();
}

void RunTrace::add(const DeviceActivity& activity) {
  TraceTrack& track = tracks_[{activity.device, activity.stream}];
  if (track.spans.size() == kMostSpans) {
    ++track.lost;
    return;
  }
  std::string name = functor_name(activity.name);
  if (name.empty()) name = printable(activity.name);
  track.spans.push_back({std::move(name), activity.begin, activity.end, activity.bytes});
}

void RunTrace::write() {
  if (!trace_) return;
  if (const std::size_t dropped = end_device_activity(); dropped > 0)
    missing_ = "CUPTI has lost " + counted(dropped, "record");
  for (auto& [key, track] : tracks_) {
    track.name = fmt::format("cuda:{}, stream {}", key.first, key.second);
    add_trace_track(std::move(track));
  }
  trace_->write();
  if (!missing_.empty()) print_notes({"the trace lacks work of the GPU: " + missing_});
}

}  // namespace wellspring::cli
