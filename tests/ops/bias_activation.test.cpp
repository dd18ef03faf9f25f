#include "kernels/ops/bias_activation.h"

#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wellspring::ops {
namespace {

TEST(BiasActivation, AddsToEachColumn) {
  Stream stream(Device::cpu(), 1);
  std::vector<float> y = {1, 2, 3, -4, -5, -6};
  const std::vector<float> bias = {0.5f, -2.5f, 1};
  bias_activation(stream, {2, 3, DType::f32, Activation::none}, bias.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{1.5f, -0.5f, 4, -3.5f, -7.5f, -5}));
}

TEST(BiasActivation, AppliesReluAfterTheBias) {
  Stream stream(Device::cpu(), 1);
  std::vector<float> y = {1, -1, 3, -4};
  const std::vector<float> bias = {-2, 2};
  bias_activation(stream, {2, 2, DType::f32, Activation::relu}, bias.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0, 1, 1, 0}));
}

TEST(BiasActivation, WorksInBf16AndWithoutBias) {
  Stream stream(Device::cpu(), 1);
  std::vector<bf16> y = {bf16(1.5f), bf16(-1.5f)};
  bias_activation(stream, {1, 2, DType::bf16, Activation::relu}, nullptr, y.data());
  EXPECT_EQ(static_cast<float>(y[0]), 1.5f);
  EXPECT_EQ(static_cast<float>(y[1]), 0.0f);
}

TEST(BiasActivation, PassesNaNsThrough) {
  Stream stream(Device::cpu(), 1);
  std::vector<float> y = {std::numeric_limits<float>::quiet_NaN()};
  bias_activation(stream, {1, 1, DType::f32, Activation::relu}, nullptr, y.data());
  EXPECT_TRUE(std::isnan(y[0])) << "a NaN must reach the loss";
}

TEST(BiasActivation, GivesEqualBitsForAnyTeamSize) {
  for (const int columns : {3, 8, 100}) {
    std::vector<float> bias(static_cast<std::size_t>(columns)), y(5000);
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 7) - 40;
    const auto n = static_cast<std::int64_t>(y.size());
    wellspring::test::expect_equal_for_all_team_sizes(
        BiasActivation<float>{y.data(), bias.data(), n, columns, Activation::relu}, chunks(n),
        {kChunkTeam}, {wellspring::test::bytes_of(y)});
  }
}

}  // namespace
}  // namespace wellspring::ops
