// Shards compared with the whole batch: convolutions that threads share, and the sums of norms.
#include "tests/ops/operation_test.h"
#include "tests/train/network/network_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace wellspring::test {
namespace {

using ops::test::largest_magnitude;
constexpr int kHeadWidth = 3;

// Threads share two consecutive convolutions with the same weights; the operations around them run
// in shards. The results agree with the unsharded batch within the rounding errors of three sums
// over 9 * 64 terms and of the sums over pixels.
TEST(ShardedNetwork, SharesLargeConvolutionsAmongThreads) {
  Tape tape("shared", SampleLayout::image(8, 8, 3), kHeadWidth);
  Tensor x = tape.relu(tape.conv(tape.input(), "a", {.channels = 64, .stride = 2}));
  x = tape.relu(tape.conv(x, "b", {.channels = 64}));
  x = tape.relu(tape.conv(x, "c", {.channels = 64, .weights_of = "b"}));
  tape.head(tape.global_mean(x), "h");
  const auto run = [&](int threads, std::int64_t shards) {
    Stream stream(Device::cpu(), threads);
    NetworkBench bench(stream, tape, 16, DType::f32, shards);
    std::map<std::string, Doubles> all{{"outputs", bench.outputs(PassMode::train)}};
    all.merge(bench.gradients());
    return all;
  };
  const auto whole = run(1, NetworkSpec::kWholeBatch), alone = run(1, 2);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads, 2), alone) << threads;
  const double bound = 3 * (9 * 64 + 16 * 16) * ops::test::rounding(DType::f32);
  for (const auto& [name, values] : whole)
    ops::test::expect_within(alone.at(name), values,
                             bound * std::max(1.0, largest_magnitude(values)), name);
}

// The whole batch adds the parts of all norms at the end of the backward pass; a shard adds them norm by norm. With one
// shard, the sums have the same terms in the same order.
TEST(Totals, HaveEqualBitsAtOnceAndAtTheEnd) {
  Tape tape("norms", SampleLayout::image(8, 8, 3), kHeadWidth);
  Tensor x = tape.input();
  for (const char* layer : {"a", "b", "c"}) {
    x = tape.conv(x, std::string("conv_") + layer, {.channels = 8});
    x = tape.relu(tape.group_norm(x, std::string("norm_") + layer, {.groups = 4}));
  }
  tape.head(tape.global_mean(tape.layer_norm(x, "last")), "h");
  const auto run = [&](std::int64_t shards) {
    Stream stream(Device::cpu(), 1);
    return NetworkBench(stream, tape, 48, DType::f32, shards).gradients();
  };
  EXPECT_EQ(run(NetworkSpec::kWholeBatch), run(1));
}

}  // namespace
}  // namespace wellspring::test
