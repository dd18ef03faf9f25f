#include "train/optimizer/optimizer.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"
#include "tests/train/optimizer/optimizer_reference.h"
#include "train/optimizer/gradient_clipping.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace wellspring::ops::test {
namespace {

/// More than one chunk of each kind, with the border between the kinds inside a chunk.
constexpr std::int64_t kMatrices = kChunk + 104, kVectors = kChunk + 7;
constexpr std::size_t kAll = kMatrices + kVectors;

/// Only matrices decay.
std::vector<UpdateRange> usual_ranges(float decay) {
  return {{0, kMatrices, 1, decay}, {kMatrices, kAll, 1, 0}};
}

/// Ranges that begin and end inside a chunk, at its border, and after a single element; updates of
/// two ranges begin at a later step.
std::vector<UpdateRange> many_ranges(float decay) {
  return {{0, 1, 0.5f, 2 * decay},         {1, 1003, 0.1f, decay, 7},
          {1003, kChunk, 0, decay},        {kChunk, kMatrices, 1, 0},
          {kMatrices, kChunk + 200, 1, 0}, {kChunk + 200, kAll, 0.3f, decay, 20}};
}

/// One range per tensor, at multiples of a pack; the last has no weight decay.
std::vector<UpdateRange> tensor_ranges(float decay) {
  return {{0, 1024, 1, decay},
          {1024, kMatrices, 0.5f, 2 * decay, 7},
          {kMatrices, kMatrices + 1600, 1, decay},
          {kMatrices + 1600, kAll, 0.3f, 0}};
}

class OptimizerTest : public test::OperationTest {
 protected:
  /// The state once the factors of `step` are set.
  Buffer<StepState> state_buffer(std::uint64_t step, float gradient_scale) {
    StepState state = {.step = step + 1, .learning_rate = 0.01f, .gradient_scale = gradient_scale};
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
    const Buffer<float> norms = buffer<float>(
        static_cast<std::size_t>(tensor_norm_floats(static_cast<std::int64_t>(ranges.size()))));
    view.tensor_norms = norms;
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
    // `move` and about 32 rounding errors.
    const double u = test::rounding(DType::f32);
    // The norms of tensors add 64 rounding errors.
    const double move = spec.kind == OptimizerKind::adamw ? 0.01 : 0.01 * 5;
    const double roundings = spec.row().tensor_norms ? 96 : 32;
    expect_within(master.values(), reference.weight, 50 * (5 * u + roundings * u * move),
                  "weights");
    if (view.compute == DType::f32) return;
    const auto copies = working.values();
    const auto masters = master.values();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      ASSERT_EQ(static_cast<float>(copies[i]), static_cast<float>(T(masters[i]))) << i;
    }
  }

  /// Rows of a matrix with large, usual, zero and non-finite gradients, and a vector.
  template <class T>
  void check_agc() {
    constexpr std::int64_t kRow = 300, kRows = 4, kLength = 1000;
    constexpr std::int64_t kFirst = kRow * kRows;  // a multiple of kPack
    constexpr float kFactor = 0.02f;
    auto weights = random_values<float>(kFirst + kLength, 1);
    std::fill_n(weights.begin() + kRow, kRow, 0.0f);  // the least norm counts
    auto of_matrices = random_values<T>(kFirst, 2);
    for (std::int64_t i = 2 * kRow; i < 3 * kRow; ++i)
      of_matrices[static_cast<std::size_t>(i)] = T(1e-3f);  // below the limit
    of_matrices[3 * kRow + 5] = T(std::numeric_limits<float>::infinity());
    const auto of_vectors = random_values<float>(kLength, 3);
    const Buffer<T> matrices = buffer(of_matrices);
    const Buffer<float> vectors = buffer(of_vectors), master = buffer(weights);
    const Buffer<ClipUnits> units =
        buffer(std::vector<ClipUnits>{{0, kRow, 0, kRows}, {kFirst, kLength, kRows, 1}});
    ParameterView view;
    view.matrices = kFirst;
    view.vectors = kLength;
    view.master = master;
    view.matrix_gradient = matrices.data();
    view.vector_gradient = vectors;
    view.clip_units = units;
    view.clip_unit_count = 2;
    view.units = kRows + 1;
    view.compute = DTypeOf<T>::value;
    clip_adaptively(stream(), view, kFactor);
    const auto check_unit = [&](const Doubles& got, const Doubles& before, std::size_t begin,
                                std::size_t offset, std::size_t n, double rounding) {
      double weight = 0, gradient = 0;
      for (std::size_t i = begin; i < begin + n; ++i) {
        weight += std::pow(static_cast<double>(weights[offset + i]), 2);
        gradient += std::pow(before[i], 2);
      }
      const double most =
          static_cast<double>(kFactor) * std::max(std::sqrt(weight), static_cast<double>(1e-3f));
      const double scale = std::min(1.0, most / std::sqrt(gradient));
      for (std::size_t i = begin; i < begin + n; ++i)
        ASSERT_NEAR(got[i], scale * before[i], rounding * scale * std::abs(before[i])) << i;
    };
    // Two sums and roots with 16 roundings each, a quotient, a product; then the rounding to T.
    const double rounding = 40 * 0x1p-24;
    const auto type = test::rounding(DTypeOf<T>::value);
    const Doubles got = in_double(matrices.values()), before = in_double(of_matrices);
    for (std::size_t row = 0; row < 3; ++row)
      check_unit(got, before, row * kRow, 0, kRow, rounding + type);
    for (std::size_t i = 3 * kRow; i < kFirst; ++i) ASSERT_EQ(got[i], before[i]) << "not finite";
    check_unit(in_double(vectors.values()), in_double(of_vectors), 0, kFirst, kLength, rounding);
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
    gradient_norm(stream(), view, {}, clip, partials, state);
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

TEST_P(OptimizerTest, FollowsTheRecurrenceOfLion) {
  const OptimizerSpec spec = {.kind = OptimizerKind::lion, .beta2 = 0.99f};
  check<float>(spec, 0.05f);
  check<bf16>(spec, 0.05f);
}

TEST_P(OptimizerTest, FollowsTheRecurrenceOfLamb) {
  const OptimizerSpec spec = {.kind = OptimizerKind::lamb, .epsilon = 1e-6f};
  check<float>(spec, tensor_ranges(0.05f));
  check<bf16>(spec, tensor_ranges(0.05f));
}

TEST_P(OptimizerTest, FollowsTheRecurrenceOfLars) {
  OptimizerSpec spec = {.kind = OptimizerKind::lars, .trust_coefficient = 0.5f};
  for (const auto& [momentum, nesterov] :
       {std::pair{0.0f, false}, std::pair{0.9f, false}, std::pair{0.9f, true}}) {
    spec.momentum = momentum;
    spec.nesterov = nesterov;
    check<float>(spec, tensor_ranges(0.05f));
    check<bf16>(spec, tensor_ranges(0.05f));
  }
}

// A tensor of zeros has no direction to keep: its ratio is 1, as in timm.
TEST_P(OptimizerTest, MovesATensorWhoseWeightsAreZero) {
  for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::lars}) {
    const Buffer<float> weights = buffer(std::vector<float>(64)),
                        first = buffer(std::vector<float>(64)),
                        second = buffer(std::vector<float>(64)),
                        gradient = buffer(std::vector<float>(64, 0.5f)),
                        norms = buffer<float>(static_cast<std::size_t>(tensor_norm_floats(1)));
    const Buffer<UpdateRange> table = buffer(std::vector<UpdateRange>{{0, 64, 1, 0.1f}});
    ParameterView view;
    view.matrices = 64;
    view.ranges = table;
    view.range_count = 1;
    view.tensor_norms = norms;
    view.master = weights;
    view.working = weights.data();
    view.matrix_gradient = gradient.data();
    const Buffer<StepState> state = state_buffer(0, 1);
    optimizer_step(stream(), {.kind = kind}, view, first, second, state);
    // Adam's first step has magnitude 1; the first step of LARS is the gradient.
    const float expected = kind == OptimizerKind::lamb ? -0.01f : -0.005f;
    for (const float w : weights.values()) ASSERT_NEAR(w, expected, 1e-6f * 0.01f + 8e-9f);
  }
}

TEST_P(OptimizerTest, ClipsEachUnitRelativeToItsWeights) {
  check_agc<float>();
  check_agc<bf16>();
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
      gradient_norm(stream(), view, {}, 1.0f, partials, state);
      EXPECT_EQ(state.values()[0].gradient_scale, 0);
      EXPECT_EQ(state.values()[0].nonfinite, 9u);
      optimizer_step(stream(), {}, view, first, second, state);
      EXPECT_EQ(master.values(), start) << "weights changed";
      EXPECT_EQ(first.values(), std::vector<float>(kAll, 0.5f)) << "state changed";
    }
  }
}

// The rule in double precision, before and after the warm-up ends at step 80. The share 1 - keep has
// at most four roundings; values are below 1, so their difference is below 2.
TEST_P(OptimizerTest, AveragesWeights) {
  const auto weights = random_values<float>(kAll, 1), start = random_values<float>(kAll, 2);
  const Buffer<float> changing = buffer(weights);
  for (const std::uint64_t step : {0, 1, 79, 81, 1000}) {
    const Buffer<float> average = buffer(start);
    const Buffer<StepState> state = state_buffer(step, 1);
    average_weights(stream(), kAll, 0.9f, changing, average, state);
    const double t = static_cast<double>(step);
    const double keep = std::min(static_cast<double>(0.9f), (1 + t) / (10 + t));
    const std::vector<float> found = average.values();
    for (std::size_t i = 0; i < kAll; ++i)
      ASSERT_NEAR(found[i], keep * start[i] + (1 - keep) * weights[i], 12 * kU) << step << " " << i;
  }
}

WS_ON_EVERY_BACKEND(OptimizerTest);

TEST(IntegerPower, AgreesWithTheMathsLibrary) {
  for (const double base : {0.9, 0.999, 1.0, 0.0}) {
    for (const std::uint64_t n : {0u, 1u, 2u, 3u, 100u, 65537u}) {
      // At most 2 * 17 rounding errors.
      const double exact = std::pow(base, static_cast<double>(n));
      EXPECT_NEAR(integer_power(base, n), exact, 1e-11 * exact) << base << "^" << n;
    }
  }
}

// The reference itself against torch.optim 2.15 (SGD, AdamW) and timm 1.0 (Lion, Lamb, Lars) in
// double precision: five steps with rate 0.01 and weight decay 0.05, starting at cos(i), with the
// gradients sin(1 + i + 3 t).
TEST(OptimizerReference, FollowsPyTorchAndTimm) {
  struct Row {
    OptimizerSpec spec;
    Doubles weights;
  };
  const Row rows[] = {
      {{.kind = OptimizerKind::sgd, .nesterov = true},
       {1.0128685157305004, 0.56589531884829414, -0.40135942442306149, -0.99960616384367307,
        -0.67881960614642256, 0.26607056690484399, 0.96633668779108295, 0.77815731441216174}},
      {{.kind = OptimizerKind::adamw},
       {1.0128649613732279, 0.55296857706895963, -0.40373469443341192, -1.0032155354934791,
        -0.66619108974321073, 0.27072153933259829, 0.97390606017710257, 0.7663600374078452}},
      {{.kind = OptimizerKind::lion, .beta2 = 0.99f},
       {1.0074925085419326, 0.54894290996709971, -0.40511749953751741, -0.9975099988944387,
        -0.66200115488883626, 0.27296372903278493, 0.96776226995042358, 0.76200939230798548}},
      {{.kind = OptimizerKind::lamb, .epsilon = 1e-6f},
       {1.0162494731534972, 0.54997688936442901, -0.41567002035989065, -1.0096392694745788,
        -0.66338540794922218, 0.2784435296980603, 0.98489048424747616, 0.76384831141838316}},
      {{.kind = OptimizerKind::lars, .nesterov = true},
       {1.0000121307572745, 0.54032707909846234, -0.41613219723748279, -0.99000145052523714,
        -0.65366793582569471, 0.2836448645278572, 0.96017588452980929, 0.75392562437301591}},
  };
  for (const Row& row : rows) {
    Reference reference{row.spec,   {{0, 8, 1, 0.05f}}, static_cast<double>(0.01f),
                        Doubles(8), Doubles(8),         Doubles(8)};
    for (std::size_t i = 0; i < 8; ++i) reference.weight[i] = std::cos(static_cast<double>(i));
    for (int t = 1; t <= 5; ++t) {
      Doubles gradient;
      for (int i = 0; i < 8; ++i) gradient.push_back(std::sin(1 + i + 3 * t));
      reference.step(gradient, t);
    }
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(reference.weight[i], row.weights[i], 1e-14) << row.spec.row().name << " " << i;
  }
}

TEST(OptimizerTeams, GiveEqualBitsForAnySize) {
  const auto start = random_values<float>(kAll, 1), gradient = random_values<float>(kAll, 2);
  std::vector<float> master = start, first(kAll), second(kAll), partials(kNormParts);
  std::vector<StepState> state(1);
  state[0].step = 12345;
  using wellspring::test::bytes_of;
  using wellspring::test::expect_equal_for_all_team_sizes;
  expect_equal_for_all_team_sizes(
      GradientSquares<float>{gradient.data(), gradient.data() + kMatrices, kMatrices, kVectors,
                             partials.data()},
      kNormParts, {kReduceLanes, kReduceLanes * sizeof(Pack)}, {bytes_of(partials)});
  const ScheduleSpec schedule{1, 0, 10, 20000, 0.9f, 0.999f};
  const std::vector<float> losses = random_values<float>(200, 3, 0, 3);
  const std::vector<Slot> slots(losses.size());
  std::vector<StepMetrics> line(1);
  std::vector<double> sums(2);
  const CollectMetrics end = {
      .measures = {.batch = 200, .count = 1, .losses = 1, .sources = 1, .values = losses.data()},
      .slots = slots.data(),
      .state = state.data(),
      .ring = {line.data(), sums.data(), 1}};
  expect_equal_for_all_team_sizes(
      GradientScale{partials.data(), kNormParts, schedule, 1.0f, state.data(), end}, 1,
      {kReduceLanes, kMetricScratch + kReduceLanes * sizeof(float)},
      {bytes_of(state), bytes_of(line), bytes_of(sums)});
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
  step(LionRule{0.9f, 0.99f});
  const std::vector<UpdateRange> tensors = tensor_ranges(0.05f);
  std::vector<TensorNorms> norms(tensors.size() * kTensorParts);
  std::vector<float> clipped = gradient;
  const std::vector<ClipUnits> units = {{0, 100, 0, 20}, {2000, 152, 20, 1}};
  const auto squares = [&]<class Rule>(const Rule& rule) {
    expect_equal_for_all_team_sizes(
        TensorSquares<float, Rule>{rule, kMatrices, tensors.data(), master.data(), first.data(),
                                   second.data(), gradient.data(), gradient.data() + kMatrices,
                                   state.data(), norms.data()},
        static_cast<std::int64_t>(norms.size()), {kReduceLanes, kReduceLanes * sizeof(TensorNorms)},
        {bytes_of(norms)});
  };
  squares(LambRule{{0.9f, 0.999f, 1e-6f}});
  squares(LarsRule{{0.9f, true}, 0.001f, 1e-8f});
  expect_equal_for_all_team_sizes(
      AdaptiveClip<float>{units.data(), 2, kMatrices, start.data(), clipped.data(),
                          clipped.data() + kMatrices, 0.01f},
      21, {kReduceLanes, kReduceLanes * sizeof(AdaptiveClip<float>::Squares)}, {bytes_of(clipped)});
}

// The copy in bf16, with ranges that begin inside a pack.
TEST(OptimizerTeams, GiveEqualBitsInBf16) {
  const auto start = random_values<float>(kAll, 1), gradient = random_values<float>(kAll, 2);
  const auto of_matrices = random_values<bf16>(kMatrices, 3);
  std::vector<float> master = start, first(kAll), second(kAll);
  std::vector<bf16> working(kMatrices);
  const StepState state = {.step = 30, .learning_rate = 0.1f};
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
  const StepState state = {.step = 6};
  wellspring::test::expect_equal_for_all_team_sizes(
      AverageWeights{0.999f, weights.data(), average.data(), &state,
                     static_cast<std::int64_t>(kAll)},
      chunks(kAll), {kChunkTeam}, {wellspring::test::bytes_of(average)});
}

}  // namespace
}  // namespace wellspring::ops::test
