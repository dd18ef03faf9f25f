// The section `heads` of a configuration, and `loss`, its short form: how every head of the network
// learns. Host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "train/heads/heads.h"

#include <string>
#include <vector>

namespace wellspring {

/// `heads` of the configuration `root`, or what `loss` stands for: kind cross_entropy is a class
/// head for each label space, kind mse one regression called "regression". `label_spaces`: the
/// heads that sources name, in order; `sources`: names of all sources. Errors (config), each with
/// its place.
std::vector<HeadConfig> read_heads(const ConfigNode& root,
                                   const std::vector<std::string>& label_spaces,
                                   const std::vector<std::string>& sources);
/// The section `heads`, which reads back to the same.
void write_heads(ConfigWriter& writer, const std::vector<HeadConfig>& heads);
std::vector<ConfigSection> head_sections();

}  // namespace wellspring
