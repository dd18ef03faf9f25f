#include "kernels/ops/attention.h"

#include "core/error.h"
#include "kernels/ops/attention_teams.h"
#include "kernels/ops/plan_log.h"
#include "kernels/runtime/shard_runner.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace wellspring::ops::test {
namespace {

std::size_t values_of(const AttentionSpec& s) {
  return static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_width);
}

std::vector<std::int32_t> all_tokens(const AttentionSpec& s) {
  return std::vector<std::int32_t>(static_cast<std::size_t>(s.batch), s.tokens);
}

/// One head of one sample in double precision; all matrices have one row per existing token.
struct Head {
  Head(const AttentionSpec& spec, std::int64_t sample, int head, int tokens)
      : s(spec), b(sample), h(head), n(tokens) {}

  std::size_t in_y(int token, int k) const {
    return static_cast<std::size_t>(((b * s.tokens + token) * s.heads + h) * s.head_width + k);
  }
  std::size_t in_qkv(int token, int part, int k) const {
    return static_cast<std::size_t>(
        (((b * s.tokens + token) * 3 + part) * s.heads + h) * s.head_width + k);
  }
  /// One row of softmax(q k^T / sqrt(width)).
  Doubles weights(const Doubles& qkv, int query) const {
    Doubles p(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j) {
      double score = 0;
      for (int k = 0; k < s.head_width; ++k) {
        score += qkv[in_qkv(query, 0, k)] * qkv[in_qkv(j, 1, k)];
      }
      p[static_cast<std::size_t>(j)] = score / std::sqrt(static_cast<double>(s.head_width));
    }
    const double largest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& score : p) sum += score = std::exp(score - largest);
    for (double& weight : p) weight /= sum;
    return p;
  }
  void forward(const Doubles& qkv, Doubles& y) const {
    for (int i = 0; i < n; ++i) {
      const Doubles p = weights(qkv, i);
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k < s.head_width; ++k) {
          y[in_y(i, k)] += p[static_cast<std::size_t>(j)] * qkv[in_qkv(j, 2, k)];
        }
      }
    }
  }
  void backward(const Doubles& qkv, const Doubles& dy, Doubles& dqkv) const {
    for (int i = 0; i < n; ++i) {
      const Doubles p = weights(qkv, i);
      Doubles dp(p.size());
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k < s.head_width; ++k) {
          dp[static_cast<std::size_t>(j)] += dy[in_y(i, k)] * qkv[in_qkv(j, 2, k)];
          dqkv[in_qkv(j, 2, k)] += p[static_cast<std::size_t>(j)] * dy[in_y(i, k)];
        }
      }
      const double mean = dot(p, dp);
      for (int j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        const double ds = p[at] * (dp[at] - mean) / std::sqrt(static_cast<double>(s.head_width));
        for (int k = 0; k < s.head_width; ++k) {
          dqkv[in_qkv(i, 0, k)] += ds * qkv[in_qkv(j, 1, k)];
          dqkv[in_qkv(j, 1, k)] += ds * qkv[in_qkv(i, 0, k)];
        }
      }
    }
  }

  const AttentionSpec& s;
  std::int64_t b;
  int h, n;
};

template <class Call>
void for_heads(const AttentionSpec& s, const std::vector<std::int32_t>& count, const Call& call) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (int h = 0; h < s.heads; ++h) {
      call(Head(s, b, h, std::clamp(count[static_cast<std::size_t>(b)], 0, s.tokens)));
    }
  }
}

Doubles forward(const AttentionSpec& s, const std::vector<std::int32_t>& count,
                const Doubles& qkv) {
  Doubles y(values_of(s));
  for_heads(s, count, [&](const Head& head) { head.forward(qkv, y); });
  return y;
}

Doubles backward(const AttentionSpec& s, const std::vector<std::int32_t>& count, const Doubles& qkv,
                 const Doubles& dy) {
  Doubles dqkv(3 * values_of(s));
  for_heads(s, count, [&](const Head& head) { head.backward(qkv, dy, dqkv); });
  return dqkv;
}

TEST(AttentionOracle, GradientsAreFiniteDifferences) {
  const AttentionSpec s{.batch = 2, .tokens = 5, .heads = 2, .head_width = 3, .masked = true};
  const std::vector<std::int32_t> count = {3, 5};
  const Doubles qkv = in_double(random_values<float>(3 * values_of(s), 1)),
                dy = in_double(random_values<float>(values_of(s), 2));
  const Doubles expected =
      gradient([&](const Doubles& v) { return dot(forward(s, count, v), dy); }, qkv);
  const Doubles got = backward(s, count, qkv, dy);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-8) << i;
}

/// Outputs of a forward and a backward pass.
template <class T>
struct Results {
  std::vector<T> y, dqkv;
};

class AttentionTest : public test::OperationTest {
 protected:
  /// All memory of a layer, followed by guard words.
  template <class T>
  Results<T> run(const AttentionSpec& s, const std::vector<T>& qkv, const std::vector<T>& dy,
                 const std::vector<std::int32_t>& count) {
    const auto attention = Attention::plan(s, stream());
    const Buffer<T> device_qkv = buffer(qkv), device_dy = buffer(dy), y = buffer<T>(dy.size()),
                    dqkv = buffer<T>(qkv.size());
    const Buffer<std::int32_t> device_count = buffer(count);
    const Buffer<std::byte> saved = buffer<std::byte>(attention->saved_bytes()),
                            scratch = buffer<std::byte>(attention->workspace_bytes());
    const Workspace workspace{scratch.data(), scratch.size()};
    const std::int32_t* mask = s.masked ? device_count.data() : nullptr;
    attention->forward(stream(), device_qkv, mask, y, saved.data(), workspace);
    attention->backward(stream(), device_qkv, mask, y, device_dy, saved.data(), dqkv, workspace);
    return {y.values(), dqkv.values()};
  }

  template <class T>
  void check(AttentionSpec s, const std::vector<std::int32_t>& count) {
    s.compute = DTypeOf<T>::value;
    SCOPED_TRACE(s.to_string());
    const std::size_t n = values_of(s);
    const auto qkv = random_values<T>(3 * n, 1), dy = random_values<T>(n, 2);
    const Results<T> got = run(s, qkv, dy, count);
    const Doubles exact_qkv = in_double(qkv), exact_dy = in_double(dy);
    // All inputs are below 1. With the f32 rounding u, a score has an error of at most sqrt(width)
    // (width + 2) u. The exponent of a weight p relative to its log-sum-exp has the same error, and
    // p has twice that relative error. Weights add up to 1, so a sum over keys has the error of its
    // largest term, plus one u per key for the order of the sum.
    const double width = s.head_width, tokens = s.tokens, u = test::rounding(DType::f32);
    const double weight = (2 * std::sqrt(width) * (width + 2) + tokens + 16) * u;
    // cuDNN rounds the weights to bf16 before the second product.
    const double rounded = s.compute == DType::bf16 ? test::rounding(DType::bf16) : 0;
    expect_within(got.y, forward(s, count, exact_qkv), weight + 2 * rounded, "y");
    // |dp| <= width and |ds| <= 2 p width / sqrt(width). dq sums p over keys, which gives 1. dk and dv sum p over
    // queries; with these inputs a key's sum of weights is at most `share`. y, from which the sum of p dp is computed,
    // is rounded to the compute type.
    const double share = largest_share(s, count, exact_qkv);
    const double slope = 2 * std::sqrt(width);
    expect_within(got.dqkv, backward(s, count, exact_qkv, exact_dy),
                  slope * share * (2 * weight + 4 * rounded) + rounded, "dqkv");
  }

  /// A key's largest sum of weights over all queries; at least 1, the sum over keys.
  static double largest_share(const AttentionSpec& s, const std::vector<std::int32_t>& count,
                              const Doubles& qkv) {
    double largest = 1;
    for_heads(s, count, [&](const Head& head) {
      Doubles sums(static_cast<std::size_t>(head.n));
      for (int i = 0; i < head.n; ++i) {
        const Doubles p = head.weights(qkv, i);
        for (std::size_t j = 0; j < p.size(); ++j) sums[j] += p[j];
      }
      largest = std::max(largest, largest_magnitude(sums));
    });
    return largest;
  }

  const std::vector<AttentionSpec> table_ = {
      {},
      {.batch = 3, .tokens = 5, .heads = 2, .head_width = 3},
      {.batch = 2, .tokens = 65, .heads = 3, .head_width = 16},
      {.batch = 1, .tokens = 32, .heads = 1, .head_width = 8},
      {.batch = 2, .tokens = 97, .heads = 3, .head_width = 64},
      {.batch = 1, .tokens = 33, .heads = 1, .head_width = 160},
  };
};

TEST_P(AttentionTest, AgreesWithDoublePrecisionF32) {
  for (const AttentionSpec& spec : table_) check<float>(spec, all_tokens(spec));
}

TEST_P(AttentionTest, AgreesWithDoublePrecisionBf16) {
  for (const AttentionSpec& spec : table_) check<bf16>(spec, all_tokens(spec));
}

TEST_P(AttentionTest, LeavesOutTokensThatDoNotExist) {
  for (const int width : {3, 16, 32}) {
    const AttentionSpec spec{
        .batch = 5, .tokens = 64, .heads = 2, .head_width = width, .masked = true};
    const std::vector<std::int32_t> count = {0, 1, 64, 40, 32};
    check<float>(spec, count);
    check<bf16>(spec, count);
  }
}

// The memory of missing tokens holds NaN, which would spread.
TEST_P(AttentionTest, DoesNotReadTokensThatDoNotExist) {
  const AttentionSpec s{.batch = 2, .tokens = 40, .heads = 2, .head_width = 16, .masked = true};
  const std::vector<std::int32_t> count = {7, 0};
  const std::size_t n = values_of(s);
  auto qkv = random_values<float>(3 * n, 1), dy = random_values<float>(n, 2);
  const auto clean = run(s, qkv, dy, count);
  const std::size_t features = static_cast<std::size_t>(s.heads * s.head_width);
  for (std::size_t i = 7 * features; i < n; ++i) dy[i] = NAN;
  for (std::size_t i = 3 * 7 * features; i < 3 * n; ++i) qkv[i] = NAN;
  const auto dirty = run(s, qkv, dy, count);
  EXPECT_EQ(dirty.y, clean.y);
  EXPECT_EQ(dirty.dqkv, clean.dqkv);
  const auto zero_from = [](const std::vector<float>& values, std::size_t first) {
    return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(),
                       [](float value) { return value == 0; });
  };
  EXPECT_TRUE(zero_from(clean.y, 7 * features));
  EXPECT_TRUE(zero_from(clean.dqkv, 3 * 7 * features));
}

// Scores of +-200 overflow exp() unless the largest score is subtracted first.
TEST_P(AttentionTest, HandlesLargeScores) {
  const AttentionSpec s{.batch = 1, .tokens = 70, .heads = 1, .head_width = 4};
  auto qkv = random_values<float>(3 * values_of(s), 1);
  for (float& value : qkv) value *= 10;
  const auto dy = random_values<float>(values_of(s), 2);
  const auto got = run(s, qkv, dy, all_tokens(s));
  // A score has a relative error of (width + 2) u, which multiplies values of at most 10.
  const double bound = 10 * 2 * 200 * 6 * test::rounding(DType::f32);
  expect_within(got.y, forward(s, all_tokens(s), in_double(qkv)), bound, "y");
  EXPECT_TRUE(std::all_of(got.dqkv.begin(), got.dqkv.end(), [](float v) { return v == v; }));
}

TEST_P(AttentionTest, RepeatsItsBits) {
  for (const DType compute : {DType::f32, DType::bf16}) {
    const AttentionSpec s{
        .batch = 4, .tokens = 65, .heads = 3, .head_width = 64, .compute = compute};
    visit_float(compute, [&]<class T>(T) {
      const auto qkv = random_values<T>(3 * values_of(s), 1),
                 dy = random_values<T>(values_of(s), 2);
      const auto first = run(s, qkv, dy, all_tokens(s)), second = run(s, qkv, dy, all_tokens(s));
      EXPECT_EQ(in_double(first.y), in_double(second.y));
      EXPECT_EQ(in_double(first.dqkv), in_double(second.dqkv));
    });
  }
}

WS_ON_EVERY_BACKEND(AttentionTest);

TEST(AttentionPlan, RefusesImpossibleShapes) {
  const Stream stream(Device::cpu(), 1);
  for (const AttentionSpec& spec :
       {AttentionSpec{.batch = 0}, AttentionSpec{.tokens = 0}, AttentionSpec{.heads = 0},
        AttentionSpec{.head_width = 0}, AttentionSpec{.compute = DType::u8}}) {
    wellspring::test::expect_parts(
        wellspring::test::message_of(ErrorKind::config, [&] { Attention::plan(spec, stream); }),
        {"attention", "impossible shape"});
  }
}

TEST(AttentionPlan, RefusesHeadsThatAreTooWide) {
  const Stream stream(Device::cpu(), 1);
  const auto plan = [&] { Attention::plan({.head_width = 4096}, stream); };
  wellspring::test::expect_parts(wellspring::test::message_of(ErrorKind::device, plan),
                                 {"1 heads of 4096", "too wide for cpu", "use more heads"});
}

TEST(AttentionPlan, IsLogged) {
  const Stream stream(Device::cpu(), 1);
  const AttentionSpec spec{.batch = 2, .tokens = 3, .heads = 4, .head_width = 5};
  Attention::plan(spec, stream);
  EXPECT_EQ(stream.library<PlanLog>()->attention_layers, std::vector<AttentionSpec>{spec});
}

/// Forward and backward pass of the samples starting at `first`; memory is [batch, ...].
void enqueue(Attention& attention, Stream& stream, const AttentionSpec& s, std::int64_t first,
             const std::vector<float>& qkv, const std::vector<float>& dy, Workspace workspace,
             std::vector<std::byte>& saved, Results<float>& to) {
  const std::size_t at = static_cast<std::size_t>(first * s.tokens * s.heads * s.head_width);
  attention.forward(stream, qkv.data() + 3 * at, nullptr, to.y.data() + at, saved.data(),
                    workspace);
  attention.backward(stream, qkv.data() + 3 * at, nullptr, to.y.data() + at, dy.data() + at,
                     saved.data(), to.dqkv.data() + 3 * at, workspace);
}

TEST(AttentionShards, GiveTheBitsOfTheWholeBatch) {
  const AttentionSpec all{.batch = 4, .tokens = 33, .heads = 2, .head_width = 8};
  AttentionSpec half = all;
  half.batch = 2;
  const std::size_t n = values_of(all);
  const auto qkv = random_values<float>(3 * n, 1), dy = random_values<float>(n, 2);
  Stream stream(Device::cpu(), 2);
  const auto results = [&](const AttentionSpec& s, const Stream& planned, const auto& run) {
    Results<float> made{std::vector<float>(n), std::vector<float>(3 * n)};
    const auto attention = Attention::plan(s, planned);
    const std::size_t bytes = attention->workspace_bytes();
    std::vector<std::byte> scratch(2 * bytes), saved_first(attention->saved_bytes()),
        saved_second = saved_first;
    const auto enqueue_at = [&](Stream& to, std::size_t shard, std::size_t thread) {
      enqueue(*attention, to, s, static_cast<std::int64_t>(shard) * s.batch, qkv, dy,
              {scratch.data() + thread * bytes, bytes}, shard == 0 ? saved_first : saved_second,
              made);
    };
    run(enqueue_at);
    return made;
  };
  const auto whole = results(all, stream, [&](const auto& call) { call(stream, 0, 0); });
  ShardRunner runner;
  const auto shards = results(half, runner.stream(), [&](const auto& call) {
    runner.enqueue(stream, "attention", {2, 2}, [&](ShardRunner::Place place, Stream& to) {
      call(to, place.shard, place.thread);
    });
  });
  EXPECT_EQ(shards.y, whole.y);
  EXPECT_EQ(shards.dqkv, whole.dqkv);
}

using wellspring::test::bytes_of;
using wellspring::test::expect_equal_for_all_team_sizes;

template <class T>
void expect_equal_bits(int tokens, int width, std::vector<std::int32_t> count) {
  SCOPED_TRACE(std::to_string(tokens) + " tokens of width " + std::to_string(width));
  const int heads = 2;
  const auto batch = static_cast<std::int64_t>(count.size());
  const AttentionShape shape{tokens, heads, width, 32, 0.5f};
  const auto rows = static_cast<std::size_t>(batch * heads * tokens);
  const std::size_t n = rows * static_cast<std::size_t>(width);
  const auto qkv = random_values<T>(3 * n, 1), dy = random_values<T>(n, 2);
  std::vector<T> y(n), dqkv(3 * n);
  std::vector<float> log_sum(rows), products(rows);
  const std::int64_t teams = batch * heads * shape.blocks();
  const auto run = [&](const auto& functor, std::vector<std::span<std::byte>> outputs) {
    using Functor = std::decay_t<decltype(functor)>;
    expect_equal_for_all_team_sizes(functor, teams,
                                    {Functor::kLaunchBound.threads, Functor::scratch_bytes(shape)},
                                    std::move(outputs));
  };
  run(AttentionForward<T>{qkv.data(), count.data(), y.data(), log_sum.data(), shape},
      {bytes_of(y), bytes_of(log_sum)});
  const AttentionGradient<T> in{qkv.data(), count.data(), dy.data(), log_sum.data(), shape};
  run(AttentionQueryGradient<T>{in, y.data(), dqkv.data(), products.data()},
      {bytes_of(dqkv), bytes_of(products)});
  run(AttentionKeyGradient<T>{in, dqkv.data(), products.data()}, {bytes_of(dqkv)});
}

TEST(AttentionTeams, GiveEqualBitsForAnySize) {
  expect_equal_bits<float>(1, 1, {1});
  expect_equal_bits<float>(5, 3, {5, 0, 2});
  expect_equal_bits<float>(65, 16, {65, 33});
  expect_equal_bits<bf16>(40, 24, {40, 11});
}

// cuDNN needs at least one token per sample, so its results for missing tokens are replaced.
TEST(AttentionTeams, ClampCountsAndClearMissingTokens) {
  const std::vector<std::int32_t> count = {-1, 0, 2, 3, 9};
  constexpr int kTokens = 3, kFeatures = 5;
  std::vector<std::int32_t> clamped(count.size());
  const ClampedCounts clamp{count.data(), clamped.data(), kTokens};
  for (std::size_t i = 0; i < count.size(); ++i) clamp(static_cast<std::int64_t>(i));
  EXPECT_EQ(clamped, (std::vector<std::int32_t>{1, 1, 2, 3, 3}));

  std::vector<bf16> values(count.size() * kTokens * kFeatures, bf16(1.0f));
  Doubles expected(values.size(), 1);
  std::fill_n(expected.begin(), 2 * kTokens * kFeatures, 0.0);
  std::fill_n(expected.begin() + (2 * kTokens + 2) * kFeatures, kFeatures, 0.0);
  expect_equal_for_all_team_sizes(
      ClearMissingTokens{count.data(), values.data(), kTokens, kFeatures},
      static_cast<std::int64_t>(count.size()), {32}, {bytes_of(values)});
  EXPECT_EQ(in_double(values), expected);
}

}  // namespace
}  // namespace wellspring::ops::test
