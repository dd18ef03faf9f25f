// A network whose last layer runs with the loss agrees with one that runs both separately.
#include "tests/ops/operation_test.h"
#include "train/network/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace wellspring::test::output_layer {
namespace {

constexpr std::int64_t kBatch = 6;
constexpr int kClasses = 5;

Tape tape_of(bool wide) {
  Tape tape("test", SampleLayout::image(8, 8, 3), {{kSampleOutput, wide ? 65 : kClasses}});
  Tensor x = tape.max_pool(tape.conv(tape.input(), "conv", {.channels = 8}));
  x = tape.relu(tape.group_norm(tape.relu(x), "norm", {.groups = 2}));
  tape.head(tape.relu(tape.dense(tape.global_mean(x), "dense", {.width = 16})), "head");
  return tape;
}

struct StepResult {
  bool fused = false;
  std::vector<float> outputs;
  std::map<std::string, std::vector<float>> gradients;  ///< by name of the trained parameter
};

class OutputLayerOfNetwork : public ops::test::OperationTest {
 protected:
  template <class T>
  StepResult step(bool fuse, const std::vector<ParameterRule>& rules = {}, bool wide = false) {
    const Tape tape = tape_of(wide);
    MemoryPlan memory(stream().device());
    Network network(tape,
                    {.batch = kBatch,
                     .compute = DTypeOf<T>::value,
                     .loss_in_output_layer = fuse,
                     .shards = NetworkSpec::kWholeBatch,
                     .rules = rules},
                    stream(), memory);
    network.parameters().plan(memory, DTypeOf<T>::value, {});
    memory.commit();
    network.parameters().initialise(stream(), 3);
    const auto x = this->buffer(ops::test::random_values<T>(kBatch * 8 * 8 * 3, 1));
    const auto slots = this->buffer(std::vector<Slot>(kBatch));
    const auto weights = this->buffer(std::vector<float>(kBatch, 1.0f));
    const auto loss = this->template buffer<float>(kBatch),
               score = this->template buffer<float>(kBatch);
    const auto labels = this->buffer(std::vector<std::int32_t>{0, 1, 2, 3, 4, 0});
    const auto state = this->buffer(std::vector<StepState>(1));
    BatchView batch{};
    batch.size = kBatch;
    batch.x = x.data();
    const Pass pass{stream(), batch, slots, state, PassMode::train};
    network.forward(pass);
    ops::HeadSlice head;
    head.batch = kBatch;
    head.width = head.outputs = tape.outputs();
    head.gradient = DTypeOf<T>::value;
    head.sources = 1;
    head.weight[0] = 1;
    const ops::LossInput in{network.outputs(), slots, weights};
    const ops::LossResult out{loss, score, network.output_gradient()};
    const auto layer = network.output_layer();
    if (layer)
      ops::output_layer_loss(stream(), head, *layer, in, labels, 0.1f, out);
    else
      ops::softmax_cross_entropy(stream(), head, in, labels, 0.1f, out);
    network.backward(pass);
    StepResult result{layer.has_value(), read(network.outputs(), kBatch * tape.outputs()), {}};
    const ParameterArena& arena = network.parameters();
    for (std::size_t k = 0; k < arena.tensors().size(); ++k) {
      const ParameterTensor& tensor = arena.tensors()[k];
      if (!tensor.trained()) continue;
      const ParameterId id{static_cast<int>(k)};
      result.gradients[tensor.name] =
          tensor.layout == TensorLayout::vector
              ? read(static_cast<const float*>(arena.gradient(id)), tensor.elements())
              : read(static_cast<const T*>(arena.gradient(id)), tensor.elements());
    }
    return result;
  }

  template <class T>
  std::vector<float> read(const T* from, std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    stream().copy(values.data(), from, values.size() * sizeof(T), CopyDirection::device_to_host,
                  "test");
    stream().synchronize();
    return {values.begin(), values.end()};
  }
};

/// Sums of 16 terms and their gradients have at most 64 rounding errors, which a norm magnifies up
/// to fourfold. In bf16, each operation can round a value the other way.
double bound(DType compute) {
  return compute == DType::f32 ? 4 * 64 * 0x1p-24 : 8 * ops::test::rounding(compute);
}

void expect_close(const StepResult& fused, const StepResult& apart, DType compute) {
  const auto compare = [&](const std::vector<float>& got, const std::vector<float>& expected,
                           const std::string& what) {
    const ops::test::Doubles wanted = ops::test::in_double(expected);
    ops::test::expect_within(
        got, wanted, bound(compute) * std::max(0.1, ops::test::largest_magnitude(wanted)), what);
  };
  compare(fused.outputs, apart.outputs, "outputs");
  ASSERT_EQ(fused.gradients.size(), apart.gradients.size());
  for (const auto& [name, gradient] : apart.gradients) {
    EXPECT_GT(ops::test::largest_magnitude(ops::test::in_double(gradient)), 0) << name;
    compare(fused.gradients.at(name), gradient, name);
  }
}

TEST_P(OutputLayerOfNetwork, AgreesWithThePasses) {
  const std::vector<std::vector<ParameterRule>> all = {{},
                                                       {{.match = "head.*", .frozen = true}},
                                                       {{.match = "head.bias", .frozen = true}},
                                                       {{.match = "head.weight", .frozen = true}}};
  for (const std::vector<ParameterRule>& rules : all) {
    SCOPED_TRACE(rules.empty() ? "all trained" : rules[0].match);
    const StepResult fused = step<float>(true, rules);
    EXPECT_TRUE(fused.fused);
    expect_close(fused, step<float>(false, rules), DType::f32);
    expect_close(step<bf16>(true, rules), step<bf16>(false, rules), DType::bf16);
  }
}

TEST_P(OutputLayerOfNetwork, IsPartOfThePassesIfItIsWide) {
  const StepResult wide = step<float>(true, {}, true);
  EXPECT_FALSE(wide.fused);
  EXPECT_EQ(wide.outputs, step<float>(false, {}, true).outputs);
}

WS_ON_EVERY_BACKEND(OutputLayerOfNetwork);

}  // namespace
}  // namespace wellspring::test::output_layer
