// The `eval` section of a configuration: held-out sources and the evaluation interval. Used by run
// configurations and the trainer; host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "sources/data_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// A held-out source: unaugmented samples, from a training source, that are not trained on.
struct EvaluationSourceConfig {
  std::string of;       ///< the training source
  std::string name;     ///< in reports
  std::string path;     ///< (files only) the held-out files; empty: the training path
  std::string rows;     ///< (files only) see RowRange; ordered as in `of`; "": all
  double fraction = 0;  ///< (files only) share of the rows of `of`; 0 once `rows` is set
  std::vector<ParamSetting> params;  ///< (files only) format keys that differ from training
  /// Set only by programs. True: the rows that `of` trains on; for a generator, further samples.
  bool training_rows = false;
};

struct EvaluationConfig {
  std::int64_t every = 0;           ///< steps; 0: only at the end
  std::int64_t samples = 2000;      ///< per generator; files are used completely
  std::vector<std::string> signal;  ///< see signal_classes; class 1 for heads without an entry
  std::vector<EvaluationSourceConfig> sources;
};

/// A source with a `fraction` takes the last rows of its training source, which keeps the others.
/// Both get the key `rows`. Errors (config).
EvaluationConfig read_evaluation(const ConfigNode& node, DataConfig& data);
void write_evaluation(ConfigWriter& writer, const EvaluationConfig& evaluation);
std::vector<ConfigSection> evaluation_sections();

}  // namespace wellspring
