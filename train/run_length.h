// The length of a run: converts epochs to steps, and extends runs. Called by the trainer, exports
// and the command line; host only.
#pragma once

#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

/// Replaces train.epochs with train.steps: the steps in which each data set of `mixture`, the
/// training sources, yields all its rows (with repeats) `epochs` times. Appends a note. Does
/// nothing if steps are given. Error (config): no data set, or weights that change during the run.
void settle_epochs(RunConfig& config, const Mixture& mixture, std::vector<std::string>& notes);

/// True if a longer run would have the same learning rates and source weights at these steps.
bool may_be_longer(const RunConfig& config);

/// A setting with a higher value of the limit that ended a run after this training time, such as
/// "train.patience=8".
std::string higher_limit(const RunConfig& config, RunStatus limit, double training_seconds);

/// The user's `train` command without --extend and with these settings.
using CommandWith = std::function<std::string(const std::vector<std::string>& settings)>;
/// The length of this run, in steps, after `more` steps from the newest checkpoint of its folder,
/// which must be from its last step. Error (config), with advice: there is no checkpoint, the run
/// has not ended, or it has reached its patience or time limit.
std::uint64_t extended_steps(const RunConfig& config, std::uint64_t more,
                             const CommandWith& command);

}  // namespace wellspring
