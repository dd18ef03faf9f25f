// Graphs that callers of the library capture in their own streams (see Stream::borrow). Called by python/;
// host only.
#pragma once

#include "kernels/runtime/stream.h"

namespace wellspring {

/// True while the stream's work goes into a graph instead of running.
bool is_captured(const Stream& stream);

/// Event::synchronize() for a thread that may be capturing, where CUDA forbids it otherwise. The event
/// was recorded outside captures.
void synchronize_in_capture(const Event& event);

}  // namespace wellspring
