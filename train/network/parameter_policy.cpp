#include "train/network/parameter_policy.h"

#include "core/error.h"
#include "core/text/text.h"
#include "train/network/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <fnmatch.h>

namespace wellspring {
namespace {

bool matches(const ParameterRule& rule, const std::string& name) {
  return ::fnmatch(rule.match.c_str(), name.c_str(), 0) == 0;
}

/// The names that begin most like the pattern without its wildcards.
std::vector<std::string> close_names(const std::string& pattern, std::vector<std::string> names) {
  constexpr std::size_t kMost = 5;
  std::string letters = pattern;
  std::erase_if(letters, [](char c) { return c == '*' || c == '?'; });
  const auto distance = [&letters](const std::string& name) {
    return edit_distance(letters, name.substr(0, letters.size()));
  };
  std::ranges::stable_sort(names, {}, distance);
  names.resize(std::min(names.size(), kMost));
  return names;
}

}  // namespace

ParameterPolicy policy_of(const std::string& name, std::span<const ParameterRule> rules) {
  ParameterPolicy policy;
  for (const ParameterRule& rule : rules) {
    if (!matches(rule, name)) continue;
    if (rule.lr_scale) policy.lr_scale = *rule.lr_scale;
    if (rule.weight_decay) policy.weight_decay = rule.weight_decay;
    if (rule.frozen || rule.unfreeze_at) {
      policy.frozen = !rule.unfreeze_at && *rule.frozen;
      policy.unfreeze_at = rule.unfreeze_at.value_or(0);
    }
  }
  return policy;
}

void expect_rules_fit(std::span<const ParameterRule> rules,
                      std::span<const ParameterTensor> tensors) {
  if (rules.empty()) return;
  std::vector<std::string> names;
  bool frozen = true, later = false, still = true;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.kind == TensorKind::parameter) names.push_back(tensor.name);
    frozen = frozen && !tensor.trained_at(0);
    later = later || tensor.policy.unfreeze_at > 0;
    still = still && (!tensor.trained_at(0) || tensor.policy.lr_scale == 0);
  }
  for (const ParameterRule& rule : rules) {
    if (std::ranges::any_of(names, [&](const auto& name) { return matches(rule, name); })) continue;
    fail(ErrorKind::config, {fmt::format("{}the pattern '{}' matches no parameter of the network",
                                         rule.place.prefix(), rule.match),
                             "close names: " + join(close_names(rule.match, names)),
                             "correct the pattern, or remove it"});
  }
  if (!still) return;
  fail(ErrorKind::config,
       {fmt::format("{}all parameters are frozen{}{}", rules.back().place.prefix(),
                    later ? " at first" : "", frozen ? "" : " or have lr_scale 0"),
        later ? "the first steps would train nothing" : "nothing would be trained",
        frozen ? "unfreeze some parameters, for example {match: head.*, frozen: false}"
               : "train some parameters, for example {match: head.*, frozen: false, lr_scale: 1}"});
}

}  // namespace wellspring
