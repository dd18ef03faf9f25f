// Tracks of a recording (core/measure/trace.h) for work outside this process's threads, such as on
// the streams of a GPU. Called by commands; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct TraceTrack {
  struct Span {
    std::string name;
    std::uint64_t begin = 0, end = 0;  ///< nanoseconds of std::chrono::steady_clock
    std::uint64_t bytes = 0;           ///< copied or filled
  };
  std::string name;
  std::vector<Span> spans;
  std::size_t lost = 0;  ///< spans that were not kept
};

/// Spans that a track keeps; later ones are counted.
inline constexpr std::size_t kMostSpans = std::size_t{1} << 20;

/// Adds a track below the threads of the current recording. Call it before Trace::write().
void add_trace_track(TraceTrack track);

}  // namespace wellspring
