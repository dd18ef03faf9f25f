// Every operation of the tape, alone and fused, compared with the oracle: outputs in both modes,
// running statistics, and all gradients by finite differences, on every back end of this machine.
#include "tests/ops/operation_test.h"
#include "tests/train/network/network_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

namespace wellspring::test {
namespace {

using ops::test::largest_magnitude;

/// An operation in a small network that ends in a head (for images, after the mean over pixels).
struct OperationCase {
  std::string name;
  SampleLayout input;
  std::function<Tensor(Tape&)> page;
  /// Number of rounding errors on the longest path from a sample to an output: one per term of each
  /// sum and one per step, through a head of at most 16 terms.
  double roundings = 32;
  /// Factor by which the steepest operation, a normalisation, magnifies an error. Gradients pass
  /// through the division twice, so their factor is the square of this one.
  double gain = 1;
  std::vector<OutputSpec> outputs = {{kSampleOutput, 3}};

  Tape tape() const {
    Tape tape(name, input, outputs);
    end(tape, page(tape));
    return tape;
  }
  /// The first block ends with an operation whose backward pass reads the values of the others.
  Tape tape_of_blocks() const {
    Tape tape(name, input, outputs);
    const Tensor last = tape.silu(page(tape));
    tape.begin_block();
    end(tape, last);
    return tape;
  }
  void end(Tape& tape, Tensor last) const {
    tape.head(input.kind == SampleKind::image ? tape.global_mean(last) : last, "h");
  }
};

constexpr std::int64_t kBatch = 4;
constexpr int kOutputs = 3;

const std::vector<OperationCase>& cases() {
  static const SampleLayout image = SampleLayout::image(6, 6, 3),
                            odd = SampleLayout::image(7, 5, 2), vector = SampleLayout::event(10);
  static const SampleLayout set = [] {
    SampleLayout layout = SampleLayout::set(5, 3);
    layout.globals = 2;
    return layout;
  }();
  static const std::vector<OperationCase> list = {
      {"dense", vector, [](Tape& t) { return t.dense(t.input(), "a", {.width = 8}); }},
      {"dense_relu", vector, [](Tape& t) { return t.relu(t.dense(t.input(), "a", {.width = 8})); }},
      {"dense_without_bias", vector,
       [](Tape& t) { return t.dense(t.input(), "a", {.width = 8, .bias = false}); }},
      {"dense_per_item", set, [](Tape& t) { return t.dense(t.input(), "a", {.width = 4}); }, 48},
      {"shared_weights", vector,
       [](Tape& t) {
         Tensor x = t.relu(t.dense(t.input(), "a", {.width = 10}));
         x = t.relu(t.dense(x, "b", {.width = 10, .weights_of = "a"}));
         return t.dense(x, "c", {.width = 10, .weights_of = "a"});
       },
       64, 4},
      {"conv", image, [](Tape& t) { return t.conv(t.input(), "a", {.channels = 4}); }, 96},
      {"depthwise", odd, [](Tape& t) { return t.depthwise_conv(t.input(), "a"); }, 96},
      {"depthwise_without_bias", image,
       [](Tape& t) { return t.depthwise_conv(t.input(), "a", {.kernel = 3, .bias = false}); }, 48},
      {"conv_relu", image, [](Tape& t) { return t.relu(t.conv(t.input(), "a", {.channels = 4})); },
       96},
      {"conv_7x7_stride_2", image,
       [](Tape& t) {
         return t.conv(t.input(), "a", {.channels = 4, .kernel = 7, .stride = 2, .bias = false});
       },
       196},
      {"conv_1x1_stride_2", odd,
       [](Tape& t) {
         return t.conv(t.input(), "a", {.channels = 4, .kernel = 1, .stride = 2, .bias = false});
       },
       48},
      {"conv_pool", image,
       [](Tape& t) { return t.max_pool(t.conv(t.input(), "a", {.channels = 4})); }, 80},
      {"conv_pool_relu", image,
       [](Tape& t) { return t.relu(t.max_pool(t.conv(t.input(), "a", {.channels = 4}))); }, 80},
      {"conv_relu_pool", image,
       [](Tape& t) { return t.max_pool(t.relu(t.conv(t.input(), "a", {.channels = 16}))); }, 80},
      {"max_pool_of_odd_sides", odd, [](Tape& t) { return t.max_pool(t.input()); }},
      {"max_pool_overlapping", odd,
       [](Tape& t) { return t.max_pool(t.input(), {.window = 3, .stride = 2, .padding = 1}); }},
      {"max_pool_relu", image,
       [](Tape& t) {
         return t.relu(t.max_pool(t.input(), {.window = 3, .stride = 1, .padding = 1}));
       },
       64},
      {"group_norm", image,
       [](Tape& t) {
         return t.group_norm(t.conv(t.input(), "a", {.channels = 4}), "n", {.groups = 2});
       },
       160, 2},
      {"group_norm_of_the_samples", image,
       [](Tape& t) { return t.group_norm(t.input(), "n", {.groups = 3}); }, 96, 2},
      {"group_norm_residual_relu", image,
       [](Tape& t) {
         const Tensor x = t.conv(t.input(), "a", {.channels = 4});
         const Tensor y = t.group_norm(t.conv(x, "b", {.channels = 4}), "n", {.groups = 2});
         return t.relu(t.add(y, x));
       },
       256, 4},
      {"group_norm_relu_conv", image,
       [](Tape& t) {
         const Tensor x = t.group_norm(t.conv(t.input(), "a", {.channels = 4}), "n", {.groups = 2});
         return t.conv(t.relu(x), "b", {.channels = 2});
       },
       256, 2},
      {"group_norm_read_twice", image,
       [](Tape& t) {
         const Tensor x =
             t.relu(t.group_norm(t.conv(t.input(), "a", {.channels = 8}), "m", {.groups = 2}));
         const Tensor y = t.group_norm(t.conv(x, "b", {.channels = 8}), "n", {.groups = 2});
         return t.conv(t.relu(t.add(y, x)), "c", {.channels = 2});
       },
       384, 4},
      {"conv_pool_relu_group_norm", image,
       [](Tape& t) {
         const Tensor x = t.relu(t.max_pool(t.conv(t.input(), "a", {.channels = 4})));
         return t.conv(t.group_norm(x, "n", {.groups = 2}), "b", {.channels = 2});
       },
       256, 4},
      {"conv_relu_pool_group_norm_relu", image,
       [](Tape& t) {
         const Tensor x = t.max_pool(t.relu(t.conv(t.input(), "a", {.channels = 8})));
         return t.conv(t.relu(t.group_norm(x, "n", {.groups = 2})), "b", {.channels = 2});
       },
       256, 4},
      {"batch_norm_read_three_times", image,
       [](Tape& t) {
         const Tensor x = t.relu(t.batch_norm(t.conv(t.input(), "a", {.channels = 4}), "m"));
         const Tensor y = t.batch_norm(t.conv(x, "b", {.channels = 4}), "n");
         return t.add(t.relu(t.add(x, y)), t.relu(x));
       },
       256, 4},
      {"batch_norm", image,
       [](Tape& t) {
         return t.batch_norm(t.conv(t.input(), "a", {.channels = 4, .bias = false}), "n");
       },
       160, 2},
      {"batch_norm_of_vectors", vector,
       [](Tape& t) { return t.batch_norm(t.dense(t.input(), "a", {.width = 8}), "n"); }, 64, 8},
      {"batch_norm_relu", image,
       [](Tape& t) {
         return t.relu(t.batch_norm(t.conv(t.input(), "a", {.channels = 4, .bias = false}), "n"));
       },
       160, 2},
      {"batch_norm_residual_relu", image,
       [](Tape& t) {
         const Tensor x = t.conv(t.input(), "a", {.channels = 4});
         const Tensor y = t.batch_norm(t.conv(x, "b", {.channels = 4}), "n");
         return t.relu(t.add(x, y));
       },
       256, 4},
      {"two_norms_added", image,
       [](Tape& t) {
         const Tensor a = t.batch_norm(t.conv(t.input(), "a", {.channels = 4}), "m");
         const Tensor b = t.batch_norm(t.conv(t.input(), "b", {.channels = 4}), "n");
         return t.relu(t.add(a, b));
       },
       256, 4},
      {"relu", vector, [](Tape& t) { return t.relu(t.input()); }},
      {"add", vector,
       [](Tape& t) {
         const Tensor a = t.dense(t.input(), "a", {.width = 6});
         const Tensor b = t.dense(t.input(), "b", {.width = 6});
         return t.relu(t.add(a, b));
       }},
      {"added_to_itself", vector, [](Tape& t) { return t.add(t.input(), t.input()); }},
      {"read_by_three", vector,
       [](Tape& t) {
         const Tensor x = t.relu(t.dense(t.input(), "a", {.width = 6}));
         const Tensor y = t.dense(x, "b", {.width = 6});
         return t.add(t.add(x, y), t.dense(x, "c", {.width = 6}));
       },
       64},
      {"concatenate", vector,
       [](Tape& t) {
         const Tensor a = t.dense(t.input(), "a", {.width = 5});
         return t.concatenate(a, t.input());
       }},
      {"dropout", vector,
       [](Tape& t) {
         return t.dropout(t.dense(t.input(), "a", {.width = 13}), "d", {.rate = 0.25f});
       }},
      {"upsample", odd,
       [](Tape& t) {
         return t.conv(t.upsample(t.conv(t.input(), "a", {.channels = 4})), "b", {.channels = 3});
       },
       160},
      {"drop_path", vector,
       [](Tape& t) {
         return t.drop_path(t.dense(t.input(), "a", {.width = 13}), "d", {.rate = 0.25f});
       }},
      {"gelu", vector, [](Tape& t) { return t.gelu(t.dense(t.input(), "a", {.width = 8})); }, 64,
       2},
      {"silu", vector, [](Tape& t) { return t.silu(t.dense(t.input(), "a", {.width = 8})); }, 64,
       2},
      {"layer_norm", image,
       [](Tape& t) { return t.layer_norm(t.conv(t.input(), "a", {.channels = 9}), "n"); }, 160, 4},
      {"add_values", image,
       [](Tape& t) {
         return t.add(t.input(), Parameter{"p", {1, 6, 6, 3}, Init::normal(0.5f)});
       }},
      {"scale", image,
       [](Tape& t) {
         return t.scale(t.input(), Parameter{"s", {3}, Init::constant(0.1f)});
       }},
      {"prepend_and_select", image,
       [](Tape& t) {
         const Tensor x =
             t.prepend({"cls", {1, 2, 3}, Init::normal(0.5f)}, Tape::tokens(t.input()));
         return t.dense(t.select(x, 1, 4), "a", {.width = 5});
       }},
      {"attention", image,
       [](Tape& t) {
         const Tensor x = t.dense(Tape::tokens(t.input()), "a", {.width = 3 * 2 * 5});
         return t.attention(x, {.heads = 2});
       },
       160, 4},
      {"attention_among_items", set,
       [](Tape& t) {
         const Tensor x = t.dense(t.input(), "a", {.width = 3 * 2 * 4});
         return t.item_mean(t.attention(x, {.heads = 2}));
       },
       96, 4},
      {"several_outputs",
       image,
       [](Tape& t) {
         const Tensor x = t.relu(t.conv(t.input(), "a", {.channels = 4}));
         t.head(x, "p", {.output = kPixelOutput});
         t.head(x, "e", {.output = "early"});
         return x;
       },
       160,
       1,
       {{"early", 1}, {kPixelOutput, 2, true}, {kSampleOutput, 3}}},
      {"item_mean", set,
       [](Tape& t) { return t.item_mean(t.relu(t.dense(t.input(), "a", {.width = 4}))); }},
      {"item_sum_and_globals", set,
       [](Tape& t) {
         return t.concatenate(t.item_sum(t.relu(t.dense(t.input(), "a", {.width = 4}))),
                              t.globals());
       }},
  };
  return list;
}

using Rules = std::vector<ParameterRule>;

/// Batch norms whose parameters are all frozen.
std::set<std::string> frozen_norms(const Tape& tape, const Rules& rules) {
  std::set<std::string> norms;
  for (const Node& node : tape.nodes())
    if (std::holds_alternative<BatchNorm>(node.operation) &&
        policy_of(node.name + ".weight", rules).frozen &&
        policy_of(node.name + ".bias", rules).frozen)
      norms.insert(node.name);
  return norms;
}

/// Ways to freeze a part: one layer, all layers but one, one parameter, all parameters but one.
std::vector<Rules> ways_to_freeze(const std::set<std::string>& names) {
  std::set<std::string> parts = names;
  for (const std::string& name : names)
    if (const std::size_t dot = name.find('.'); dot != std::string::npos)
      parts.insert(name.substr(0, dot) + ".*");
  std::vector<Rules> ways;
  for (const std::string& part : parts)
    for (const bool frozen : {true, false}) {
      Rules rules = {{.match = "*", .frozen = !frozen}, {.match = part, .frozen = frozen}};
      const auto is_frozen = [&](const auto& name) { return policy_of(name, rules).frozen; };
      if (!std::ranges::all_of(names, is_frozen)) ways.push_back(std::move(rules));
    }
  return ways;
}

constexpr std::int64_t kShards = 3;  // they have 1, 1 and 2 rows

class Operations : public ops::test::OperationTest {
 protected:
  /// Only a CPU divides the batch.
  std::vector<std::int64_t> ways_to_divide() const {
    if (on_gpu()) return {NetworkSpec::kWholeBatch};
    return {NetworkSpec::kWholeBatch, kShards};
  }

  /// u: the rounding of the compute type. Sums and products are f32, so bf16 rounds only the values
  /// stored between operations: once per step, not per term.
  void expect_oracle(const OperationCase& c, DType compute,
                     std::int64_t shards = NetworkSpec::kWholeBatch) {
    SCOPED_TRACE(c.name + " in " + std::string(to_string(compute)));
    const Tape tape = c.tape();
    NetworkBench bench(stream(), tape, kBatch, compute, shards);
    const double f32 = ops::test::rounding(DType::f32);
    const double steps = static_cast<double>(tape.nodes().size()) + 1;
    const double stored = compute == DType::bf16 ? 4 * steps * ops::test::rounding(compute) : 0;
    const double bound = c.roundings * f32 * c.gain + stored * c.gain;

    const ReferenceInput evaluating = bench.reference(PassMode::evaluate);
    const Doubles evaluated = reference_outputs(tape, evaluating);
    ops::test::expect_within(bench.outputs(PassMode::evaluate), evaluated,
                             bound * std::max(1.0, largest_magnitude(evaluated)), "evaluated");

    const ReferenceInput training = bench.reference(PassMode::train);
    std::map<std::string, Doubles> moved;
    const Doubles expected = reference_outputs(tape, training, &moved);
    ops::test::expect_within(bench.outputs(PassMode::train), expected,
                             bound * std::max(1.0, largest_magnitude(expected)), "outputs");
    const std::map<std::string, Doubles> tensors = bench.tensors();
    for (const auto& [name, values] : moved)
      ops::test::expect_within(tensors.at(name), values,
                               bound * std::max(1.0, largest_magnitude(values)), name);
    expect_gradients(bench, tape, training, bound * c.gain);
  }

  /// Compares the outputs and gradients of a partly frozen network and of the full one, bit by
  /// bit. With a frozen batch norm, the full network computes other values, so the oracle replaces
  /// it.
  void expect_pruned(const OperationCase& c, const Rules& rules, std::int64_t shards,
                     const std::map<std::string, Doubles>& full) {
    const Tape tape = c.tape();
    NetworkBench pruned(stream(), tape, kBatch, DType::f32, shards, rules);
    const Doubles outputs = pruned.outputs(PassMode::train);
    ReferenceInput input = pruned.reference(PassMode::train);
    input.frozen_norms = frozen_norms(tape, rules);
    if (!input.frozen_norms.empty()) {
      std::map<std::string, Doubles> moved;
      const Doubles expected = reference_outputs(tape, input, &moved);
      const double bound = c.roundings * ops::test::rounding(DType::f32) * c.gain;
      ops::test::expect_within(outputs, expected,
                               bound * std::max(1.0, largest_magnitude(expected)), "outputs");
      const std::map<std::string, Doubles> tensors = pruned.tensors();
      for (const std::string& norm : input.frozen_norms)
        for (const char* name : {".running_mean", ".running_var"})
          EXPECT_EQ(tensors.at(norm + name), input.tensors.at(norm + name));
      expect_gradients(pruned, tape, input, bound * c.gain);
      return;
    }
    std::map<std::string, Doubles> expected = full;
    std::erase_if(expected,
                  [&](const auto& gradient) { return policy_of(gradient.first, rules).frozen; });
    std::map<std::string, Doubles> got = pruned.gradients();
    expected["outputs"] = full.at("outputs");
    got["outputs"] = outputs;
    EXPECT_EQ(got, expected);
  }

  /// Sums over the batch have one more term per row. Finite differences have errors of 1e-8.
  void expect_gradients(NetworkBench& bench, const Tape& tape, const ReferenceInput& input,
                        double bound) {
    const auto along = [&](const ReferenceInput& at) {
      return ops::test::dot(reference_outputs(tape, at), bench.direction());
    };
    for (const auto& [name, got] : bench.gradients()) {
      const auto at = [&](const Doubles& values) {
        ReferenceInput moved = input;
        (name == "x" ? moved.x : moved.tensors.at(name)) = values;
        return along(moved);
      };
      const Doubles expected =
          ops::test::gradient(at, name == "x" ? input.x : input.tensors.at(name));
      ops::test::expect_within(got, expected,
                               bound * kBatch * std::max(1.0, largest_magnitude(expected)) + 1e-8,
                               "gradient of " + name);
    }
  }
};

class OperationsInShards : public Operations {};

TEST_P(Operations, AgreeWithTheOracleAndFiniteDifferences) {
  for (const OperationCase& c : cases()) expect_oracle(c, DType::f32);
}

TEST_P(Operations, AgreeInBf16) {
  for (const OperationCase& c : cases()) expect_oracle(c, DType::bf16);
}

TEST_P(OperationsInShards, AgreeWithTheOracleAndFiniteDifferences) {
  for (const OperationCase& c : cases())
    for (const DType compute : {DType::f32, DType::bf16}) expect_oracle(c, compute, kShards);
}

TEST_P(Operations, ComputeOnlyTheGradientsOfTrainedParameters) {
  for (const OperationCase& c : cases()) {
    const Tape tape = c.tape();
    for (const std::int64_t shards : ways_to_divide()) {
      NetworkBench bench(stream(), tape, kBatch, DType::f32, shards,
                         {{.match = "*", .lr_scale = 1}});
      const Doubles outputs = bench.outputs(PassMode::train);
      std::map<std::string, Doubles> full = bench.gradients();
      std::set<std::string> names;
      for (const auto& [name, gradient] : full) names.insert(name);
      full["outputs"] = outputs;
      for (const Rules& rules : ways_to_freeze(names)) {
        SCOPED_TRACE(c.name + ": " + rules[1].match + (*rules[1].frozen ? " frozen" : " trained"));
        expect_pruned(c, rules, shards, full);
      }
    }
  }
}

TEST_P(Operations, AreRecomputedWithEqualBits) {
  for (const OperationCase& c : cases())
    for (const DType compute : {DType::f32, DType::bf16})
      for (const std::int64_t shards : ways_to_divide()) {
        SCOPED_TRACE(c.name + " in " + std::string(to_string(compute)));
        const Tape tape = c.tape_of_blocks();
        EXPECT_EQ(NetworkBench(stream(), tape, kBatch, compute, shards, {}, 1).trained(),
                  NetworkBench(stream(), tape, kBatch, compute, shards).trained());
      }
}

// Only the network and the batch determine the shards and the order of their sums.
TEST(ShardedNetwork, HasEqualBitsForAnyNumberOfThreads) {
  for (const OperationCase& c : cases()) {
    SCOPED_TRACE(c.name);
    const Tape tape = c.tape();
    const auto run = [&](int threads) {
      Stream stream(Device::cpu(), threads);
      return NetworkBench(stream, tape, 13, DType::f32, 5).trained();
    };
    const auto alone = run(1);
    EXPECT_GT(alone.size(), 2u);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(run(threads), alone) << threads;
  }
}

// A new kind of operation fails this test until it is in the table.
TEST(OperationTable, ListsEveryOperation) {
  std::vector<bool> seen(std::variant_size_v<Operation>, false);
  seen[Operation(AsOutput{}).index()] =
      true;  // for evaluations only; features.test.cpp compares it
  for (const OperationCase& c : cases()) {
    const Tape tape = c.tape();
    for (const Node& node : tape.nodes()) seen[node.operation.index()] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

// A NaN among the samples must reach the outputs, whichever library applies the ReLU.
TEST_P(Operations, PassNaNsThrough) {
  for (const OperationCase& c : cases()) {
    if (c.input.globals > 0) continue;  // items after a set's count are not read
    SCOPED_TRACE(c.name);
    const Tape tape = c.tape();
    NetworkBench bench(stream(), tape, kBatch);
    std::vector<float> x(static_cast<std::size_t>(kBatch * c.input.elements()), std::nanf(""));
    bench.set_input(x);
    for (const double output : bench.outputs(PassMode::train)) EXPECT_TRUE(std::isnan(output));
  }
}

WS_ON_EVERY_BACKEND(Operations);
INSTANTIATE_TEST_SUITE_P(Host, OperationsInShards, ::testing::Values(Backend::cpu),
                         ops::test::backend_name);

}  // namespace
}  // namespace wellspring::test
