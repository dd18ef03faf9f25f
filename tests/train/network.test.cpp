// Whole networks: gradients compared with finite differences, and overfitting of a batch.
#include "kernels/batch/batch_columns.h"
#include "kernels/random/philox.h"
#include "tests/train/network/reference.h"
#include "tests/train/training_testing.h"
#include "train/heads/head_losses.h"
#include "train/models/model.h"
#include "train/optimizer/learning_rate.h"
#include "train/optimizer/parameter_view.h"
#include "train/step/supervised_task.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace wellspring {
namespace {

constexpr std::int64_t kBatch = 6;
constexpr float kRate = 0.01f;
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
                                                  head("b", LossKind::class_label)},
                 const std::vector<std::string>& overrides = {})
      : config_(RunConfig::parse(fmt::format(R"(
device: cpu
data: {{size: 8, sources: [{{name: a, kind: generator, generator: shapes}}]}}
model: {}
optimizer: {{kind: adamw, lr: 0.01, weight_decay: 0}}
train: {{batch: {}, steps: 200, clip: 0}}
)",
                                             model, kBatch),
                                 "bench.yaml", overrides)),
        context_(single_rank(), kBatch, Device::cpu(), 1),
        task_(config_, context_, DType::f32, input(heads)),
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
    const ops::OptimizerSpec& optimizer = config_.optimizer.spec;
    const ops::Measures measures = losses_.measures();
    ops::StepMetrics line;
    std::vector<double> sums(
        static_cast<std::size_t>(ops::metric_sums(measures.count, measures.sources)));
    backward();
    task_.optimize(
        stream_,
        {.peak = kRate, .total = 100000, .beta1 = optimizer.beta1, .beta2 = optimizer.beta2},
        {measures, slots_.data(), nullptr, state_.data(), {&line, sums.data(), 1}});
  }
  /// Number of samples that their own head classifies correctly.
  int correct() {
    const ops::Measures measures = losses_.measures();
    float sum = 0;
    for (std::int64_t i = measures.losses * kBatch; i < measures.count * kBatch; ++i)
      sum += measures.values[i];
    return static_cast<int>(sum);
  }
  const StepState& state() const { return *state_.data(); }
  std::map<std::string, std::vector<float>> tensors() const {
    std::map<std::string, std::vector<float>> values;
    for (const ParameterTensor& tensor : task_.parameters().tensors()) {
      const float* begin = task_.parameters().master() + tensor.offset;
      values[tensor.name].assign(begin, begin + tensor.elements());
    }
    return values;
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
  RunContext context_;
  Stream& stream_ = context_.stream;
  MemoryPlan& memory_ = context_.memory;
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

/// Number of rounding errors between a weight and its gradient: the number of terms in all sums of
/// the forward and backward pass, and in the weight's own sum over the batch.
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
// central difference of the reference in double precision with h = 1e-6. Truncation, O(h^2), and
// rounding, 2^-53 / h, are below 1e-9. In these fixed batches no argument of a ReLU or a
// maximum is within h of its kink. The remaining error is the rounding of the f32 gradient, at most
// u = 2^-24 per term of each sum on the path. (Differences of the f32 loss would not be a valid
// test: a large h crosses kinks, such as one 2e-4 away in `residual`, and a small h divides the
// loss's rounding by h.)
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

// Two heads share a batch, and each learns its own samples.
TEST(Regression, LearnsNextToAClassifier) {
  Bench bench("{name: mlp, widths: [32]}",
              {head("a", LossKind::class_label), head("b", LossKind::class_label),
               head("place", LossKind::regression, {"x", "y"})});
  const double before = bench.loss();
  for (int i = 0; i < 500; ++i) bench.train_step();
  EXPECT_LT(bench.loss(), before / 2);  // label smoothing keeps it above 0
}

struct PolicyCase {
  std::string name, optimizer;
};
void PrintTo(const PolicyCase& policy, std::ostream* out) {
  *out << policy.name;
}

class Policies : public ::testing::TestWithParam<PolicyCase> {
 protected:
  static Bench bench(const std::string& rules, std::vector<std::string> overrides = {}) {
    overrides.push_back("optimizer=" + GetParam().optimizer);
    overrides.push_back("optimizer.parameters=" + rules);
    return Bench(
        "{name: cnn, norm: group, group_width: 4, widths: [4, 8], blocks: [1, 0], "
        "pool: [1, 0]}",
        {head("a", LossKind::class_label), head("b", LossKind::class_label),
         head("place", LossKind::regression, {"x", "y"})},
        overrides);
  }
};

// The first step by hand, in double precision: m / (1 - beta1) and v / (1 - beta2) of AdamW are the
// gradient and its square, and the velocity of SGD is the gradient. There are at most ten rounding
// errors, each below u = 2^-24 times the largest magnitude, 4.
TEST_P(Policies, SetRateAndWeightDecayPerTensor) {
  Bench bench = Policies::bench(
      "[{match: \"*\", lr_scale: 0.5}, {match: \"*.norm.*\", weight_decay: 0.25}, "
      "{match: head.*, lr_scale: 2}, {match: stage0.block0.0.conv.weight, weight_decay: 0}]");
  const auto before = bench.tensors();
  bench.train_step();
  const auto after = bench.tensors();
  for (const ParameterTensor& tensor : bench.parameters().tensors()) {
    const std::string& name = tensor.name;
    const double rate = double{kRate} * (name.starts_with("head.") ? 2 : 0.5);
    const bool norm = name.find(".norm.") != std::string::npos;
    const bool matrix = tensor.layout != TensorLayout::vector;
    const double decay = norm ? 0.25 : matrix && name != "stage0.block0.0.conv.weight" ? 0.125 : 0;
    const float* gradient = bench.gradient(tensor);
    for (std::size_t i = 0; i < before.at(name).size(); ++i) {
      const double w = before.at(name)[i], g = gradient[i];
      double expected = w;
      if (GetParam().name == "adamw") {
        expected -= rate * decay * w + rate * g / (std::abs(g) + 1e-8);
      } else {
        const double decayed = g + decay * w;
        expected -= rate * (GetParam().name == "nesterov" ? 1.5 * decayed : decayed);
      }
      ASSERT_NEAR(after.at(name)[i], expected, 10 * 4 * 0x1p-24) << name << " " << i;
    }
  }
}

// A rate of 0 gives the same bytes as freezing, but computes all gradients.
TEST_P(Policies, FreezeAsARateOfZeroDoes) {
  const std::string part = "{match: stage*, ", except = "{match: stage0.stem.*, ";
  for (const std::string ema : {"0", "0.9"}) {
    Bench frozen =
        bench("[" + part + "frozen: true}, " + except + "frozen: false}]", {"train.ema=" + ema});
    Bench still =
        bench("[" + part + "lr_scale: 0}, " + except + "lr_scale: 1}]", {"train.ema=" + ema});
    const auto before = frozen.tensors();
    for (int i = 0; i < 5; ++i) {
      frozen.train_step();
      still.train_step();
    }
    EXPECT_EQ(frozen.tensors(), still.tensors());
    const auto after = frozen.tensors();
    for (const auto& [name, values] : before)
      EXPECT_EQ(values == after.at(name),
                name.starts_with("stage") && !name.starts_with("stage0.stem."))
          << name;
    if (ema == "0") continue;
    for (const ParameterTensor& tensor : frozen.parameters().tensors()) {
      const auto position = static_cast<std::size_t>(&tensor - &frozen.parameters().tensors()[0]);
      const float* a = frozen.parameters().average() + tensor.offset;
      const float* b = still.parameters().average() + still.parameters().tensors()[position].offset;
      EXPECT_TRUE(std::equal(a, a + tensor.elements(), b)) << tensor.name;
      // The average of a trained tensor moves, but less than its weights.
      EXPECT_EQ(std::equal(a, a + tensor.elements(), before.at(tensor.name).begin()),
                !tensor.trained());
      EXPECT_EQ(std::equal(a, a + tensor.elements(), after.at(tensor.name).begin()),
                !tensor.trained());
    }
  }
}

// The norm is a sum of squares in f32 lanes: fewer than 32 rounding errors, which the root halves.
TEST_P(Policies, ClipByTheNormOfTrainedGradients) {
  Bench bench = Policies::bench("[{match: stage*, frozen: true}]", {"train.clip=0.001"});
  bench.train_step();
  double square = 0;
  for (const ParameterTensor& tensor : bench.parameters().tensors()) {
    if (!tensor.trained()) continue;
    const float* gradient = bench.gradient(tensor);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      square += double{gradient[i]} * double{gradient[i]};
  }
  const double norm = std::sqrt(square);
  EXPECT_NEAR(bench.state().gradient_norm / norm, 1, 16 * 0x1p-24);
  EXPECT_NEAR(bench.state().gradient_scale * norm / 0.001, 1, 32 * 0x1p-24);
}

INSTANTIATE_TEST_SUITE_P(
    Each, Policies,
    ::testing::Values(PolicyCase{"sgd", "{kind: sgd, momentum: 0, weight_decay: 0.125}"},
                      PolicyCase{"momentum", "{kind: sgd, momentum: 0.5, weight_decay: 0.125}"},
                      PolicyCase{"nesterov",
                                 "{kind: sgd, momentum: 0.5, nesterov: true, weight_decay: 0.125}"},
                      PolicyCase{"adamw", "{kind: adamw, weight_decay: 0.125}"}),
    [](const auto& policy) { return policy.param.name; });

}  // namespace
}  // namespace wellspring
