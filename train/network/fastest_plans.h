// Makes convolutions on a GPU use the fastest of cuDNN's plans. cuDNN's first suggestion can be
// several times slower. The plans of a pass are timed once per machine, and the choice is kept in
// the cache folder (generators/table_cache.h), so that all runs on the machine have bit-identical
// results. Called before a network is planned; host only.
#pragma once

#include "kernels/runtime/stream.h"

#include <string>
#include <vector>

namespace wellspring {

/// Has no effect on a CPU.
void use_fastest_plans(const Stream& stream);

/// A short digest of the plans that the stream's network uses: of convolutions, if the fastest were
/// chosen, and cuBLASLt's algorithms. The bits of its results depend on these plans. "" if there are
/// none. The same plans have the same digest on any machine.
std::string plans_digest(const Stream& stream);

/// Notes for the user about the plans of a stream's network: how many passes were timed, and
/// problems with the cache.
std::vector<std::string> plan_notes(const Stream& stream);

}  // namespace wellspring
