// Buckets of gradients: what each sum reads, in which order, and when.
#include "train/network/gradient_buckets.h"

#include "tests/train/network/network_bench.h"
#include "tests/train/ranks/tcp_ranks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

using Gradients = std::map<std::string, Doubles>;

/// A rank whose sums leave the values as they are and copy them.
class CopyingRank final : public Communicator {
 public:
  CopyingRank(MemoryPlan& memory, std::size_t most)
      : copies_(memory.reserve<float>("test", "copies", most)) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(Stream& stream, float* values, std::int64_t count) override {
    const auto n = static_cast<std::size_t>(count);
    stream.copy(copies_.data() + used_, values, n * sizeof(float), CopyDirection::on_device, "sum");
    if (watched != nullptr && counts.empty()) seen = *watched;
    counts.push_back(count);
    used_ += n;
  }
  void all_reduce(std::span<double> /*values*/) override {}
  void broadcast(std::span<std::byte> /*bytes*/) override {}
  void barrier() override {}

  /// All copies, in the order of the sums.
  std::vector<float> copies(Stream& stream) const {
    std::vector<float> all(used_);
    stream.copy(all.data(), copies_.data(), used_ * sizeof(float), CopyDirection::device_to_host,
                "copies");
    stream.synchronize();
    return all;
  }

  std::vector<std::int64_t> counts;  ///< elements of each sum
  const float* watched = nullptr;    ///< CPU only: a value that the first sum stores in `seen`
  float seen = 0;

 private:
  Planned<float> copies_;
  std::size_t used_ = 0;
};

/// Two convolutions share weights. Their first user comes before the convolution "c", so that its
/// backward pass completes their gradient after that of "c".
Tape shared_weights() {
  Tape tape("buckets", SampleLayout::image(8, 8, 3), 3);
  Tensor x = tape.relu(tape.conv(tape.input(), "a", {.channels = 8}));
  tape.begin_block();
  x = tape.relu(tape.group_norm(tape.conv(x, "b", {.channels = 8}), "norm", {.groups = 2}));
  tape.begin_block();
  x = tape.relu(tape.conv(x, "c", {.channels = 8}));
  x = tape.relu(tape.conv(x, "d", {.channels = 8, .weights_of = "b"}));
  tape.begin_block();
  tape.head(tape.global_mean(x), "h");
  return tape;
}

constexpr BucketSpec kEachTensor = {.first_bytes = 1, .bytes = 1};

/// Every sum reads the gradients as they are at the end of the backward pass.
void expect_complete(Device device, DType compute, std::int64_t shards, std::int64_t recompute = 0,
                     std::vector<ParameterRule> rules = {}) {
  SCOPED_TRACE(testing::Message() << device.to_string() << ", " << to_string(compute) << ", "
                                  << shards << " shards, recompute " << recompute);
  Stream stream(device, 1);
  NetworkBench bench(stream, shared_weights(), 8, compute, shards, std::move(rules), recompute);
  const ParameterArena& arena = bench.network().parameters();
  MemoryPlan memory(device);
  CopyingRank rank(memory, static_cast<std::size_t>(arena.vectors().end));
  GradientBuckets buckets(arena, rank, stream, memory, kEachTensor);
  memory.commit();
  bench.outputs(PassMode::train);
  const Gradients expected = bench.gradients();
  bench.outputs(PassMode::train);
  const Gradients got = bench.gradients(&buckets);
  EXPECT_EQ(got, expected);
  const std::vector<float> copies = rank.copies(stream);
  ASSERT_EQ(rank.counts.size(), buckets.buckets().size());
  std::size_t at = 0, compared = 0;
  for (const GradientRange range : buckets.buckets()) {
    for (const ParameterTensor& tensor : arena.tensors()) {
      if (!tensor.trained() || tensor.offset < range.begin || tensor.offset >= range.end) continue;
      const Doubles& final = expected.at(tensor.name);
      const float* const copy =
          copies.data() + at + static_cast<std::size_t>(tensor.offset - range.begin);
      EXPECT_EQ(Doubles(copy, copy + final.size()), final) << tensor.name;
      ++compared;
    }
    at += static_cast<std::size_t>(range.size());
  }
  EXPECT_EQ(compared, expected.size() - expected.count("x"));
}

void expect_complete(Device device, std::int64_t shards) {
  for (const DType compute : {DType::f32, DType::bf16})
    for (const std::int64_t recompute : {0, 1}) expect_complete(device, compute, shards, recompute);
  for (const char* frozen : {"a.*", "b.*", "c.*", "norm.*", "h.*"})
    expect_complete(device, DType::f32, shards, 0, {{.match = frozen, .frozen = true}});
}

TEST(GradientBuckets, AreCompleteWhenTheyAreSummed) {
  for (const std::int64_t shards : {NetworkSpec::kWholeBatch, std::int64_t{2}})
    expect_complete(Device::cpu(), shards);
}

// The branch and the main stream run in any order that the events allow.
TEST(GradientBuckets, AreCompleteWhenTheyAreSummedOnAGpu) {
  if (cuda_status().device_count == 0) GTEST_SKIP() << "needs a GPU: " << cuda_status().reason;
  expect_complete(Device::parse("auto"), 0);
}

TEST(GradientBuckets, AreSummedBeforeTheBackwardPassEnds) {
  Stream stream(Device::cpu(), 1);
  NetworkBench bench(stream, shared_weights(), 8, DType::f32, NetworkSpec::kWholeBatch);
  const ParameterArena& arena = bench.network().parameters();
  MemoryPlan memory(Device::cpu());
  CopyingRank rank(memory, static_cast<std::size_t>(arena.vectors().end));
  GradientBuckets buckets(arena, rank, stream, memory, kEachTensor);
  memory.commit();
  rank.watched = static_cast<const float*>(arena.gradient({0}));
  ASSERT_EQ(arena.tensor({0}).name, "a.weight");
  bench.outputs(PassMode::train);
  const Gradients all = bench.gradients(&buckets);
  EXPECT_EQ(rank.seen, 0) << "the gradient of the first layer, when the first sum is enqueued";
  EXPECT_NE(all.at("a.weight")[0], 0);
}

/// Sums over ranks with samples of their own, by rank.
struct Sums {
  explicit Sums(std::size_t ranks) : own(ranks), in_buckets(ranks), whole(ranks) {}
  std::vector<Gradients> own;         ///< without a sum
  std::vector<Gradients> in_buckets;  ///< a bucket per matrix, and the vectors
  std::vector<Gradients> whole;       ///< one sum of all matrices, and the vectors
};

Sums sums_over(int ranks, DType compute) {
  Sums sums(static_cast<std::size_t>(ranks));
  const auto body = [&](Communicator& of) {
    const auto rank = static_cast<std::size_t>(of.rank());
    Stream stream(Device::cpu(), 1);
    NetworkBench bench(stream, shared_weights(), 8, compute);
    std::vector<float> x(8 * 8 * 8 * 3);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>((rank + 1) * i));
    bench.set_input(x);
    const auto gradients = [&](GradientBuckets* buckets) {
      bench.outputs(PassMode::train);
      Gradients result = bench.gradients(buckets);
      result.erase("x");
      return result;
    };
    MemoryPlan memory(Device::cpu());
    const ParameterArena& arena = bench.network().parameters();
    GradientBuckets each(arena, of, stream, memory, kEachTensor),
        all(arena, of, stream, memory, {});
    memory.commit();
    EXPECT_EQ(each.buckets().size(), 5u);
    EXPECT_EQ(all.buckets().size(), 2u);
    sums.own[rank] = gradients(nullptr);
    sums.in_buckets[rank] = gradients(&each);
    sums.whole[rank] = gradients(&all);
  };
  if (ranks == 1)
    body(single_rank());
  else
    EXPECT_EQ(run_tcp_ranks(ranks, body), std::vector<std::string>(sums.own.size()));
  return sums;
}

/// Each value is within the rounding of `sum`: n - 1 additions in f32, in any order, are within
/// (n - 1) u / (1 - (n - 1) u) of the sum of absolute values (N. J. Higham, "Accuracy and Stability of
/// Numerical Algorithms", 2nd ed., SIAM 2002, section 4.2), and matrices are then rounded to the compute
/// type.
void expect_near_exact_sums(const Gradients& sums, const std::vector<Gradients>& own,
                            double matrix_rounding) {
  const double k = static_cast<double>(own.size() - 1) * 0x1p-24;
  for (const auto& [name, values] : sums)
    for (std::size_t i = 0; i < values.size(); ++i) {
      double exact = 0, size = 0;
      for (const Gradients& of : own) {
        exact += of.at(name)[i];
        size += std::abs(of.at(name)[i]);
      }
      const double error = k / (1 - k) * size;
      const bool matrix = name.ends_with(".weight") && !name.starts_with("norm");
      const double rounding = matrix ? matrix_rounding : 0;
      EXPECT_NEAR(values[i], exact, error + rounding * (std::abs(exact) + error)) << name;
    }
}

// Two numbers have one sum in f32. Three have up to three, and the ring's order of additions depends on
// a value's place in the bucket.
TEST(GradientBuckets, HaveTheBitsOfOneSumForTwoRanksAndItsRoundingForMore) {
  for (const DType compute : {DType::f32, DType::bf16})
    for (const int ranks : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << to_string(compute) << ", " << ranks << " ranks");
      const Sums sums = sums_over(ranks, compute);
      for (const Gradients& other : sums.in_buckets) EXPECT_EQ(other, sums.in_buckets[0]);
      if (ranks == 1) {
        EXPECT_EQ(sums.in_buckets, sums.own);
      }
      if (ranks <= 2) {
        EXPECT_EQ(sums.in_buckets, sums.whole);
      } else if (compute == DType::f32) {
        EXPECT_TRUE(sums.in_buckets != sums.whole) << "some values show the order";
      }
      const double unit = compute == DType::bf16 ? 0x1p-8 : 0;
      expect_near_exact_sums(sums.in_buckets[0], sums.own, unit);
      expect_near_exact_sums(sums.whole[0], sums.own, unit);
    }
}

TEST(GradientBuckets, AddThePassesBeforeTheSum) {
  Stream stream(Device::cpu(), 1);
  NetworkBench bench(stream, shared_weights(), 8, DType::f32);
  ParameterArena& arena = bench.network().parameters();
  MemoryPlan memory(Device::cpu());
  CopyingRank rank(memory, static_cast<std::size_t>(arena.vectors().end));
  BucketSpec spec = kEachTensor;
  spec.passes = 2;
  GradientBuckets buckets(arena, rank, stream, memory, spec);
  arena.plan_sums(memory);
  memory.commit();
  bench.outputs(PassMode::train);
  Gradients expected = bench.gradients();
  for (const GradientRange range : {arena.matrices(), arena.vectors()})
    arena.add_gradients(stream, range, 0, spec.passes);
  bench.outputs(PassMode::train);
  const Gradients got = bench.gradients(&buckets);
  for (auto& [name, values] : expected)
    for (double& value : values) value *= name == "x" ? 1 : 2;  // exact
  EXPECT_EQ(got, expected);
}

/// Matrices of 64, 128, 192, ... values, and a vector, which comes first in the list.
struct ArenaOf {
  explicit ArenaOf(std::int64_t matrices) {
    arena.add({"vector", TensorLayout::vector, {3}});
    for (std::int64_t i = 1; i <= matrices; ++i)
      arena.add({"matrix" + std::to_string(i), TensorLayout::dense, {i, 64}});
    arena.plan(memory, DType::f32, {});
  }
  Stream stream{Device::cpu(), 1};
  MemoryPlan memory{Device::cpu()};
  ParameterArena arena;
};

std::vector<std::int64_t> sizes(const GradientBuckets& buckets) {
  std::vector<std::int64_t> sizes;
  for (const GradientRange range : buckets.buckets()) sizes.push_back(range.size());
  return sizes;
}

TEST(GradientBuckets, EndWithTheTensorThatFillsThem) {
  ArenaOf of(6);
  const auto in = [&](std::int64_t first, std::int64_t others) {
    return sizes({of.arena,
                  single_rank(),
                  of.stream,
                  of.memory,
                  {.first_bytes = first * 256, .bytes = others * 256}});  // units of 64 floats
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(in(1, 1), (Sizes{384, 320, 256, 192, 128, 64, 64}));
  EXPECT_EQ(in(6, 9), (Sizes{384, 576, 384, 64}));
  EXPECT_EQ(in(7, 10), (Sizes{704, 640, 64}));
  EXPECT_EQ(in(100, 1), (Sizes{21 * 64, 64}));
}

// The first bucket has two matrices, which nodes 5 and 3 complete.
TEST(GradientBuckets, WaitForAllOfTheirTensors) {
  ArenaOf of(4);
  CopyingRank rank(of.memory, 1000);
  GradientBuckets buckets(of.arena, rank, of.stream, of.memory, {.first_bytes = 7 * 256});
  of.memory.commit();
  ops::PartTotals none;
  buckets.begin(std::array<std::size_t, 5>{0, 1, 2, 3, 5});
  for (const std::size_t node : {5u, 4u}) buckets.reduce(of.stream, none, node);
  EXPECT_EQ(rank.counts.size(), 0u);
  buckets.reduce(of.stream, none, 3);
  EXPECT_EQ(rank.counts, std::vector<std::int64_t>{448});
}

// Bucket 1 waits for node 2, so buckets 2 and 3 wait, too; bucket 0 is not trained.
TEST(GradientBuckets, KeepTheirOrder) {
  ArenaOf of(4);
  CopyingRank rank(of.memory, 1000);
  GradientBuckets buckets(of.arena, rank, of.stream, of.memory, kEachTensor);
  of.memory.commit();
  ops::PartTotals none;
  using Counts = std::vector<std::int64_t>;
  for (int pass = 0; pass < 2; ++pass) {
    rank.counts.clear();
    buckets.begin(std::array<std::size_t, 5>{0, 5, 4, 2, GradientBuckets::kUntrained});
    for (const std::size_t node : {5u, 4u, 3u}) buckets.reduce(of.stream, none, node);
    EXPECT_EQ(rank.counts, Counts());
    buckets.reduce(of.stream, none, 2);
    EXPECT_EQ(rank.counts, (Counts{192, 128, 64}));
    buckets.reduce(of.stream, none, 0);
    EXPECT_EQ(rank.counts, (Counts{192, 128, 64, 64}));
  }
}

}  // namespace
}  // namespace wellspring::test
