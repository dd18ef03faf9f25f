// The training sources of a run with the normalisation that its network reads. Called by the trainer
// and by exports; host only.
#pragma once

#include "core/work_watch.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/trainer.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Opens the training sources and settles what follows from them: train.epochs (settle_epochs), and
/// `normalise`, which held-out sources share, as in the network of init.from or measured
/// (settle_normalisation). Errors: as RunConfig::open_training, settle_epochs, and (data) as for
/// reading.
Mixture open_normalised(RunConfig& config, DenseLabels dense = DenseLabels::none);
/// The same for training. A run that resumes keeps its normalisation; sources that are `given` have
/// theirs. Appends notes: "normalised by 80000 rows of 'jets': pt 512 +- 80, ...".
Mixture open_normalised(RunConfig& config, std::optional<Mixture> given,
                        const TrainerOptions& options, const WorkWatch& watch,
                        std::vector<std::string>& notes);

}  // namespace wellspring
