// Whole networks: gradients against finite differences, and learning a batch by heart.
#include "kernels/batch/batch_columns.h"
#include "kernels/random/philox.h"
#include "tests/train/training_testing.h"
#include "train/heads/head_losses.h"
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

/// Sources a and b: labels of their own, and four latents that both have.
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
    ops::end_step(stream_, state_.data());
  }
  /// Samples that their own head names rightly.
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
      slots_.data()[i] = {static_cast<std::uint64_t>(i), 0, source, static_cast<std::uint32_t>(i)};
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

// Along the gradient of each tensor the loss must rise by its norm. Central differences over h are
// off by O(h) where a ReLU or a maximum switches between the two points, and by a few float
// epsilons of the loss divided by h from its evaluation. Between the two there is an h at which
// both are below 1 % of the slope; a gradient that is wrong by more fits at no h.
TEST_P(Networks, GradientsAreThoseOfFiniteDifferences) {
  Bench bench(GetParam().model);
  bench.backward();
  std::vector<std::vector<float>> gradients;
  for (const ParameterTensor& tensor : bench.parameters().tensors())
    gradients.emplace_back(bench.gradient(tensor), bench.gradient(tensor) + tensor.elements());
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    const ParameterTensor& tensor = bench.parameters().tensors()[t];
    double norm = 0;
    for (const float g : gradients[t]) norm += double{g} * g;
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 1e-3) << tensor.name << " learns nothing";
    float* weights = bench.parameters().master() + tensor.offset;
    const std::vector<float> kept(weights, weights + tensor.elements());
    const auto loss_at = [&](double step) {
      for (std::size_t i = 0; i < kept.size(); ++i)
        weights[i] = static_cast<float>(kept[i] + step * gradients[t][i] / norm);
      return bench.loss();
    };
    double best = 1;
    for (const double h : {8e-3, 4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4})
      best = std::min(best, std::abs((loss_at(h) - loss_at(-h)) / (2 * h) / norm - 1));
    EXPECT_LT(best, 0.01) << tensor.name;
    std::copy(kept.begin(), kept.end(), weights);
  }
}

TEST_P(Networks, LearnABatchByHeart) {
  Bench bench(GetParam().model);
  const double before = bench.loss();
  for (int i = 0; i < 300; ++i) bench.train_step();
  // Label smoothing of 0.1 keeps the loss above 0; a third of the start is well above its floor.
  EXPECT_LT(bench.loss(), before / 2);
  EXPECT_EQ(bench.correct(), kBatch);
}

TEST_P(Networks, EqualBitsTwice) {
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

// A batch that two heads share: each learns its part.
TEST(Regression, LearnsBesideAClassifier) {
  Bench bench("{name: mlp, widths: [32]}",
              {head("a", LossKind::class_label), head("b", LossKind::class_label),
               head("place", LossKind::regression, {"x", "y"})});
  const double before = bench.loss();
  for (int i = 0; i < 500; ++i) bench.train_step();
  EXPECT_LT(bench.loss(), before / 2);  // label smoothing keeps it above 0
}

}  // namespace
}  // namespace wellspring
