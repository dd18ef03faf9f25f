// Ten training steps of resnet18 and vit compared with timm and PyTorch: AdamW with layer-wise decay, warm-up
// and cosine, label smoothing, clipping, and an average of the weights.
#include "kernels/ops/training.h"
#include "tests/train/network/published_training_reference.h"
#include "tests/train/network/published_weights.h"
#include "tests/train/training_testing.h"
#include "train/optimizer/learning_rate.h"
#include "train/step/step.h"
#include "train/step/supervised_task.h"

#include <algorithm>

namespace wellspring::test {
namespace {

constexpr std::int64_t kImages = 16, kSide = 32, kClasses = 10, kSteps = 10;

/// The settings of scripts/torch-weights.
RunConfig config_of(const PublishedTraining& expected) {
  std::string model = "model={name: " + expected.model;
  for (const auto& [key, value] : expected.settings) model += ", " + key + ": " + value;
  return small_run(
      "unused", {model + "}", "train.steps=10", "train.batch=16", "train.clip=1", "train.ema=0.99",
                 "optimizer={kind: adamw, lr: 0.001, weight_decay: 0.05, warmup: 0.3, "
                 "layer_decay: 0.75}"});
}

HeadSpec head() {
  HeadSpec spec;
  for (int k = 0; k < kClasses; ++k) spec.classes.push_back(std::to_string(k));
  return spec;
}

/// A network with its batch, and the nodes of a step without sources.
class PublishedRun {
 public:
  explicit PublishedRun(const PublishedTraining& expected)
      : config_(config_of(expected)),
        context_(single_rank(), config_),
        task_(config_, context_, DType::f32, {SampleLayout::image(kSide, kSide, 3), {head()}}) {
    MemoryPlan& memory = context_.memory;
    x_ = memory.reserve<float>("test", "x", kImages * kSide * kSide * 3);
    labels_ = memory.reserve<std::int32_t>("test", "labels", kImages);
    slots_ = memory.reserve<Slot>("test", "slots", kImages);
    values_ = memory.reserve<float>("test", "weights, losses, scores", 3 * kImages);
    state_ = memory.reserve<StepState>("test", "state", 1);
    line_ = memory.reserve<ops::StepMetrics>("test", "line", 1);
    sums_ =
        memory.reserve<double>("test", "sums", static_cast<std::size_t>(ops::metric_sums(1, 1)));
    memory.commit();
    task_.parameters().initialise(context_.stream, 1);
    const TemporaryFolder folder;
    write_weights(task_.parameters(), folder / "weights.safetensors");
    (void)transfer_weights({(folder / "weights.safetensors").string(), HeadInit::keep},
                           task_.heads(), task_.layout().shape(), task_.parameters(),
                           context_.stream);
    task_.parameters().begin_average(context_.stream);
    upload(slots_, std::vector<Slot>(kImages));
    upload(values_, std::vector<float>(3 * kImages, 1.0f));
    upload(state_, std::vector<StepState>(1));
  }

  /// The mean loss of a step's batch before the update.
  double step(std::int64_t number) {
    load(number);
    Stream& stream = context_.stream;
    task_.forward(pass(PassMode::train));
    const double loss = this->loss();
    task_.backward(pass(PassMode::train));
    const ops::Measures measures = {.batch = kImages,
                                    .count = 1,
                                    .losses = 1,
                                    .sources = 1,
                                    .values = values_.data() + kImages};
    task_.optimize(
        stream, learning_rate_schedule(config_),
        {measures, slots_.data(), nullptr, state_.data(), {line_.data(), sums_.data(), 1}});
    return loss;
  }

  /// The mean loss of the averaged weights on a step's batch.
  double averaged(std::int64_t number) {
    load(number);
    task_.parameters().swap_average(context_.stream);
    task_.forward(pass(PassMode::evaluate));
    const double loss = this->loss();
    task_.parameters().swap_average(context_.stream);
    return loss;
  }

  const ParameterArena& parameters() const { return task_.parameters(); }

 private:
  template <class T>
  void upload(const Planned<T>& to, const std::vector<T>& values) {
    context_.stream.copy(to.data(), values.data(), to.bytes(), CopyDirection::host_to_device,
                         "test");
    context_.stream.synchronize();
  }

  void load(std::int64_t number) {
    const std::vector<double> pixels = formula("images " + std::to_string(number), x_.size());
    upload(x_, std::vector<float>(pixels.begin(), pixels.end()));
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < kImages; ++i)
      labels.push_back(static_cast<std::int32_t>((7 * i + number) % kClasses));
    upload(labels_, labels);
    batch_.size = kImages;
    batch_.x = x_.data();
  }

  Pass pass(PassMode mode) { return {context_.stream, batch_, slots_.data(), state_.data(), mode}; }

  double loss() {
    ops::HeadSlice slice;
    slice.batch = kImages;
    slice.width = slice.outputs = kClasses;
    slice.sources = 1;
    slice.weight[0] = 1;
    float* const values = values_.data();
    ops::softmax_cross_entropy(context_.stream, slice, {task_.outputs(), slots_.data(), values},
                               labels_.data(), 0.1f,
                               {values + kImages, values + 2 * kImages, task_.output_gradient()});
    std::vector<float> losses(kImages);
    context_.stream.copy(losses.data(), values + kImages, kImages * sizeof(float),
                         CopyDirection::device_to_host, "test");
    context_.stream.synchronize();
    double sum = 0;
    for (const float row : losses) sum += row;
    return sum / static_cast<double>(kImages);
  }

  RunConfig config_;
  RunContext context_;
  SupervisedTask task_;
  Planned<float> x_, values_;
  Planned<std::int32_t> labels_;
  Planned<Slot> slots_;
  Planned<StepState> state_;
  Planned<ops::StepMetrics> line_;
  Planned<double> sums_;
  BatchView batch_;
};

// In the first step, rounding moves a loss by at most the bound in published_weights.h. The error
// then grows with the steps, because AdamW divides each gradient by its own size and a ReLU's input
// may change its sign: PyTorch's losses after changes as small as a rounding show by how much. The
// tolerance is eight times the largest change so far.
TEST(PublishedTraining, FollowsTheLossesOfPyTorch) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "tests accuracy only and is slow under sanitizers";
#endif
  for (const PublishedTraining& expected : published_training()) {
    SCOPED_TRACE(expected.model);
    PublishedRun run(expected);
    double error = bound_of(run.parameters());
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
      const bool last = i == expected.losses.size() - 1;
      const double loss = expected.losses[i];
      error = std::max(error, expected.errors[i]);
      EXPECT_NEAR(last ? run.averaged(kSteps - 1) : run.step(static_cast<std::int64_t>(i)), loss,
                  8 * error * loss)
          << (last ? "averaged weights" : "step") << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace wellspring::test
