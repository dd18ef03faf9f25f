// Recording, fusion and reuse of memory.
#include "train/network/tape.h"

#include "core/error.h"
#include "tests/support/error_testing.h"
#include "tests/train/network/network_bench.h"
#include "train/models/model.h"
#include "train/network/fusion.h"
#include "train/network/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wellspring {
namespace {

std::vector<std::string> kinds(const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  for (const Node& node : nodes) names.push_back(node.name);
  return names;
}

template <class Recorded>
const Recorded& only(const std::vector<Node>& nodes, std::size_t i) {
  return std::get<Recorded>(nodes.at(i).operation);
}

Tape image_tape() {
  return Tape("test", SampleLayout::image(8, 8, 3), 2);
}

TEST(Fusion, MergesPoolingAndReluIntoAConvolutionInEitherOrder) {
  for (const bool relu_first : {false, true}) {
    Tape tape = image_tape();
    Tensor x = tape.conv(tape.input(), "conv", {.channels = 4});
    x = relu_first ? tape.max_pool(tape.relu(x)) : tape.relu(tape.max_pool(x));
    tape.head(x, "head");
    const std::vector<Node> nodes = fuse(tape.nodes());
    ASSERT_EQ(kinds(nodes), (std::vector<std::string>{"conv", "head"}));
    EXPECT_TRUE(only<Convolution>(nodes, 0).pool);
    EXPECT_TRUE(only<Convolution>(nodes, 0).relu);
  }
}

TEST(Fusion, MergesResidualAndReluIntoANorm) {
  Tape tape = image_tape();
  const Tensor x = tape.conv(tape.input(), "a", {.channels = 4, .bias = false});
  const Tensor y = tape.group_norm(x, "n", {.groups = 2});
  tape.head(tape.relu(tape.add(x, y)), "head");
  const std::vector<Node> nodes = fuse(tape.nodes());
  ASSERT_EQ(kinds(nodes), (std::vector<std::string>{"a", "n", "head"}));
  EXPECT_TRUE(only<GroupNorm>(nodes, 1).relu);
  ASSERT_EQ(nodes[1].inputs.size(), 2u);
  EXPECT_EQ(nodes[1].inputs[1].value, x.value);
}

TEST(Fusion, MergesAMeanIntoAGroupNorm) {
  Tape tape = image_tape();
  const Tensor x = tape.relu(tape.group_norm(tape.input(), "n", {.groups = 1}));
  tape.head(tape.relu(tape.global_mean(x)), "head");
  const std::vector<Node> nodes = fuse(tape.nodes());
  ASSERT_EQ(nodes.size(), 3u) << "the ReLU after the mean is no part of the norm";
  EXPECT_TRUE(only<GroupNorm>(nodes, 0).mean);
  EXPECT_TRUE(only<GroupNorm>(nodes, 0).relu);
}

TEST(Fusion, RemovesAMeanOfOnePixel) {
  Tape tape = image_tape();
  const Tensor x = tape.global_mean(tape.global_mean(tape.conv(tape.input(), "conv", {})));
  tape.head(x, "head");
  const std::vector<Node> nodes = fuse(tape.nodes());
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[2].inputs[0].value, nodes[1].output.value);
}

TEST(Fusion, MergesPoolingAndReluIntoAConvolutionOrANorm) {
  for (const bool relu_first : {false, true}) {
    Tape tape = image_tape();
    Tensor x = tape.conv(tape.input(), "conv", {.channels = 4});
    x = relu_first ? tape.max_pool(tape.relu(x)) : tape.relu(tape.max_pool(x));
    tape.head(tape.conv(tape.group_norm(x, "n", {.groups = 2}), "last", {}), "head");
    const auto with_convolution = fuse(tape.nodes()),
               with_norm = fuse(tape.nodes(), PoolWith::norm);
    ASSERT_EQ(kinds(with_convolution), (std::vector<std::string>{"conv", "n", "last", "head"}));
    ASSERT_EQ(kinds(with_norm), kinds(with_convolution));
    EXPECT_TRUE(only<Convolution>(with_convolution, 0).pool);
    EXPECT_FALSE(only<Convolution>(with_norm, 0).pool);
    EXPECT_FALSE(only<Convolution>(with_norm, 0).relu);
    EXPECT_TRUE(only<GroupNorm>(with_norm, 1).pool);
    EXPECT_TRUE(only<GroupNorm>(with_norm, 1).pool_relu);
    EXPECT_EQ(with_norm[1].inputs[0].value, with_norm[0].output.value);
  }
}

TEST(Fusion, MergesTheEarlierOfTwoNormsIntoTheLater) {
  Tape tape = image_tape();
  const Tensor a = tape.batch_norm(tape.input(), "a"), b = tape.batch_norm(tape.input(), "b");
  tape.head(tape.relu(tape.add(b, a)), "head");
  const std::vector<Node> nodes = fuse(tape.nodes());
  ASSERT_EQ(kinds(nodes), (std::vector<std::string>{"a", "b", "head"}));
  EXPECT_EQ(nodes[1].inputs[1].value, a.value);
}

TEST(Fusion, SkipsValuesThatAreReadTwice) {
  Tape tape = image_tape();
  const Tensor x = tape.conv(tape.input(), "conv", {.channels = 4});
  tape.head(tape.add(tape.relu(x), x), "head");
  EXPECT_EQ(fuse(tape.nodes()).size(), 4u);
}

/// The initialisation of each matrix in a network, by name.
std::map<std::string, Init> initialisations(const Tape& tape) {
  Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  const Network network(tape, {.batch = 2}, stream, memory);
  std::map<std::string, Init> result;
  for (const ParameterTensor& tensor : network.parameters().tensors())
    if (tensor.layout != TensorLayout::vector) result[tensor.name] = tensor.initial;
  return result;
}

// A value before the ReLU is fused if it is read once, but not if it is read twice.
TEST(Fusion, KeepsInitialWeights) {
  for (const bool twice : {false, true}) {
    Tape tape = image_tape();
    const auto activated = [&](Tensor x) {
      return twice ? tape.add(tape.relu(x), x) : tape.relu(x);
    };
    Tensor x = activated(tape.conv(tape.input(), "conv", {.channels = 4}));
    x = activated(tape.dense(Tape::flatten(x), "default", {.width = 5}));
    x = activated(tape.dense(x, "stated", {.width = 5, .weight = Init::he_normal}));
    tape.head(x, "head");
    const std::map<std::string, Init> expected = {{"conv.weight", Init::he_normal},
                                                  {"default.weight", Init::lecun_normal},
                                                  {"head.weight", Init::lecun_normal},
                                                  {"stated.weight", Init::he_normal}};
    EXPECT_EQ(initialisations(tape), expected) << (twice ? "not fused" : "fused");
  }
}

TEST(Liveness, SharesABlockBetweenTensorsOfDisjointLifetimes) {
  const BlockAssignment a = assign_blocks({{100, 0, 2}, {80, 3, 5}, {50, 2, 3}, {0, 0, 9}});
  EXPECT_EQ(a.block_of[0], a.block_of[1]);
  EXPECT_NE(a.block_of[0], a.block_of[2]);
  EXPECT_EQ(a.block_bytes, (std::vector<std::size_t>{100, 50}));
}

// The activations of a chain of layers are kept for the backward pass; their gradients need at most
// two more blocks.
TEST(Liveness, ReusesTheMemoryOfGradients) {
  Stream stream(Device::cpu(), 1);
  std::vector<std::size_t> blocks;
  for (const int depth : {4, 12}) {
    Tape tape("chain", SampleLayout::event(16), 16);
    Tensor x = tape.input();
    for (int i = 0; i < depth; ++i)
      x = tape.relu(tape.dense(x, "layer" + std::to_string(i), {.width = 16}));
    tape.head(x, "head");
    MemoryPlan memory(Device::cpu());
    const Network network(tape, {.batch = 2}, stream, memory);
    std::size_t n = 0;
    for (const Reservation& r : memory.reservations()) n += r.group == "activations" ? 1 : 0;
    blocks.push_back(n);
  }
  EXPECT_EQ(blocks[1] - blocks[0], 8u);  // one activation per layer, and no gradient
}

TEST(Tape, DescribesItself) {
  Tape tape = image_tape();
  const Tensor x = tape.conv(tape.input(), "stem", {.channels = 4, .stride = 2, .bias = false});
  tape.head(tape.global_mean(tape.relu(tape.group_norm(x, "norm", {.groups = 2}))), "head");
  const std::string text = describe(tape);
  test::expect_parts(
      text, {"conv        stem",
             "3x3, stride 2, padding 1, no bias, initially normal, variance 2 / inputs", "4x4x4",
             "2 groups, epsilon 1e-05", "head", "max(x, 0)"});
}

TEST(Tape, RefusesOperationsThatDoNotFit) {
  const auto expect_refused = [](const char* part, const std::function<void(Tape&)>& record) {
    Tape tape = image_tape();
    test::expect_parts(test::message_of(ErrorKind::config, [&] { record(tape); }), {part});
  };
  expect_refused("model test: convolution 'c' does not fit an image of 8x8x3", [](Tape& t) {
    t.conv(t.input(), "c", {.channels = 4, .kernel = 11, .padding = 0});
  });
  expect_refused("its window is 9x9", [](Tape& t) { t.max_pool(t.input(), {.window = 9}); });
  expect_refused("3 channels in 2 groups",
                 [](Tape& t) { t.group_norm(t.input(), "n", {.groups = 2}); });
  expect_refused("must have the same shape",
                 [](Tape& t) { t.add(t.input(), Tape::flatten(t.input())); });
  expect_refused("no global columns", [](Tape& t) { t.globals(); });
}

TEST(Tape, JoinsOutputsInTheOrderOfTheirHeads) {
  Tape tape("test", SampleLayout::image(4, 4, 3), {{"b", 2}, {kPixelOutput, 3, true}, {"a", 1}});
  EXPECT_EQ(tape.outputs(), 2 + 16 * 3 + 1);
  const Tensor x = tape.conv(tape.input(), "conv", {.channels = 4});
  tape.head(x, "first", {.output = "a"});
  tape.head(x, "unwanted", {.output = "c"});
  tape.head(x, "second", {.output = kPixelOutput});
  tape.head(x, "third", {.output = "b", .weight = Init::zeros});
  const std::vector<Node>& nodes = tape.nodes();
  ASSERT_EQ(kinds(nodes), (std::vector<std::string>{"conv", "first", "second", "third", "", ""}));
  EXPECT_EQ(nodes[4].inputs[0].value, nodes[3].output.value);
  EXPECT_EQ(nodes[4].inputs[1].value, nodes[2].output.value);
  EXPECT_EQ(nodes[5].inputs[1].value, nodes[1].output.value);
  EXPECT_EQ(nodes[5].output.shape.elements(), tape.outputs());
  EXPECT_EQ(only<Dense>(nodes, 3).weight, Init::zeros);
}

TEST(Tape, AppendsFeatures) {
  const auto record = [](const std::string& layer) {
    Tape tape = image_tape();
    Tensor x = tape.conv(tape.input(), "a.conv", {.channels = 4});
    x = tape.relu(tape.add(x, tape.group_norm(x, "a.norm", {.groups = 2})));
    const Tensor y = tape.conv(x, "b.conv", {.channels = 4});
    tape.head(tape.add(x, y), "head");
    const TensorShape shape = tape.append_features(layer);
    // Features follow the outputs of the head.
    const Node& join = tape.nodes().back();
    EXPECT_EQ(join.inputs[0].shape.channels, 2);
    EXPECT_EQ(join.inputs[1].shape.elements(), shape.elements());
    const Node& output = tape.nodes().at(tape.nodes().size() - 2);
    return layer == "head" ? join.inputs[1].value : output.inputs[0].value;
  };
  EXPECT_EQ(record("a.conv"), 1);
  EXPECT_EQ(record("a.norm"), 2);
  EXPECT_EQ(record("a"), 4) << "with the addition and the ReLU that follow";
  EXPECT_EQ(record("b"), 6) << "with the addition";
  EXPECT_EQ(record(""), 6) << "the input of the head";
  EXPECT_EQ(record("head"), 7);
  test::expect_parts(test::message_of(ErrorKind::config, [&] { record("a.con"); }),
                     {"model test: it has no layer 'a.con'", "a.conv"});
}

TEST(Tape, RefusesOutputsThatTheModelLacks) {
  Tape tape("test", SampleLayout::image(4, 4, 3), {{"sample", 2}, {kPixelOutput, 3, true}});
  tape.head(tape.input(), "head");
  test::expect_parts(test::message_of(ErrorKind::config, [&] { tape.nodes(); }),
                     {"model test: it has no output 'pixels'", "its outputs are: sample", "unet"});
  test::expect_parts(
      test::message_of(ErrorKind::config,
                       [&] { tape.head(tape.global_mean(tape.input()), "p", {kPixelOutput}); }),
      {"output 'pixels' has 3 values instead of one vector per pixel"});
}

TEST(Tape, ThrowsALogicErrorOnMisuse) {
  Tape unread = image_tape();
  unread.relu(unread.input());
  unread.head(unread.input(), "head");
  EXPECT_THROW(unread.nodes(), std::logic_error);
  Tape unshared = image_tape();
  unshared.head(unshared.dense(unshared.input(), "a", {.width = 2, .weights_of = "b"}), "head");
  Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  EXPECT_THROW(Network(unshared, {.batch = 2}, stream, memory), std::logic_error);
}

constexpr const char* kPublished[] = {"convnext", "vit"};

TEST(Models, UseHeNormalBeforeReluAndLecunNormalInTheHead) {
  for (const ModelEntry& entry : model_registry()) {
    if (std::ranges::count(kPublished, entry.name) > 0 || entry.name == "transformer" ||
        entry.name.find("resnet") != std::string::npos)
      continue;
    const Tape tape = entry.make({})->record(entry.example, 10);
    const std::string head = tape.nodes().back().name + ".weight";
    for (const auto& [name, init] : initialisations(tape))
      EXPECT_EQ(init, name == head ? Init::lecun_normal : Init::he_normal)
          << entry.name << ": " << name;
  }
}

/// The initialisation of every parameter of a planned network, by name.
std::map<std::string, Init> planned_initialisations(const std::string& model, SampleLayout layout,
                                                    std::vector<OutputSpec> outputs,
                                                    const std::vector<ParamSetting>& settings) {
  Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  Network network(make_model(model, settings)->record(layout, std::move(outputs)), {.batch = 2},
                  stream, memory);
  std::map<std::string, Init> found;
  for (const ParameterTensor& tensor : network.parameters().tensors())
    if (tensor.kind == TensorKind::parameter) found[tensor.name] = tensor.initial;
  return found;
}

/// Initialisation of a norm's parameter, or `other` if no part of `name` is a norm.
Init norm_or(const Init& other, const std::string& name, const std::vector<std::string>& norms) {
  const bool norm = std::ranges::any_of(
      norms, [&](const std::string& part) { return name.find(part) != std::string::npos; });
  if (!norm) return other;
  return name.ends_with(".weight") ? Init::ones : Init::zeros;
}

// torchvision/models/resnet.py, ResNet.__init__: kaiming_normal_(mode="fan_out") for convolutions;
// `fc` keeps torch.nn.Linear.reset_parameters, that is +-1/sqrt(inputs) for weight and bias.
TEST(Models, StartResnetsAsInTorchvision) {
  for (const auto& [model, inputs] : {std::pair{"resnet18", 512.0f}, {"resnet20", 64.0f}}) {
    for (const auto& [name, init] : planned_initialisations(model, SampleLayout::image(32, 32, 3),
                                                            {{kSampleOutput, 10}}, {})) {
      Init expected = Init::he_normal_fan_out;
      if (name == "fc.weight") expected = Init::torch_default;
      if (name == "fc.bias") expected = Init::uniform(std::sqrt(1 / inputs));
      EXPECT_EQ(init, norm_or(expected, name, {"bn", "downsample.1"})) << model << ": " << name;
    }
  }
}

// timm/models/vision_transformer.py, init_weights_vit_timm, and deit.py: 0.02 for every Linear,
// pos_embed and dist_token; 1e-6 for cls_token; the convolution keeps Conv2d.reset_parameters.
TEST(Models, StartVitAsInTimm) {
  for (const auto& [name, init] : planned_initialisations("vit", SampleLayout::image(8, 8, 3),
                                                          {{kSampleOutput, 10}, {"distilled", 10}},
                                                          {{"patch", "4", {}},
                                                           {"width", "12", {}},
                                                           {"depth", "2", {}},
                                                           {"distilled", "true", {}}})) {
    Init expected = name.ends_with(".bias") ? Init::zeros : Init::normal(0.02f);
    if (name == "cls_token") expected = Init::normal(1e-6f);
    if (name == "patch_embed.proj.weight") expected = Init::torch_default;
    if (name == "patch_embed.proj.bias") expected = Init::uniform(std::sqrt(1 / 48.0f));
    EXPECT_EQ(init, norm_or(expected, name, {"norm"})) << name;
  }
}

// timm/models/convnext.py, _init_weights: 0.02 for Conv2d and Linear, whose biases are 0.
TEST(Models, StartConvnextAsInTimm) {
  for (const auto& [name, init] : planned_initialisations(
           "convnext", SampleLayout::image(8, 8, 3), {{kSampleOutput, 10}},
           {{"widths", "[6, 12]", {}}, {"depths", "[1, 1]", {}}, {"patch", "2", {}}})) {
    Init expected = name.ends_with(".weight") ? Init::normal(0.02f) : Init::zeros;
    if (name.ends_with(".gamma")) expected = Init::constant(1e-6f);
    EXPECT_EQ(init, norm_or(expected, name, {"norm", "stem.1", "downsample.0"})) << name;
  }
}

TEST(Models, DescribeTheirExamples) {
  for (const ModelEntry& entry : model_registry()) {
    const Tape tape = entry.make({})->record(entry.example, 10);
    EXPECT_NE(describe(tape).find("head"), std::string::npos) << entry.name;
  }
}

}  // namespace
}  // namespace wellspring
