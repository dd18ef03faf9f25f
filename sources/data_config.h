// The `data` section of a configuration: the sources of a run, their augmentation, and the schedule
// of the mixture. Called by run configurations; host only.
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

/// A source (sources/source_spec.h) and the augmentation of its samples.
struct SourceConfig {
  SourceSpec spec;
  Augmentations augmentations;  ///< training samples only
};

/// Channels of images.
enum class Channels : std::uint8_t {
  automatic = 0,  ///< as in the files; 3 for generators
  one = 1,        ///< luma of colour images
  three = 3,
};

struct DataConfig {
  std::string root;     ///< base of relative paths; "": the working directory
  ImageSize size = 32;  ///< size of images
  Channels channels = Channels::automatic;
  std::uint32_t views = 1;              ///< rows per sample, each with its own augmentation
  std::int64_t limit_per_class = 0;     ///< default for all data sets, in rows; 0: all
  std::vector<SourceConfig> sources;    ///< at least one
  std::vector<SchedulePoint> schedule;  ///< never empty: one point if the weights are constant
  MixConfig mix;                        ///< mixup and cutmix of training samples
};

/// Reads and checks the section, including the generators' parameters. Throws config errors.
DataConfig read_data(const ConfigNode& node);
void write_data(ConfigWriter& writer, const DataConfig& data);
std::vector<ConfigSection> data_sections();

/// Reads and checks the format's keys in the entry of a file source. If `format` is "", the format
/// is detected later from the path. Throws config errors.
std::vector<ParamSetting> read_format_settings(const ConfigNode& node, const std::string& format);
void write_format_settings(ConfigWriter& writer, const std::vector<ParamSetting>& settings);

/// Throws a config error if a latent that is a regression target becomes meaningless under its
/// source's augmentation.
void expect_targets_follow(const DataConfig& data, const std::vector<std::string>& targets);

/// Throws a config error if the samples of a generator cannot be mixed as `data.mix` requires.
void expect_mixable(const DataConfig& data);

/// The names of the sources, in their order.
std::vector<std::string> names_of(const DataConfig& data);

}  // namespace wellspring
