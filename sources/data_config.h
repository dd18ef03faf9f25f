// The `data` section of a configuration: the sources of a run, how each is looked at, and the
// schedule that mixes them. Used by run configurations; host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "kernels/augment/augmentation_config.h"
#include "sources/mixing/mixture_schedule.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/source_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// A source as sources/source_spec.h describes it, and how its samples are looked at.
struct SourceConfig {
  SourceSpec spec;
  Augmentations augmentations;  ///< of samples that are learnt from
};

struct DataConfig {
  std::string root;                     ///< relative paths begin here; "": the working directory
  std::int64_t size = 32;               ///< side of images, pixels
  std::int64_t limit_per_class = 0;     ///< of data sets that say none of their own; 0: all
  std::vector<SourceConfig> sources;    ///< at least one
  std::vector<SchedulePoint> schedule;  ///< never empty: one point where weights are constant
  MixConfig mix;                        ///< of samples that are learnt from, with each other
};

/// Reads and checks the section, generators' parameters included. Errors (config).
DataConfig read_data(const ConfigNode& node);
void write_data(ConfigWriter& writer, const DataConfig& data);
std::vector<ConfigSection> data_sections();

/// The keys of a source of files that belong to its format, checked. "": of a format that its path
/// will tell. Errors (config).
std::vector<ParamSetting> read_format_settings(const ConfigNode& node, const std::string& format);
void write_format_settings(ConfigWriter& writer, const std::vector<ParamSetting>& settings);

/// Error (config) where the augmentations of a source leave no value for a latent that is a target
/// of a regression.
void expect_targets_follow(const DataConfig& data, const std::vector<std::string>& targets);

/// Error (config) where samples of a generator cannot be mixed as `data.mix` says.
void expect_mixable(const DataConfig& data);

/// The names of the sources, in their order.
std::vector<std::string> names_of(const DataConfig& data);

}  // namespace wellspring
