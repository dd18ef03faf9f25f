// The training sources of a run with the normalisation that its network reads. Called by the
// trainer, sweeps and exports; host only.
#pragma once

#include "core/work_watch.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"
#include "train/trainer.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// Opens the training sources and completes `config`: train.epochs (see settle_epochs), and
/// `normalise`, which is taken from init.from or measured (see settle_normalisation) and also
/// applies to held-out sources. Errors: as in RunConfig::open_training and settle_epochs, and
/// data errors of rows.
Mixture open_normalised(RunConfig& config, DenseLabels dense = DenseLabels::none);
/// The same for training. A resumed run keeps its normalisation, and `given` sources keep theirs.
/// Appends notes: "normalised by 80000 rows of 'jets': pt 512 +- 80, ...".
Mixture open_normalised(RunConfig& config, std::optional<Mixture> given,
                        const TrainerOptions& options, const WorkWatch& watch,
                        std::vector<std::string>& notes);

}  // namespace wellspring
