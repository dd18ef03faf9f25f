// The `eval` section of a configuration: what is held out, and when it is looked at. Used by run
// configurations and the trainer; host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "sources/data_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// A held-out source: a training source with other samples and no augmentation.
struct EvaluationSourceConfig {
  std::string of;                    ///< the training source it belongs to
  std::string name;                  ///< in reports
  std::string path;                  ///< of files: the held-out files; empty: those of training
  std::vector<ParamSetting> params;  ///< of files: keys of the format that differ from training's
};

struct EvaluationConfig {
  std::int64_t every = 0;       ///< steps; 0: at the end only
  std::int64_t samples = 2000;  ///< of each generator; files are used whole
  std::vector<EvaluationSourceConfig> sources;
};

/// Errors (config).
EvaluationConfig read_evaluation(const ConfigNode& node, const DataConfig& data);
void write_evaluation(ConfigWriter& writer, const EvaluationConfig& evaluation);
std::vector<ConfigSection> evaluation_sections();

}  // namespace wellspring
