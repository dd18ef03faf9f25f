#include "core/measure/trace.h"

#include "core/io/files.h"
#include "core/measure/trace_track.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#if WELLSPRING_CUDA && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define WS_NVTX 1
#else
#define WS_NVTX 0
#endif

namespace wellspring {
namespace {

using Clock = std::chrono::steady_clock;

/// Larger than any thread's number (proc(5), pid_max).
constexpr std::int64_t kFirstTrack = std::int64_t{1} << 22;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// A JSON string. Details are this program's own text, so they need no other escapes.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

}  // namespace

struct TraceRecorder {
  struct Span {
    const TraceStage* stage;
    std::int64_t step;
    std::string detail;
    Clock::time_point begin, end = {};
  };

  struct Thread {
    pid_t id = gettid();
    std::deque<Span> spans;   ///< ordered by begin time
    std::vector<Span*> open;  ///< the innermost last; null: not kept
    std::size_t lost = 0;
  };

  explicit TraceRecorder(std::uint64_t position) : number(position) {}

  std::uint64_t number;  ///< position of this recording in the process
  Clock::time_point begin = Clock::now();
  std::mutex mutex;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<TraceTrack> tracks;

  Thread* add() {
    const std::lock_guard lock(mutex);
    return threads.emplace_back(std::make_unique<Thread>()).get();
  }
};

namespace {

/// Like the flag of core/signals.h, the recording belongs to the process, because threads that read
/// files have no other access to it.
std::atomic<TraceRecorder*> active{nullptr};
std::atomic<std::uint64_t> recordings{0};

/// Null without a recording.
TraceRecorder::Thread* traced_thread() {
  thread_local TraceRecorder::Thread* own = nullptr;
  thread_local std::uint64_t number = 0;
  TraceRecorder* const recorder = active.load(std::memory_order_acquire);
  if (recorder == nullptr) return nullptr;
  if (number != recorder->number) {
    own = recorder->add();
    number = recorder->number;
  }
  return own;
}

/// The event that names a track, on a line that begins with a comma. `place` is from place_of().
std::string name_line(const std::string& name, const std::string& place, std::size_t lost) {
  return fmt::format(
      ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",{},\"args\":{{\"name\":{},\"lost\":{}}}}}", place,
      json_string(name), lost);
}

std::string place_of(std::int64_t track) {
  return fmt::format(R"("pid":{},"tid":{})", getpid(), track);
}

std::string span_line(std::string_view name, std::string_view category, Clock::duration begin,
                      Clock::duration duration, const std::string& place,
                      const std::string& arguments) {
  return fmt::format(
      ",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},{},\"args\":"
      "{{{}}}}}",
      json_string(name), category, microseconds(begin), microseconds(duration), place, arguments);
}

/// The events of a thread, one per line.
std::string lines_of(const TraceRecorder::Thread& thread, const std::string& name,
                     Clock::time_point beginning) {
  const std::string place = place_of(thread.id);
  std::string lines = name_line(name, place, thread.lost);
  for (const TraceRecorder::Span& span : thread.spans) {
    if (span.end < span.begin) continue;  // has not ended
    std::string arguments = span.step < 0 ? "" : fmt::format(R"("step":{})", span.step);
    if (!span.detail.empty())
      arguments += (arguments.empty() ? "" : ",") + (R"("detail":)" + json_string(span.detail));
    lines += span_line(span.stage->name, span.stage->category, span.begin - beginning,
                       span.end - span.begin, place, arguments);
  }
  return lines;
}

std::string lines_of(const TraceTrack& track, std::int64_t number, Clock::time_point beginning) {
  const std::string place = place_of(kFirstTrack + number);
  std::string lines = name_line(track.name, place, track.lost);
  for (const TraceTrack::Span& span : track.spans) {
    const auto begin = std::chrono::nanoseconds(span.begin) - beginning.time_since_epoch();
    lines += span_line(span.name, "device", begin, std::chrono::nanoseconds(span.end - span.begin),
                       place, span.bytes > 0 ? fmt::format(R"("bytes":{})", span.bytes) : "");
  }
  return lines;
}

}  // namespace

void add_trace_track(TraceTrack track) {
  if (TraceRecorder* const recorder = active) recorder->tracks.push_back(std::move(track));
}

Trace::Trace(std::filesystem::path file)
    : file_(std::move(file)), recorder_(std::make_unique<TraceRecorder>(++recordings)) {
  require_creatable(file_);
  active = recorder_.get();
  traced_thread();  // the first track
}

Trace::~Trace() {
  active = nullptr;
}

bool Trace::on() noexcept {
  return active.load(std::memory_order_relaxed) != nullptr;
}

void Trace::begin(const TraceStage& stage, std::int64_t step, std::string_view detail) {
#if WS_NVTX
  // Also without a recording, for NVIDIA's tools. Without a tool, the first call of NVTX finds none, and
  // later ones compare a pointer with null (nvtx3/nvtxDetail/nvtxImplCore.h).
  nvtxRangePushA(stage.name);
#endif
  TraceRecorder::Thread* const thread = traced_thread();
  if (thread == nullptr) return;
  const bool kept = thread->spans.size() < kMostSpans;
  if (kept)
    thread->spans.push_back({&stage, step, std::string(detail), Clock::now()});
  else
    ++thread->lost;
  thread->open.push_back(kept ? &thread->spans.back() : nullptr);
}

void Trace::end() noexcept {
#if WS_NVTX
  nvtxRangePop();
#endif
  if (!on()) return;
  TraceRecorder::Thread* const thread = traced_thread();
  if (thread == nullptr || thread->open.empty()) return;  // began before the recording
  if (TraceRecorder::Span* const span = thread->open.back()) span->end = Clock::now();
  thread->open.pop_back();
}

void Trace::write() {
  active = nullptr;
  OutputFile file(file_, OutputFile::Mode::replace);
  file.write(
      fmt::format("[\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":"
                  "\"wellspring\"}}}}",
                  getpid()));
  for (std::size_t t = 0; t < recorder_->threads.size(); ++t)
    file.write(lines_of(*recorder_->threads[t], t == 0 ? "main" : fmt::format("worker {}", t),
                        recorder_->begin));
  for (std::size_t t = 0; t < recorder_->tracks.size(); ++t)
    file.write(lines_of(recorder_->tracks[t], static_cast<std::int64_t>(t), recorder_->begin));
  file.write("\n]\n");
  file.finish();
}

}  // namespace wellspring
