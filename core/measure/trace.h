// Records which stage each thread was in, and when, for Perfetto, chrome://tracing and DFAnalyzer.
// Opened by commands; the trainer, the sources and the measurements make spans; host only.
//
//     Trace trace("trace.json");
//     { const TraceSpan span(stages::kStep, step); ... }
//     trace.write();
//
// In builds with CUDA, every span is also an NVTX range.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace wellspring {

/// The name of a stage. Both strings are literals.
struct TraceStage {
  const char* category;
  const char* name;
};

/// The categories follow DFTracer's annotations for machine learning
/// (https://dftracer.readthedocs.io).
namespace stages {
inline constexpr TraceStage kTrain{"pipeline", "pipeline.train"};
inline constexpr TraceStage kEvaluate{"pipeline", "pipeline.evaluate"};
inline constexpr TraceStage kWindow{"pipeline", "pipeline.window"};  ///< one measurement
inline constexpr TraceStage kFetch{"dataloader",
                                   "dataloader.fetch"};  ///< a step waits for its rows
inline constexpr TraceStage kItem{"data", "data.item"};  ///< one row
inline constexpr TraceStage kRead{"data", "data.read"};
inline constexpr TraceStage kDecode{"data", "data.decode"};
inline constexpr TraceStage kResize{"data", "data.resize"};
inline constexpr TraceStage kPreprocess{"data",
                                        "data.preprocess"};  ///< generation and augmentation
inline constexpr TraceStage kTransfer{"device", "device.transfer"};
inline constexpr TraceStage kStep{"compute", "compute.step"};
inline constexpr TraceStage kForward{"compute", "compute.forward"};
inline constexpr TraceStage kBackward{"compute", "compute.backward"};
inline constexpr TraceStage kOptimize{"compute", "compute.optimize"};
inline constexpr TraceStage kCapture{"checkpoint", "checkpoint.capture"};
inline constexpr TraceStage kRestart{"checkpoint", "checkpoint.restart"};
}  // namespace stages

struct TraceRecorder;

/// A recording. At most one may exist at a time; threads that make spans must end before it does.
class Trace {
 public:
  /// Begins the recording. Throws a runtime error if the file cannot be created.
  explicit Trace(std::filesystem::path file);
  ~Trace();  ///< stops without writing
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Stops and writes the file: a JSON array with one event per line. Throws a runtime error if the
  /// file cannot be written.
  void write();

  static bool on() noexcept;
  /// Begin and end a span of this thread; spans nest. Without a recording they do nothing. A
  /// negative `step` means that the span belongs to no step.
  static void begin(const TraceStage& stage, std::int64_t step = -1, std::string_view detail = {});
  static void end() noexcept;

 private:
  std::filesystem::path file_;
  std::unique_ptr<TraceRecorder> recorder_;
};

/// A span from construction to destruction.
class TraceSpan {
 public:
  explicit TraceSpan(const TraceStage& stage, std::int64_t step = -1,
                     std::string_view detail = {}) {
    Trace::begin(stage, step, detail);
  }
  ~TraceSpan() { Trace::end(); }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
};

}  // namespace wellspring
