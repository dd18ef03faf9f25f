// Several ranks of a run on this machine, as processes. Called by `train`; host only.
#pragma once

#include <optional>

namespace wellspring::cli {

/// Starts `ranks` copies of this process, described by torchrun's environment variables, and waits
/// for them. Returns nullopt in each copy, and in this process, when all have ended, the exit code of
/// the one that failed, or else of rank 0. Passes signals on. If a rank fails, the others get
/// SIGTERM after ten seconds and SIGKILL ten seconds later. Call it before any thread is started.
std::optional<int> start_local_ranks(int ranks);

}  // namespace wellspring::cli
