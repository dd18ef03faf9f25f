#include "train/network/parameters.h"

#include "tests/support/rank_group.h"
#include "train/optimizer/parameter_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace wellspring {
namespace {

ParameterArena planned(MemoryPlan& memory) {
  ParameterArena arena;
  arena.add({"norm.bias", TensorLayout::vector, {3}, Init::zeros});
  arena.add({"conv.weight", TensorLayout::convolution, {4, 3, 3, 2}, Init::he_normal});
  arena.add({"norm.weight", TensorLayout::vector, {4}, Init::ones});
  arena.add({"head.weight", TensorLayout::dense, {5, 4}, Init::lecun_normal});
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

TEST(Parameters, PutFrozenTensorsLast) {
  MemoryPlan memory(Device::cpu());
  ParameterArena arena({{.match = "a.*", .frozen = true}, {.match = "b.bias", .lr_scale = 0.5f}});
  arena.add({"a.weight", TensorLayout::dense, {4, 70}, Init::he_normal});
  arena.add({"a.bias", TensorLayout::vector, {4}, Init::ones});
  arena.add({"b.weight", TensorLayout::dense, {5, 4}, Init::he_normal});
  arena.add({"b.bias", TensorLayout::vector, {5}, Init::zeros});
  arena.add({.name = "n.mean", .shape = {5}, .kind = TensorKind::buffer});
  arena.add({"n.bias", TensorLayout::vector, {5}, Init::zeros});
  arena.plan(memory, DType::bf16, {.weight_decay = 0.25f}, true);
  memory.commit();
  const std::span<const ParameterTensor> tensors = arena.tensors();
  const std::vector<std::int64_t> expected = {256, 576, 0, 64, 192, 128};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(tensors[i].offset, expected[i]) << tensors[i].name;
  EXPECT_EQ(arena.length(), 640);
  EXPECT_EQ(arena.changing(), 256);
  EXPECT_EQ(arena.count(), 280 + 4 + 20 + 5 + 5);
  EXPECT_EQ(arena.frozen_count(), 280 + 4);
  EXPECT_EQ(arena.gradient({0}), nullptr);
  EXPECT_NE(arena.gradient({2}), nullptr);

  Stream stream(Device::cpu(), 1);
  arena.initialise(stream, 3);
  const ops::ParameterView view = arena.view();
  EXPECT_EQ(view.matrices, 64);
  EXPECT_EQ(view.vectors, 128);
  // The matrix decays as usual, b.bias has its own rate, and n.bias is treated as usual.
  ASSERT_EQ(view.range_count, 3);
  const std::vector<std::int64_t> ends = {64, 128, 192};
  const std::vector<float> scales = {1, 0.5f, 1}, decays = {0.25f, 0, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(view.ranges[i].begin, i == 0 ? 0 : ends[i - 1]);
    EXPECT_EQ(view.ranges[i].end, ends[i]);
    EXPECT_EQ(view.ranges[i].lr_scale, scales[i]);
    EXPECT_EQ(view.ranges[i].weight_decay, decays[i]);
  }
  // The working copy has the frozen matrix after the trained one.
  for (const int i : {0, 2}) {
    const auto* working = static_cast<const bf16*>(arena.weight({i}));
    const ParameterTensor& tensor = tensors[static_cast<std::size_t>(i)];
    for (std::int64_t k = 0; k < tensor.elements(); ++k)
      ASSERT_EQ(static_cast<float>(working[k]),
                static_cast<float>(bf16(arena.master()[tensor.offset + k])));
  }
}

TEST(Parameters, ShareARangeOfTheTableUnderTheUsualPolicy) {
  MemoryPlan memory(Device::cpu());
  const ParameterArena arena = planned(memory);
  EXPECT_EQ(arena.view().range_count, 2);  // matrices and vectors
}

// Output layers learn at the full rate, whatever their block; rules multiply these rates.
TEST(Parameters, HaveTheRatesOfTheirBlocks) {
  MemoryPlan memory(Device::cpu());
  ParameterArena arena({{.match = "b.weight", .lr_scale = 0.5f}});
  const auto add = [&](const char* name, int block, const char* output) {
    arena.add({.name = name,
               .layout = TensorLayout::dense,
               .shape = {4, 4},
               .output = output,
               .block = block});
  };
  add("a.weight", 0, "");
  add("b.weight", 1, "");
  add("c.weight", 3, "");
  add("head.weight", 2, "sample");
  arena.plan(memory, DType::f32, {.layer_decay = 0.5f});
  memory.commit();
  Stream stream(Device::cpu(), 1);
  arena.initialise(stream, 1);
  const ops::ParameterView view = arena.view();
  std::vector<float> scales;
  for (std::int64_t i = 0; i < view.range_count; ++i) scales.push_back(view.ranges[i].lr_scale);
  EXPECT_EQ(scales, (std::vector<float>{0.125f, 1}));  // a and b; c and head
  EXPECT_EQ(view.ranges[1].end - view.ranges[1].begin, 2 * 64);
}

// Rows of matrices and whole vectors, except in output layers.
TEST(Parameters, ListTheUnitsOfAdaptiveClipping) {
  MemoryPlan memory(Device::cpu());
  ParameterArena arena;
  arena.add({"a.weight", TensorLayout::convolution, {4, 3, 3, 2}, Init::he_normal});
  arena.add({"a.bias", TensorLayout::vector, {4}, Init::zeros});
  arena.add(
      {.name = "head.weight", .layout = TensorLayout::dense, .shape = {5, 4}, .output = "sample"});
  arena.plan(memory, DType::f32, {.agc = 0.1f});
  memory.commit();
  Stream stream(Device::cpu(), 1);
  arena.initialise(stream, 1);
  const ops::ParameterView view = arena.view();
  ASSERT_EQ(view.clip_unit_count, 2);
  EXPECT_EQ(view.units, 5);
  EXPECT_EQ(view.clip_units[0].length, 18);
  EXPECT_EQ(view.clip_units[0].count, 4);
  EXPECT_EQ(view.clip_units[1].begin, 128 + 64);
  EXPECT_EQ(view.clip_units[1].length, 4);
}

// With only vectors trained, there is no gradient of a matrix, and vice versa.
TEST(Parameters, PlanNoGradientOfFrozenTensors) {
  for (const char* frozen : {"*.weight", "*.bias"}) {
    MemoryPlan memory(Device::cpu());
    ParameterArena arena({{.match = frozen, .frozen = true}});
    arena.add({"a.weight", TensorLayout::dense, {4, 64}, Init::he_normal});
    arena.add({"a.bias", TensorLayout::vector, {4}, Init::ones});
    arena.plan(memory, DType::f32, {});
    memory.commit();
    std::map<std::string, std::size_t> bytes;
    for (const Reservation& reservation : memory.reservations())
      bytes[reservation.name] = reservation.bytes;
    const bool matrix = std::string(frozen) == "*.bias";
    EXPECT_EQ(bytes.at("of matrices"), matrix ? 1024u : 0u);
    EXPECT_EQ(bytes.at("of vectors"), matrix ? 0u : 256u);
    EXPECT_EQ(bytes.at("first moment"), matrix ? 1024u : 256u);
    EXPECT_EQ(arena.view().range_count, 1);
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

/// Mean, mean square and largest magnitude of the initial values of a tensor.
struct Moments {
  double n, mean, square, largest;
};
Moments moments_of(const ParameterTensor& tensor) {
  Moments of{static_cast<double>(tensor.elements()), 0, 0, 0};
  for (const float value : initial_values(tensor, 3)) {
    of.mean += value / of.n;
    of.square += double{value} * value / of.n;
    of.largest = std::max(of.largest, std::abs(double{value}));
  }
  return of;
}

// For n normal values, the standard deviation of the sample variance is sigma^2 sqrt(2 / n), and
// the mean has the standard deviation sigma / sqrt(n). Both limits are 5 standard deviations,
// exceeded by chance once in 1.7 million. PyTorch's fan_out is the number of outputs times the
// kernel's size: 96 x 9 for the convolution, 40 x 9 for the depthwise one.
TEST(Parameters, HaveTheVarianceOfTheirNormalLaw) {
  const auto expect = [](const ParameterTensor& tensor, double variance) {
    const Moments of = moments_of(tensor);
    EXPECT_NEAR(of.mean, 0, 5 * std::sqrt(variance / of.n)) << tensor.name;
    EXPECT_NEAR(of.square, variance, 5 * variance * std::sqrt(2 / of.n)) << tensor.name;
  };
  using enum TensorLayout;
  expect({"he", dense, {512, 128}, Init::he_normal}, 2.0 / 128);
  expect({"he convolution", convolution, {96, 3, 3, 32}, Init::he_normal}, 2.0 / (32 * 9));
  expect({"lecun", dense, {512, 128}, Init::lecun_normal}, 1.0 / 128);
  expect({"normal", dense, {512, 128}, Init::normal(0.02f)}, 0.02 * 0.02);
  expect({"fan-out", dense, {512, 128}, Init::he_normal_fan_out}, 2.0 / 512);
  expect({"fan-out convolution", convolution, {96, 3, 3, 32}, Init::he_normal_fan_out},
         2.0 / (96 * 9));
  expect({"fan-out depthwise", dense, {40, 1, 3, 3}, Init::he_normal_fan_out}, 2.0 / (40 * 9));
}

// For n uniform values within +-b, the square has mean b^2 / 3 and standard deviation
// b^2 sqrt(1/5 - 1/9); the limits are again 5 standard deviations. All n magnitudes are below
// (1 - d) b with probability (1 - d)^n, less than one in a million for d = 14 / n. Values are
// multiples of b 2^-23, so the largest is at most b.
TEST(Parameters, FillTheBoundsOfTheirUniformLaw) {
  const auto expect = [](const ParameterTensor& tensor, double bound) {
    const Moments of = moments_of(tensor);
    const double b2 = bound * bound, root = std::sqrt(of.n);
    EXPECT_NEAR(of.mean, 0, 5 * bound / std::sqrt(3) / root) << tensor.name;
    EXPECT_NEAR(of.square, b2 / 3, 5 * b2 * std::sqrt(1.0 / 5 - 1.0 / 9) / root) << tensor.name;
    EXPECT_LE(of.largest, bound * (1 + 1e-6)) << tensor.name;
    EXPECT_GE(of.largest, bound * (1 - 14 / of.n)) << tensor.name;
  };
  using enum TensorLayout;
  expect({"uniform", dense, {512, 128}, Init::uniform(0.25f)}, 0.25);
  expect({"torch", dense, {512, 128}, Init::torch_default}, 1 / std::sqrt(128));
  expect({"torch convolution", convolution, {96, 3, 3, 32}, Init::torch_default},
         1 / std::sqrt(32 * 9));
  expect({"torch bias", vector, {4096}, Init::torch_default.bias(32 * 9)}, 1 / std::sqrt(32 * 9));
  for (const Init& other : {Init::he_normal, Init::normal(0.02f), Init::ones})
    EXPECT_EQ(other.bias(9), Init::zeros);
}

TEST(Parameters, KeepGapsAtZero) {
  MemoryPlan memory(Device::cpu());
  ParameterArena arena = planned(memory);
  Stream stream(Device::cpu(), 1);
  arena.initialise(stream, 1);
  const std::vector<float> values = ParameterArena::download(stream, arena.weights());
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
  arena.add({"a", TensorLayout::vector, {1}, Init::zeros});
  EXPECT_THROW(arena.add({"a", TensorLayout::vector, {1}, Init::zeros}), std::logic_error);
}

// Sums of three bf16 numbers: in f32, then rounded once. In bf16, 1 + 0.75 * 2^-8 would be 1 again.
TEST(ParameterArena, SumsNarrowGradientsInF32) {
  test::RankGroup(3).run([](Communicator& ranks) {
    Stream stream(Device::cpu(), 1);
    MemoryPlan memory(Device::cpu());
    ParameterArena arena;
    const ParameterId matrix = arena.add({"w", TensorLayout::dense, {1, 2}, Init::zeros});
    const ParameterId vector = arena.add({"b", TensorLayout::vector, {1}, Init::zeros});
    arena.plan(memory, DType::bf16, {});
    std::vector<float> wide(static_cast<std::size_t>(arena.matrices().size()));
    memory.commit();
    auto* const gradient = static_cast<bf16*>(arena.gradient(matrix));
    gradient[0] = bf16(ranks.rank() == 0 ? 1.0f : 0.75f * 0x1p-8f);
    gradient[1] = bf16(static_cast<float>(ranks.rank()));
    *static_cast<float*>(arena.gradient(vector)) = static_cast<float>(1 << ranks.rank());
    for (const GradientRange range : {arena.matrices(), arena.vectors()})
      arena.reduce_gradients(stream, range, ranks, wide.data());
    EXPECT_EQ(static_cast<float>(gradient[0]), 1 + 0x1p-7f);
    EXPECT_EQ(static_cast<float>(gradient[1]), 3);
    EXPECT_EQ(*static_cast<float*>(arena.gradient(vector)), 7);
  });
}

}  // namespace
}  // namespace wellspring
