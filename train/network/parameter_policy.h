// How each parameter of a network is trained, chosen by rules over tensor names. Called by
// configurations and ParameterArena; host only.
#pragma once

#include "core/config/params.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

struct ParameterTensor;

struct ParameterPolicy {
  float lr_scale = 1;  ///< factor of the learning rate
  /// Unset: the optimizer's weight decay for a matrix, none for a vector.
  std::optional<float> weight_decay = {};
  bool frozen = false;            ///< never changes, and has no gradient and no optimizer state
  std::uint64_t unfreeze_at = 0;  ///< first step that trains it; frozen before
};

/// An entry of `optimizer.parameters`: the settings of all parameters with matching names.
struct ParameterRule {
  std::string match;  ///< shell pattern, see fnmatch(3): "stage0.*", "*.bias"
  std::optional<float> lr_scale = {}, weight_decay = {};
  std::optional<bool> frozen = {};
  std::optional<std::uint64_t> unfreeze_at = {};  ///< overrides `frozen`, even from earlier rules
  ConfigLocation place = {};
};

/// The policy of the parameter called `name`. If several matching rules give the same setting, the
/// last one wins.
ParameterPolicy policy_of(const std::string& name, std::span<const ParameterRule> rules);

/// Error (config), with the location of the rule, if a rule matches no parameter, or if the first
/// step trains nothing because all parameters are frozen or have lr_scale 0.
void expect_rules_fit(std::span<const ParameterRule> rules,
                      std::span<const ParameterTensor> tensors);

}  // namespace wellspring
