// The `heads` section of a configuration and its short form `loss`: the loss and targets of each
// head. Host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "train/heads/heads.h"

#include <string>
#include <vector>

namespace wellspring {

/// The heads of the configuration `root`. The short form `loss` stands for one class head per label
/// space (kind cross_entropy) or for one regression called "regression" (kind mse). `label_spaces`:
/// the heads that the sources name, in order; `sources`: names of all sources. Errors (config),
/// with their location.
std::vector<HeadConfig> read_heads(const ConfigNode& root,
                                   const std::vector<std::string>& label_spaces,
                                   const std::vector<std::string>& sources);
/// Writes a `heads` section that reads back to the same heads.
void write_heads(ConfigWriter& writer, const std::vector<HeadConfig>& heads);
std::vector<ConfigSection> head_sections();

}  // namespace wellspring
