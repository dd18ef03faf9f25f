#include "train/network/parameters.h"

#include "train/optimizer/parameter_view.h"

#include <gtest/gtest.h>

#include <cmath>

namespace wellspring {
namespace {

ParameterArena planned(MemoryPlan& memory) {
  ParameterArena arena;
  arena.vector("norm.bias", 3, Init::zeros);
  arena.matrix("conv.weight", TensorLayout::convolution, {4, 3, 3, 2}, Init::he_normal);
  arena.vector("norm.weight", 4, Init::ones);
  arena.matrix("head.weight", TensorLayout::dense, {5, 4}, Init::lecun_normal);
  arena.plan(memory, DType::f32, {});
  memory.commit();
  return arena;
}

TEST(Parameters, PutMatricesFirstAndAlignTensors) {
  MemoryPlan memory(Device::cpu());
  const ParameterArena arena = planned(memory);
  const ops::ParameterView view = arena.view();
  EXPECT_EQ(view.matrices, 128 + 64);
  EXPECT_EQ(view.vectors, 64 + 64);
  EXPECT_EQ(arena.count(), 72 + 20 + 4 + 3);
  for (const ParameterTensor& tensor : arena.tensors()) {
    EXPECT_EQ(tensor.offset % 64, 0);
    EXPECT_EQ(tensor.offset < view.matrices, tensor.layout != TensorLayout::vector);
  }
}

TEST(Parameters, DependOnSeedAndNameAlone) {
  const ParameterTensor tensor{
      "conv.weight", TensorLayout::convolution, {4, 3, 3, 2}, Init::he_normal};
  ParameterTensor moved = tensor;
  moved.offset = 4096;
  EXPECT_EQ(initial_values(tensor, 1), initial_values(moved, 1));
  EXPECT_NE(initial_values(tensor, 1), initial_values(tensor, 2));
  moved.name = "other.weight";
  EXPECT_NE(initial_values(tensor, 1), initial_values(moved, 1));
}

// The standard deviation of the sample variance of n normal values is sigma^2 sqrt(2 / n), that of
// their mean sigma / sqrt(n). Both limits are 5 standard deviations: a false alarm in 1.7 million.
TEST(Parameters, HaveTheVarianceOfHeNormal) {
  const ParameterTensor tensor{"w", TensorLayout::dense, {512, 128}, Init::he_normal};
  const std::vector<float> values = initial_values(tensor, 3);
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double variance = 2.0 / 128;
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * variance * std::sqrt(2 / n));
}

TEST(Parameters, KeepGapsAtZero) {
  MemoryPlan memory(Device::cpu());
  ParameterArena arena = planned(memory);
  Stream stream(Device::cpu(), 1);
  arena.initialise(stream, 1);
  const std::vector<float> values = arena.download(stream, arena.master());
  std::vector<bool> used(values.size(), false);
  for (const ParameterTensor& tensor : arena.tensors())
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      used[static_cast<std::size_t>(tensor.offset + i)] = true;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!used[i]) {
      ASSERT_EQ(values[i], 0.0f) << i;
    }
}

TEST(Parameters, RoundTripThroughTheOihwOrderOfFiles) {
  const ParameterTensor tensor{"w", TensorLayout::convolution, {2, 3, 3, 4}, Init::zeros};
  std::vector<float> memory(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const std::vector<float> file = to_file_order(tensor, memory.data());
  EXPECT_EQ(tensor.file_shape(), (std::vector<std::int64_t>{2, 4, 3, 3}));
  // Output 1, input 2, row 0, column 1: in memory [1][0][1][2].
  EXPECT_EQ(file[((1 * 4 + 2) * 3 + 0) * 3 + 1], memory[((1 * 3 + 0) * 3 + 1) * 4 + 2]);
  std::vector<float> back(memory.size());
  from_file_order(tensor, file, back.data());
  EXPECT_EQ(back, memory);
}

TEST(Parameters, RefuseADuplicateName) {
  ParameterArena arena;
  arena.vector("a", 1, Init::zeros);
  EXPECT_THROW(arena.vector("a", 1, Init::zeros), std::logic_error);
}

}  // namespace
}  // namespace wellspring
