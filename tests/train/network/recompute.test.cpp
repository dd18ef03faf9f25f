// Activation checkpointing: networks that recompute values in the backward pass give the same bits
// and need less memory.
#include "tests/support/error_testing.h"
#include "tests/train/network/network_bench.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::test {
namespace {

constexpr int kWidth = 3;

// Blocks without a backward pass, or with one only for the gradient of their input.
TEST(RecomputedNetworks, HaveEqualBitsWithFrozenLayers) {
  Tape tape("frozen", SampleLayout::image(6, 6, 3), kWidth);
  Tensor x = tape.input();
  for (const std::string layer : {"a", "b", "c"}) {
    x = tape.conv(x, "conv_" + layer, {.channels = 4});
    x = tape.relu(tape.batch_norm(x, "norm_" + layer));
    x = tape.relu(tape.group_norm(x, "group_" + layer, {.groups = 2}));
    if (layer != "a") tape.begin_block();
  }
  tape.head(tape.global_mean(x), "h");
  Stream stream(Device::cpu(), 1);
  for (const char* frozen : {"*_a.*", "norm_*", "*_b.*", "group_*", "conv_*"})
    for (const std::int64_t shards : {NetworkSpec::kWholeBatch, std::int64_t{3}}) {
      SCOPED_TRACE(frozen);
      const std::vector<ParameterRule> rules = {{.match = frozen, .frozen = true}};
      EXPECT_EQ(NetworkBench(stream, tape, 4, DType::f32, shards, rules, 1).trained(),
                NetworkBench(stream, tape, 4, DType::f32, shards, rules).trained());
    }
}

/// Eight blocks whose backward pass reads four values each, of 16, 16, 64 and 64 channels.
Tape deep() {
  Tape tape("deep", SampleLayout::image(8, 8, 16), kWidth);
  Tensor x = tape.input();
  for (int i = 0; i < 8; ++i) {
    const std::string name = "block" + std::to_string(i);
    tape.begin_block();
    Tensor y = tape.group_norm(x, name + ".norm", {.groups = 4});
    y = tape.gelu(tape.dense(y, name + ".fc1", {.width = 64}));
    x = tape.add(x, tape.dense(y, name + ".fc2", {.width = 16}));
  }
  tape.begin_block();
  tape.head(tape.global_mean(x), "h");
  return tape;
}

std::size_t activations(std::int64_t shards, std::int64_t recompute_blocks) {
  Stream stream(Device::cpu(), 1);
  NetworkBench bench(stream, deep(), 16, DType::f32, shards, {}, recompute_blocks);
  std::size_t bytes = 0;
  for (const Reservation& reservation : bench.memory().reservations())
    if (reservation.group == "activations") bytes += reservation.bytes;
  return bytes;
}

TEST(RecomputedNetworks, NeedLessMemory) {
  for (const std::int64_t shards : {NetworkSpec::kWholeBatch, std::int64_t{4}}) {
    EXPECT_LT(activations(shards, 1), activations(shards, 0) / 2);
    EXPECT_LT(activations(shards, 4), activations(shards, 0));
    EXPECT_GT(activations(shards, 4), activations(shards, 1));
  }
}

// A group of two blocks recomputes all but the last two operations: nothing reads their values, or
// only a later group. Node 0 of the list has block 1, so the first group has one block.
TEST(RecomputedNetworks, CountWhatTheyRecompute) {
  Stream stream(Device::cpu(), 1);
  NetworkBench bench(stream, deep(), 16, DType::f32, 0, {}, 2);
  expect_parts(bench.network().memory_summary(), {"; 27 of 42 operations recomputed"});
}

TEST(RecomputedNetworks, RefuseASingleGroup) {
  Stream stream(Device::cpu(), 1);
  expect_parts(message_of(ErrorKind::config,
                          [&] { NetworkBench(stream, deep(), 16, DType::f32, 0, {}, 20); }),
               {"train.recompute_blocks: 20, but model deep has only 10 blocks"});
}

}  // namespace
}  // namespace wellspring::test
