// Whole networks: gradients compared with finite differences, and overfitting of a batch.
#include "kernels/batch/batch_columns.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/end_step.h"
#include "tests/train/network/reference.h"
#include "tests/train/training_testing.h"
#include "train/heads/head_losses.h"
#include "train/models/model.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"
#include "train/step/supervised_task.h"

#include <fmt/format.h>

#include <cmath>

namespace wellspring {
namespace {

constexpr std::int64_t kBatch = 6;
constexpr SampleShape kShape{8, 8, 2};
constexpr std::int32_t kClasses[] = {3, 2};

struct NetworkCase {
  std::string name;
  std::string model;  ///< YAML of the model section
};
void PrintTo(const NetworkCase& network, std::ostream* out) {
  *out << network.name;
}

/// Sources a and b with separate labels and four common latents.
std::vector<SourceTruth> two_sources() {
  const std::vector<HeadTarget> latents = {
      {"x", "", 0, 1}, {"y", "", 0, 1}, {"u", "", 0, 1}, {"v", "", 0, 1}};
  return {{"a", "a", "a", {"0", "1", "2"}, latents, {}, 1},
          {"b", "b", "b", {"0", "1"}, latents, {}, 0.5f}};
}

HeadConfig head(const std::string& name, LossKind loss, std::vector<std::string> targets = {}) {
  HeadConfig config;
  config.name = name;
  config.loss = loss;
  config.targets = std::move(targets);
  config.label_smoothing = loss == LossKind::class_label ? 0.1 : 0;
  return config;
}

/// A task with one fixed batch of two sources.
class Bench {
 public:
  explicit Bench(const std::string& model,
                 std::vector<HeadConfig> heads = {head("a", LossKind::class_label),
                                                  head("b", LossKind::class_label)})
      : config_(RunConfig::parse(fmt::format(R"(
device: cpu
data: {{size: 8, sources: [{{name: a, kind: generator, generator: shapes}}]}}
model: {}
optimizer: {{kind: adamw, lr: 0.01, weight_decay: 0}}
train: {{batch: {}, steps: 200, clip: 0}}
)",
                                             model, kBatch),
                                 "bench.yaml")),
        stream_(Device::cpu(), 1),
        memory_(Device::cpu()),
        task_(config_, stream_, memory_, DType::f32, input(heads)),
        losses_(task_.heads(), feed_heads(task_.heads(), heads, two_sources()), 2,
                Share::whole(kBatch), DType::f32, HeadLosses::Mode::train, memory_, "losses") {
    batch_.plan(memory_, "data", kBatch, task_.layout(), DType::f32);
    slots_ = memory_.reserve<Slot>("data", "slots", kBatch);
    state_ = memory_.reserve<StepState>("data", "state", 1);
    memory_.commit();
    losses_.load(stream_);
    task_.parameters().initialise(stream_, 5);
    fill();
  }

  double loss() {
    const BatchView batch = batch_.view();
    task_.forward({stream_, batch, slots_.data(), state_.data()});
    losses_.enqueue(stream_, batch, slots_.data(), task_.outputs(), task_.output_gradient());
    const ops::Measures measures = losses_.measures();
    double sum = 0;
    for (std::int64_t i = 0; i < measures.losses * kBatch; ++i) sum += measures.values[i];
    return sum / kBatch;
  }
  void backward() {
    loss();
    const BatchView batch = batch_.view();
    task_.backward({stream_, batch, slots_.data(), state_.data()});
  }
  void train_step() {
    ops::begin_step(stream_, {.peak = 0.01f, .floor = 0, .warmup = 0, .total = 100000},
                    state_.data());
    backward();
    task_.optimize(stream_, state_.data());
    end_step(stream_, state_.data());
  }
  /// Number of samples that their own head classifies correctly.
  int correct() {
    const ops::Measures measures = losses_.measures();
    float sum = 0;
    for (std::int64_t i = measures.losses * kBatch; i < measures.count * kBatch; ++i)
      sum += measures.values[i];
    return static_cast<int>(sum);
  }
  const float* gradient(const ParameterTensor& tensor) const {
    const ops::ParameterView view = task_.parameters().view();
    if (tensor.layout != TensorLayout::vector)
      return static_cast<const float*>(view.matrix_gradient) + tensor.offset;
    return view.vector_gradient + (tensor.offset - view.matrices);
  }
  ParameterArena& parameters() { return task_.parameters(); }
  BatchView batch() { return batch_.view(); }
  /// The recorded network.
  Tape tape() const {
    int outputs = 0;
    for (const HeadSpec& head : task_.heads()) outputs += head.outputs();
    return make_model(config_.model.name, config_.model.params)->record(task_.layout(), outputs);
  }
  test::ReferenceInput reference() {
    test::ReferenceInput input;
    input.batch = kBatch;
    const auto* x = static_cast<const float*>(batch_.view().x);
    input.x.assign(x, x + kBatch * kShape.elements());
    for (const ParameterTensor& tensor : parameters().tensors()) {
      const float* values = parameters().master() + tensor.offset;
      input.tensors[tensor.name].assign(values, values + tensor.elements());
    }
    return input;
  }

 private:
  static SupervisedTask::Input input(const std::vector<HeadConfig>& heads) {
    SampleLayout layout = SampleLayout::image(kShape);
    layout.latents = 4;
    return {layout, make_heads(heads, two_sources())};
  }
  void fill() {
    const BatchView batch = batch_.view();
    RngStream draw(SampleRng{11, 0}, Purpose::noise);
    auto* x = static_cast<float*>(batch.x);
    for (std::int64_t i = 0; i < kBatch * kShape.elements(); ++i) x[i] = draw.uniform(-1, 1);
    for (std::int64_t i = 0; i < kBatch; ++i) {
      const auto source = static_cast<std::uint32_t>(i % 2);
      const auto row = static_cast<std::uint32_t>(i);
      slots_.data()[i] = {row, row, source, row};
      batch.label[i] = static_cast<std::int32_t>(i) % kClasses[source];
      batch.weight[i] = 1 + 0.25f * static_cast<float>(i % 3);
      for (int k = 0; k < 4; ++k) batch.latents[4 * i + k] = draw.uniform();
    }
  }

  RunConfig config_;
  Stream stream_;
  MemoryPlan memory_;
  SupervisedTask task_;
  HeadLosses losses_;
  BatchColumns batch_;
  Planned<Slot> slots_;
  Planned<StepState> state_;
};

class Networks : public ::testing::TestWithParam<NetworkCase> {};

/// Loss of the batch in double precision, from the recorded list, with heads a and b in this order.
double oracle_loss(const Tape& tape, const test::ReferenceInput& input, const BatchView& batch) {
  constexpr double kSmoothing = 0.1, kSourceWeight[] = {1, 0.5};
  const test::Doubles outputs = test::reference_outputs(tape, input);
  double sum = 0;
  for (std::int64_t row = 0; row < kBatch; ++row) {
    const int source = static_cast<int>(row % 2), classes = kClasses[source];
    const double* const z = outputs.data() + row * tape.outputs() + (source == 0 ? 0 : kClasses[0]);
    double exponentials = 0, mean = 0;
    for (int k = 0; k < classes; ++k) {
      exponentials += std::exp(z[k]);
      mean += z[k] / classes;
    }
    const double loss =
        std::log(exponentials) - (1 - kSmoothing) * z[batch.label[row]] - kSmoothing * mean;
    sum += double{batch.weight[row]} * kSourceWeight[source] * loss;
  }
  return sum / kBatch;
}

/// Number of roundings between a weight and its gradient: the number of terms of all sums in the
/// forward and backward pass, and in the weight's own sum over the batch.
double roundings_of(const Tape& tape) {
  double terms = 0, most_positions = 1;
  for (const Node& node : tape.nodes()) {
    const TensorShape& in = node.inputs.front().shape;
    if (const auto* conv = std::get_if<Convolution>(&node.operation))
      terms += conv->kernel * conv->kernel * in.channels;
    else if (std::holds_alternative<Dense>(node.operation))
      terms += in.channels;
    else if (const auto* norm = std::get_if<GroupNorm>(&node.operation))
      terms += 2.0 * static_cast<double>(in.elements()) / norm->groups;
    else if (std::holds_alternative<GlobalMean>(node.operation))
      terms += static_cast<double>(in.positions());
    most_positions = std::max(most_positions, static_cast<double>(in.positions()));
  }
  return 2 * terms + kBatch * most_positions;
}

// Along the gradient of a tensor, the slope of the loss is the gradient's norm. The slope is a
// central difference of the reference in double precision with h = 1e-6: its truncation, O(h^2),
// and its rounding, 2^-53 / h, are below 1e-9. In these fixed batches no argument of a ReLU or a
// maximum is within h of its kink. The remaining error is the rounding of the f32 gradient, at most
// u = 2^-24 per term of each sum on the path. (Differences of the f32 loss would be no test: a
// large h crosses kinks, such as one 2e-4 away in `residual`, and a small h divides the loss's
// rounding by h.)
TEST_P(Networks, HaveGradientsThatAgreeWithFiniteDifferences) {
  Bench bench(GetParam().model);
  bench.backward();
  const Tape tape = bench.tape();
  const double bound = roundings_of(tape) * 0x1p-24;
  const test::ReferenceInput input = bench.reference();
  for (const ParameterTensor& tensor : bench.parameters().tensors()) {
    const std::vector<double> gradient(bench.gradient(tensor),
                                       bench.gradient(tensor) + tensor.elements());
    double norm = 0;
    for (const double g : gradient) norm += g * g;
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 1e-3) << tensor.name << " has no gradient";
    const auto loss_at = [&](double step) {
      test::ReferenceInput moved = input;
      test::Doubles& weights = moved.tensors.at(tensor.name);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += step * gradient[i] / norm;
      return oracle_loss(tape, moved, bench.batch());
    };
    constexpr double kStep = 1e-6;
    const double rise = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(rise / norm, 1, bound) << tensor.name;
  }
}

TEST_P(Networks, OverfitABatch) {
  Bench bench(GetParam().model);
  const double before = bench.loss();
  for (int i = 0; i < 300; ++i) bench.train_step();
  // Label smoothing of 0.1 keeps the loss above 0, but well below half of its initial value.
  EXPECT_LT(bench.loss(), before / 2);
  EXPECT_EQ(bench.correct(), kBatch);
}

TEST_P(Networks, RepeatEveryBit) {
  Bench a(GetParam().model), b(GetParam().model);
  for (int i = 0; i < 5; ++i) {
    a.train_step();
    b.train_step();
  }
  const auto n = static_cast<std::size_t>(a.parameters().length());
  EXPECT_EQ(std::memcmp(a.parameters().master(), b.parameters().master(), n * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Networks,
    ::testing::Values(
        NetworkCase{"linear", "{name: mlp, widths: []}"},
        NetworkCase{"mlp", "{name: mlp, widths: [16, 8]}"},
        NetworkCase{"plain",
                    "{name: cnn, norm: none, widths: [8, 8], blocks: [0, 0], pool: [1, 1]}"},
        NetworkCase{"unpooled",
                    "{name: cnn, norm: none, widths: [8, 8], blocks: [0, 0], pool: [0, 0]}"},
        NetworkCase{"normalised",
                    "{name: cnn, norm: group, group_width: 4, widths: [4, 8], blocks: [0, 0], "
                    "pool: [0, 1]}"},
        NetworkCase{"residual",
                    "{name: cnn, norm: group, group_width: 4, widths: [4, 8], blocks: [1, 2], "
                    "pool: [1, 0]}"}),
    [](const auto& network) { return network.param.name; });

TEST(Regression, LearnsLatents) {
  Bench bench("{name: mlp, widths: [32]}", {head("place", LossKind::regression, {"x", "y"})});
  const double before = bench.loss();
  for (int i = 0; i < 500; ++i) bench.train_step();
  EXPECT_LT(bench.loss(), 0.01 * before);
}

// Two heads share a batch, and each learns its samples.
TEST(Regression, LearnsNextToAClassifier) {
  Bench bench("{name: mlp, widths: [32]}",
              {head("a", LossKind::class_label), head("b", LossKind::class_label),
               head("place", LossKind::regression, {"x", "y"})});
  const double before = bench.loss();
  for (int i = 0; i < 500; ++i) bench.train_step();
  EXPECT_LT(bench.loss(), before / 2);  // label smoothing keeps it above 0
}

}  // namespace
}  // namespace wellspring
