#include "train/network/parameter_policy.h"

#include "tests/support/error_testing.h"
#include "train/network/parameters.h"

#include <gtest/gtest.h>

namespace wellspring::test {
namespace {

TEST(ParameterPolicy, TakesEachSettingFromTheLastRuleThatGivesIt) {
  const std::vector<ParameterRule> rules = {
      {.match = "*", .lr_scale = 0.5f, .frozen = true},
      {.match = "stage?.*", .weight_decay = 0.0f, .frozen = false},
      {.match = "*.[wb]*", .lr_scale = 0.25f}};
  const ParameterPolicy plain = policy_of("head", rules);
  EXPECT_EQ(plain.lr_scale, 0.5f);
  EXPECT_FALSE(plain.weight_decay.has_value());
  EXPECT_TRUE(plain.frozen);
  const ParameterPolicy stage = policy_of("stage0.stem.weight", rules);
  EXPECT_EQ(stage.lr_scale, 0.25f);
  EXPECT_EQ(stage.weight_decay, 0.0f);
  EXPECT_FALSE(stage.frozen);
  EXPECT_EQ(policy_of("anything", {}).lr_scale, 1);
}

TEST(ParameterPolicy, TakesFrozenAndUnfreezeAtAsOneSetting) {
  const std::vector<ParameterRule> rules = {{.match = "*", .frozen = true},
                                            {.match = "stage*", .unfreeze_at = 9},
                                            {.match = "stage1.*", .unfreeze_at = 5},
                                            {.match = "stage2.*", .frozen = false},
                                            {.match = "stage3.*", .frozen = true}};
  const auto trained_from = [&](const char* name) -> std::optional<std::uint64_t> {
    const ParameterPolicy policy = policy_of(name, rules);
    if (policy.frozen) return std::nullopt;
    return policy.unfreeze_at;
  };
  EXPECT_EQ(trained_from("head.weight"), std::nullopt);
  EXPECT_EQ(trained_from("stage0.weight"), 9u);
  EXPECT_EQ(trained_from("stage1.weight"), 5u);
  EXPECT_EQ(trained_from("stage2.weight"), 0u);
  EXPECT_EQ(trained_from("stage3.weight"), std::nullopt);
  EXPECT_EQ(
      policy_of("a", std::vector<ParameterRule>{{.match = "*", .frozen = true, .unfreeze_at = 3}})
          .unfreeze_at,
      3u);
}

std::vector<ParameterTensor> tensors_under(const std::vector<ParameterRule>& rules) {
  ParameterArena arena(rules);
  for (const char* name : {"stage0.conv.weight", "stage1.conv.weight", "head.weight", "head.bias"})
    arena.add({name, TensorLayout::vector, {2}, Init::zeros});
  arena.add({.name = "stage0.norm.running_mean", .shape = {2}, .kind = TensorKind::buffer});
  return {arena.tensors().begin(), arena.tensors().end()};
}

TEST(ParameterPolicy, RefusesAPatternThatMatchesNothing) {
  const ConfigLocation place{"run.yaml", 7, 3};
  const std::vector<ParameterRule> rules = {{.match = "head.*", .frozen = true},
                                            {.match = "stege1.*", .frozen = true, .place = place}};
  const std::string message =
      message_of(ErrorKind::config, [&] { expect_rules_fit(rules, tensors_under(rules)); });
  expect_parts(message, {"run.yaml:7:3", "the pattern 'stege1.*' matches no parameter",
                         "close names: stage1.conv.weight, stage0.conv.weight"});
  // Running statistics are not parameters.
  const std::vector<ParameterRule> buffers = {{.match = "*.running_mean", .frozen = true}};
  message_of(ErrorKind::config, [&] { expect_rules_fit(buffers, tensors_under(buffers)); });
}

TEST(ParameterPolicy, RefusesToFreezeEverything) {
  std::vector<ParameterRule> rules = {{.match = "stage*", .frozen = true},
                                      {.match = "head.*", .frozen = true}};
  expect_parts(
      message_of(ErrorKind::config, [&] { expect_rules_fit(rules, tensors_under(rules)); }),
      {"all parameters are frozen"});
  rules.push_back({.match = "head.bias", .lr_scale = 0.0f, .frozen = false});
  expect_parts(
      message_of(ErrorKind::config, [&] { expect_rules_fit(rules, tensors_under(rules)); }),
      {"all parameters are frozen or have lr_scale 0", "nothing would be trained"});
  rules.back().lr_scale = 1.0f;
  expect_rules_fit(rules, tensors_under(rules));
  rules.back() = {.match = "head.bias", .unfreeze_at = 4};
  expect_parts(
      message_of(ErrorKind::config, [&] { expect_rules_fit(rules, tensors_under(rules)); }),
      {"all parameters are frozen at first", "the first steps would train nothing"});
}

}  // namespace
}  // namespace wellspring::test
