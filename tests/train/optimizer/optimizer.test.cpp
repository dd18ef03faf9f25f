#include "train/optimizer/optimizer.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"
#include "train/optimizer/gradient_clipping.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// More than a chunk of each, with the border between them inside a chunk.
constexpr std::int64_t kMatrices = kChunk + 104, kVectors = kChunk + 7;
constexpr std::size_t kAll = kMatrices + kVectors;

/// Only matrices decay.
std::vector<UpdateRange> usual_ranges(float decay) {
  return {{0, kMatrices, 1, decay}, {kMatrices, kAll, 1, 0}};
}

/// Ranges that begin and end inside a chunk, at its border, and after a single element.
std::vector<UpdateRange> many_ranges(float decay) {
  return {{0, 1, 0.5f, 2 * decay},         {1, 1003, 0.1f, decay},
          {1003, kChunk, 0, decay},        {kChunk, kMatrices, 1, 0},
          {kMatrices, kChunk + 200, 1, 0}, {kChunk + 200, kAll, 0.3f, decay}};
}

/// One step in double precision, in the form of the publications.
struct Reference {
  OptimizerSpec spec;
  std::vector<UpdateRange> ranges;
  double schedule;  ///< the learning rate before its scaling
  Doubles weight, first, second;

  void step(const Doubles& gradient, int t) {
    for (const UpdateRange& range : ranges) step(range, gradient, t);
  }
  void step(const UpdateRange& range, const Doubles& gradient, int t) {
    const double rate = schedule * static_cast<double>(range.lr_scale);
    const double decay = static_cast<double>(range.weight_decay);
    const double b1 = static_cast<double>(spec.beta1), b2 = static_cast<double>(spec.beta2);
    const double correction1 = 1 - std::pow(b1, t), correction2 = 1 - std::pow(b2, t);
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end);
         ++i) {
      double g = gradient[i];
      if (spec.kind == OptimizerKind::sgd) {
        const double momentum = static_cast<double>(spec.momentum);
        g += decay * weight[i];
        first[i] = momentum * first[i] + g;
        weight[i] -= rate * (spec.nesterov ? g + momentum * first[i] : first[i]);
      } else {
        first[i] = b1 * first[i] + (1 - b1) * g;
        second[i] = b2 * second[i] + (1 - b2) * g * g;
        weight[i] -= rate * decay * weight[i];
        weight[i] -= rate * (first[i] / correction1) /
                     (std::sqrt(second[i] / correction2) + static_cast<double>(spec.epsilon));
      }
    }
  }
};

class OptimizerTest : public test::OperationTest {
 protected:
  Buffer<StepState> state_buffer(std::uint64_t step, float gradient_scale) {
    StepState state = {.step = step, .learning_rate = 0.01f, .gradient_scale = gradient_scale};
    state.correction1 = bias_correction(OptimizerSpec().beta1, step);
    state.correction2 = bias_correction(OptimizerSpec().beta2, step);
    return buffer(std::vector<StepState>{state});
  }

  template <class T>
  void check(const OptimizerSpec& spec, float decay) {
    check<T>(spec, usual_ranges(decay));
    check<T>(spec, many_ranges(decay));
  }

  /// Runs fifty steps with new gradients, clipped to half their norm.
  template <class T>
  void check(const OptimizerSpec& spec, const std::vector<UpdateRange>& ranges) {
    const Buffer<UpdateRange> table = buffer(ranges);
    const auto start = random_values<float>(kAll, 1);
    const Buffer<float> master = buffer(start), first = buffer(std::vector<float>(kAll)),
                        second = buffer(std::vector<float>(kAll)),
                        vectors = buffer<float>(kVectors);
    const Buffer<T> working = buffer<T>(kMatrices), matrices = buffer<T>(kMatrices);
    ParameterView view;
    view.matrices = kMatrices;
    view.vectors = kVectors;
    view.ranges = table;
    view.range_count = static_cast<std::int64_t>(ranges.size());
    view.master = master;
    view.compute = DTypeOf<T>::value;
    if (view.compute == DType::f32) {
      view.working = master.data();
    } else {
      view.working = working.data();
    }
    view.matrix_gradient = matrices.data();
    view.vector_gradient = vectors;
    Reference reference{spec,          ranges,       static_cast<double>(0.01f), in_double(start),
                        Doubles(kAll), Doubles(kAll)};
    for (int t = 1; t <= 50; ++t) {
      const auto of_matrices = random_values<T>(kMatrices, static_cast<unsigned>(2 * t));
      const auto of_vectors = random_values<float>(kVectors, static_cast<unsigned>(2 * t + 1));
      matrices.assign(of_matrices);
      vectors.assign(of_vectors);
      const Buffer<StepState> state = state_buffer(static_cast<std::uint64_t>(t - 1), 0.5f);
      optimizer_step(stream(), spec, view, spec.state_arrays() > 0 ? first.data() : nullptr,
                     spec.state_arrays() > 1 ? second.data() : nullptr, state);
      Doubles gradient = in_double(of_matrices);
      const Doubles tail = in_double(of_vectors);
      gradient.insert(gradient.end(), tail.begin(), tail.end());
      for (double& g : gradient) g *= 0.5;
      reference.step(gradient, t);
    }
    // Each step rounds the weight (magnitude below 2.5) twice. The step itself has a magnitude of
    // `move` and about 32 roundings.
    const double u = test::rounding(DType::f32);
    const double move = spec.kind == OptimizerKind::adamw ? 0.01 : 0.01 * 5;
    expect_within(master.values(), reference.weight, 50 * (5 * u + 32 * u * move), "weights");
    if (view.compute == DType::f32) return;
    const auto copies = working.values();
    const auto masters = master.values();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      ASSERT_EQ(static_cast<float>(copies[i]), static_cast<float>(T(masters[i]))) << i;
    }
  }

  template <class T>
  void check_norm(float clip) {
    const auto of_matrices = random_values<T>(kMatrices, 1);
    const auto of_vectors = random_values<float>(kVectors, 2);
    const Buffer<T> matrices = buffer(of_matrices);
    const Buffer<float> vectors = buffer(of_vectors),
                        partials = buffer<float>(gradient_norm_partials());
    const Buffer<StepState> state = state_buffer(7, -1);
    ParameterView view;
    view.matrices = kMatrices;
    view.vectors = kVectors;
    view.matrix_gradient = matrices.data();
    view.vector_gradient = vectors;
    view.compute = DTypeOf<T>::value;
    gradient_norm(stream(), view, clip, partials, state);
    double square = 0;
    for (const double g : in_double(of_matrices)) square += g * g;
    for (const double g : in_double(of_vectors)) square += g * g;
    const StepState result = state.values()[0];
    // Counts the roundings of a square, at most 3 packs per lane, two trees of 8, the 8 lanes of a
    // pack, and a root, which halves the error.
    const double relative = 32 * 0x1p-24;
    EXPECT_NEAR(result.gradient_norm, std::sqrt(square), relative * std::sqrt(square));
    const double scale =
        clip > 0 ? std::min(1.0, static_cast<double>(clip) / std::sqrt(square)) : 1;
    EXPECT_NEAR(result.gradient_scale, scale, 2 * relative * scale);
    EXPECT_EQ(result.nonfinite, 0u);
  }
};

TEST_P(OptimizerTest, FollowsTheRecurrenceOfSgd) {
  OptimizerSpec spec = {.kind = OptimizerKind::sgd};
  for (const auto& [momentum, nesterov] :
       {std::pair{0.0f, false}, std::pair{0.9f, false}, std::pair{0.9f, true}}) {
    spec.momentum = momentum;
    spec.nesterov = nesterov;
    check<float>(spec, 0.05f);
    check<bf16>(spec, 0.05f);
  }
}

TEST_P(OptimizerTest, FollowsTheRecurrenceOfAdamW) {
  for (const float decay : {0.0f, 0.05f}) {
    check<float>({}, decay);
    check<bf16>({}, decay);
  }
}

TEST_P(OptimizerTest, ComputesAndClipsTheGradientNorm) {
  for (const float clip : {0.0f, 1.0f, 1e6f}) {
    check_norm<float>(clip);
    check_norm<bf16>(clip);
  }
}

TEST_P(OptimizerTest, SkipsAndRemembersANonFiniteGradient) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
    for (const std::size_t place : {std::size_t{5}, kAll - 1}) {
      std::vector<float> gradient(kAll, 0.25f);
      gradient[place] = bad;
      const auto start = random_values<float>(kAll, 1);
      const Buffer<float> all = buffer(gradient), master = buffer(start),
                          first = buffer(std::vector<float>(kAll, 0.5f)),
                          second = buffer(std::vector<float>(kAll, 0.5f)),
                          partials = buffer<float>(gradient_norm_partials());
      const Buffer<StepState> state = state_buffer(7, 1);
      const Buffer<UpdateRange> table = buffer(usual_ranges(0.05f));
      ParameterView view;
      view.matrices = kMatrices;
      view.vectors = kVectors;
      view.ranges = table;
      view.range_count = static_cast<std::int64_t>(table.size());
      view.master = master;
      view.working = master.data();
      view.matrix_gradient = all.data();
      view.vector_gradient = all.data() + kMatrices;
      gradient_norm(stream(), view, 1.0f, partials, state);
      EXPECT_EQ(state.values()[0].gradient_scale, 0);
      EXPECT_EQ(state.values()[0].nonfinite, 8u);
      optimizer_step(stream(), {}, view, first, second, state);
      EXPECT_EQ(master.values(), start) << "weights changed";
      EXPECT_EQ(first.values(), std::vector<float>(kAll, 0.5f)) << "state changed";
    }
  }
}

WS_ON_EVERY_BACKEND(OptimizerTest);

TEST(IntegerPower, AgreesWithTheMathsLibrary) {
  for (const double base : {0.9, 0.999, 1.0, 0.0}) {
    for (const std::uint64_t n : {0u, 1u, 2u, 3u, 100u, 65537u}) {
      // At most 2 * 17 roundings.
      const double exact = std::pow(base, static_cast<double>(n));
      EXPECT_NEAR(integer_power(base, n), exact, 1e-11 * exact) << base << "^" << n;
    }
  }
}

TEST(OptimizerTeams, GiveEqualBitsForAnySize) {
  const auto start = random_values<float>(kAll, 1), gradient = random_values<float>(kAll, 2);
  std::vector<float> master = start, first(kAll), second(kAll), partials(kNormParts);
  std::vector<StepState> state(1);
  state[0].learning_rate = 0.1f;
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  expect_equal_for_all_team_sizes(
      GradientSquares<float>{gradient.data(), gradient.data() + kMatrices, kMatrices, kVectors,
                             partials.data()},
      kNormParts, {kReduceLanes, kReduceLanes * sizeof(Pack)}, {bytes_of(partials)});
  expect_equal_for_all_team_sizes(GradientScale{partials.data(), 1.0f, state.data()}, 1,
                                  {kReduceLanes, kReduceLanes * sizeof(float)}, {bytes_of(state)});
  const std::vector<UpdateRange> ranges = many_ranges(0.05f);
  const auto step = [&]<class Rule>(const Rule& rule) {
    expect_equal_for_all_team_sizes(
        OptimizerStep<float, Rule>{rule, kMatrices, kVectors, ranges.data(),
                                   static_cast<std::int64_t>(ranges.size()), master.data(),
                                   first.data(), second.data(), nullptr, gradient.data(),
                                   gradient.data() + kMatrices, state.data()},
        chunks(kAll), {kChunkTeam}, {bytes_of(master), bytes_of(first), bytes_of(second)});
  };
  step(AdamWRule{0.9f, 0.999f, 1e-8f});
  step(SgdRule{0.9f, true});
}

// The copy in bf16, with ranges that begin inside a pack.
TEST(OptimizerTeams, GiveEqualBitsInBf16) {
  const auto start = random_values<float>(kAll, 1), gradient = random_values<float>(kAll, 2);
  const auto of_matrices = random_values<bf16>(kMatrices, 3);
  std::vector<float> master = start, first(kAll), second(kAll);
  std::vector<bf16> working(kMatrices);
  const StepState state = {.learning_rate = 0.1f};
  const std::vector<UpdateRange> ranges = many_ranges(0.05f);
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(
      OptimizerStep<bf16, AdamWRule>{{0.9f, 0.999f, 1e-8f},
                                     kMatrices,
                                     kVectors,
                                     ranges.data(),
                                     static_cast<std::int64_t>(ranges.size()),
                                     master.data(),
                                     first.data(),
                                     second.data(),
                                     working.data(),
                                     of_matrices.data(),
                                     gradient.data(),
                                     &state},
      chunks(kAll), {kChunkTeam},
      {bytes_of(master), bytes_of(first), bytes_of(second), bytes_of(working)});
  for (std::size_t i = 0; i < working.size(); ++i)
    ASSERT_EQ(static_cast<float>(working[i]), static_cast<float>(bf16(master[i]))) << i;
}

TEST(AverageWeightsTeams, GiveEqualBitsForAnySize) {
  const auto weights = random_values<float>(kAll, 1);
  std::vector<float> average = random_values<float>(kAll, 2);
  const StepState state = {.step = 5};
  wellspring::test::expect_equal_for_all_team_sizes(
      AverageWeights{0.999f, weights.data(), average.data(), &state,
                     static_cast<std::int64_t>(kAll)},
      chunks(kAll), {kChunkTeam}, {wellspring::test::bytes_of(average)});
}

}  // namespace
}  // namespace wellspring::ops::test
