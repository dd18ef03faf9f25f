// Labels, latents and targets of a run's sources. Called to make heads; host only.
#pragma once

#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/heads/heads.h"

#include <vector>

namespace wellspring {

/// By source of `mixture`, which holds the training sources of `config` in order.
std::vector<SourceTruth> training_truth(const RunConfig& config, const Mixture& mixture);
/// By source of `mixture`, which holds the held-out sources.
std::vector<SourceTruth> held_out_truth(const RunConfig& config, const Mixture& mixture);

}  // namespace wellspring
