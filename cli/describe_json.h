// The output of `wellspring describe --json`. Called by the subcommand; host only.
#pragma once

#include "core/config/config_values.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/augment/augmentation_presets.h"
#include "sources/files/format.h"
#include "train/models/model.h"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace wellspring::cli {

/// With default parameters: name, version, kind, layout, classes, latents and features with units
/// and ranges, draw budget, best possible results, parameters and presets.
nlohmann::ordered_json to_json(const GeneratorEntry& entry);
/// The same with the samples of a generator, whose parameters may differ from the defaults.
nlohmann::ordered_json to_json(const GeneratorEntry& entry, const SampleInfo& info);
nlohmann::ordered_json to_json(const ModelEntry& entry);
nlohmann::ordered_json to_json(const DatasetFormat& format);
nlohmann::ordered_json to_json(const std::vector<ConfigSection>& sections);
nlohmann::ordered_json to_json(const std::vector<AugmentEntry>& operations);
nlohmann::ordered_json to_json(const AugmentPreset& preset);

}  // namespace wellspring::cli
