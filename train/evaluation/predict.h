// A trained network's predictions for unlabelled files. Called by the command line; host only.
#pragma once

#include "core/config/params.h"
#include "train/config/run_config.h"
#include "train/heads/heads.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

struct PredictOptions {
  std::filesystem::path checkpoint;  ///< as for find_model_file
  std::filesystem::path data;        ///< a folder or archive of images, or a file of arrays
  /// The run's source whose normalisation and format keys apply; "": the first held-out source that
  /// reads files, else the first held-out source, else the first source.
  std::string like = {};
  std::string format = {};                  ///< "": chosen by the path
  std::vector<ParamSetting> settings = {};  ///< format keys; they override the settings of `like`
  std::filesystem::path out = {};           ///< file of predictions, see PredictionFile; "": none
  std::uint64_t shown = 0;                  ///< number of rows to return, from the first
};

/// One row: its location and the network's outputs.
struct Prediction {
  std::string location;
  std::vector<float> outputs;
};

struct PredictReport {
  std::uint64_t rows = 0;
  std::string summary;  ///< description of the data
  std::vector<HeadSpec> heads;
  std::vector<Prediction> first;
  std::vector<std::string> notes;
};

/// Reads the rows without augmentation, as `config` (of the checkpoint) reads held-out samples.
/// Errors: config if the rows do not fit the network, or `like` is unknown; data.
PredictReport predict(const PredictOptions& options, RunConfig config, TrainObserver& observer);

}  // namespace wellspring
