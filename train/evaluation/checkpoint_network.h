// The network of a checkpoint, and the samples that it reads. Called by evaluations and
// predictions; host only.
#pragma once

#include "sources/mixture.h"
#include "train/checkpoint/model_file.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/step/run_context.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace wellspring {

/// The configuration stored with a checkpoint, with "key=value" overrides. Errors (config): a bad
/// override, or data.normalise for sources that have their own.
RunConfig config_of_checkpoint(const std::filesystem::path& where,
                               std::span<const std::string> overrides = {});

class CheckpointNetwork {
 public:
  /// Opens the held-out sources of `config`, normalised as in the network's training, and plans the
  /// network. `where`: as for find_model_file. If the file has no metadata from this program,
  /// `config` defines the network and its heads. `features`: as in SupervisedTask::Input. Errors:
  /// config if the samples do not fit the network; data.
  CheckpointNetwork(const std::filesystem::path& where, RunConfig& config, TrainObserver& observer,
                    const std::optional<std::string>& features = std::nullopt);
  /// Commits the memory plan and loads the weights.
  void load(const RunConfig& config);
  /// The step at which the weights were stored; 0 if unknown.
  std::uint64_t step() const { return model.description() ? model.description()->step : 0; }

  ModelFile model;
  RunContext context;
  Mixture mixture;  ///< the held-out sources; the caller plans and loads them
  SupervisedTask task;
};

}  // namespace wellspring
