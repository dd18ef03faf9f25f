// Several ranks of a run on this machine, as processes. Called by `train`; host only.
#pragma once

#include <optional>
#include <string>

namespace wellspring::cli {

/// Starts `ranks` copies of this process, with torchrun's environment variables set in each, and
/// waits for them. Returns nullopt in each copy. In this process, it waits until all copies have
/// ended and returns the exit code of the copy that failed or, if none did, of rank 0. Passes
/// signals on. If a rank fails, the others get SIGTERM after two seconds and SIGKILL 15 seconds
/// later. Call it before any thread is started.
std::optional<int> start_local_ranks(int ranks);

/// Throws Error (config) if a launcher (srun, mpirun, torchrun) started several processes of this
/// command, since each of them would do all the work again.
void expect_one_process(const std::string& command);

}  // namespace wellspring::cli
