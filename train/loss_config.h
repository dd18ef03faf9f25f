// The `loss` section of a configuration. Used by run configurations and the trainer; host only.
#pragma once

#include "core/config.h"
#include "core/config_values.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

enum class LossKind : std::uint8_t { cross_entropy, mse };

struct LossConfig {
  LossKind kind = LossKind::cross_entropy;
  double label_smoothing = 0;
  std::vector<std::string> targets;  ///< of mse: names of latents
};

/// Errors (config).
LossConfig read_loss(const ConfigNode& node);
void write_loss(ConfigWriter& writer, const LossConfig& loss);
std::vector<ConfigSection> loss_sections();

}  // namespace wellspring
