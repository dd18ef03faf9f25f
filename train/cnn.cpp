// Small convolutional network: stages of one 3x3 convolution, optional 2x2 max pooling and
// residual blocks; global mean; one dense layer with the logits of all heads.
#include "train/model.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

enum class Norm : std::uint8_t { none, group };

struct CnnParams {
  std::vector<int> widths = {32, 64, 128};
  std::vector<int> blocks = {0, 0, 0};
  std::vector<int> pool = {1, 1, 1};
  Norm norm = Norm::group;
  std::int64_t group_width = 16;
};

const ParamTable<CnnParams>& table() {
  static const auto table =
      ParamTable<CnnParams>("model cnn")
          .integer_list("widths", &CnnParams::widths, {1, 4096}, "channels",
                        "channels of each stage, in order")
          .integer_list("blocks", &CnnParams::blocks, {0, 64}, "blocks",
                        "residual blocks that end each stage", "He et al. 2016, figure 2")
          .integer_list("pool", &CnnParams::pool, {0, 1}, "",
                        "1 where a stage halves height and width by max pooling, else 0")
          .choice("norm", &CnnParams::norm, {{"none", Norm::none}, {"group", Norm::group}},
                  "normalisation after each convolution", "Wu & He 2018")
          .integer("group_width", &CnnParams::group_width, {1, 4096}, "channels",
                   "channels of one group of the normalisation, or all of a narrower stage",
                   "16 as in Wu & He 2018, table 3");
  return table;
}

/// As the table, in whole numbers, one row a stage.
struct Stage {
  int width = 1;
  int blocks = 0;
  bool pool = false;
};

std::vector<Stage> stages_of(const CnnParams& params) {
  const std::size_t n = params.widths.size();
  if (n == 0)
    fail(ErrorKind::config, {"model cnn: widths is empty", "a network has at least one stage", ""});
  if (params.blocks.size() != n || params.pool.size() != n)
    fail(ErrorKind::config,
         {fmt::format("model cnn: widths has {} stages, blocks {} and pool {}", n,
                      params.blocks.size(), params.pool.size()),
          "each list has one entry a stage", "make the three lists equally long"});
  std::vector<Stage> stages;
  for (std::size_t i = 0; i < n; ++i) {
    stages.push_back({params.widths[i], params.blocks[i], params.pool[i] == 1});
    const Stage& stage = stages.back();
    if (params.norm == Norm::none && stage.blocks > 0)
      fail(ErrorKind::config,
           {"model cnn: blocks with norm: none", "a residual is added after a normalisation",
            "set norm: group, or blocks to zeros"});
    if (params.norm == Norm::group && stage.width > params.group_width &&
        stage.width % params.group_width != 0)
      fail(ErrorKind::config,
           {fmt::format("model cnn: a stage of {} channels does not divide into groups of {}",
                        stage.width, params.group_width),
            "every group has the same number of channels", "change widths or group_width"});
  }
  return stages;
}

int groups_of(const CnnParams& params, int width) {
  if (params.norm == Norm::none) return 0;
  return width <= params.group_width ? 1 : width / static_cast<int>(params.group_width);
}

class CnnNetwork : public Network {
 public:
  CnnNetwork(NetworkContext& context, const CnnParams& params, const SampleShape& in, int outputs)
      : context_(context) {
    SampleShape shape = in;
    const std::vector<Stage> stages = stages_of(params);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const Stage& stage = stages[i];
      const std::string name = fmt::format("stage{}", i);
      if (stage.pool && (shape.height % 2 != 0 || shape.width % 2 != 0))
        fail(ErrorKind::config,
             {fmt::format("model cnn: stage {} halves images of {}x{}", i, shape.height,
                          shape.width),
              "pooling needs even sides",
              "choose data.size with more factors of two, or fewer pooling stages"});
      ConvolutionUnit::Spec spec;
      spec.name = name + ".stem";
      spec.in = shape;
      spec.channels = stage.width;
      spec.groups = groups_of(params, stage.width);
      spec.pool = stage.pool;
      spec.input_gradient = i > 0;
      StageLayers layers{std::make_unique<ConvolutionUnit>(context, spec), {}};
      shape = layers.stem->out();
      for (int block = 0; block < stage.blocks; ++block)
        layers.blocks.push_back(std::make_unique<ResidualBlock>(
            context, fmt::format("{}.block{}", name, block), shape, spec.groups));
      stages_.push_back(std::move(layers));
    }
    mean_.batch = context.batch;
    mean_.height = shape.height;
    mean_.width = shape.width;
    mean_.channels = shape.channels;
    mean_.compute = context.compute;
    features_ = context.reserve_activation("global mean", {1, 1, shape.channels});
    feature_gradient_ =
        context.reserve_activation("gradient of the global mean", {1, 1, shape.channels});
    logits_gradient_ = context.reserve_activation("gradient of the logits", {1, 1, outputs});
    DenseUnit::Spec head;
    head.name = kHeadName;
    head.in = shape.channels;
    head.out = outputs;
    head_ = std::make_unique<DenseUnit>(context, head);
    context.reserve_shared();
  }

  void forward(Stream& stream, const void* x) override {
    for (StageLayers& stage : stages_) {
      stage.stem->forward(stream, x);
      x = stage.stem->output();
      for (auto& block : stage.blocks) {
        block->forward(stream, x);
        x = block->output();
      }
    }
    ops::global_mean_forward(stream, mean_, x, features_.data());
    head_->forward(stream, features_.data());
  }

  const float* logits() const override { return static_cast<const float*>(head_->output()); }
  void* logits_gradient() const override { return logits_gradient_.data(); }

  void backward(Stream& stream, const void* x) override {
    context_.gradients.reset();
    head_->backward(stream, features_.data(), logits_gradient_.data(), feature_gradient_.data());
    void* dy = context_.gradients.take();
    ops::global_mean_backward(stream, mean_, feature_gradient_.data(), dy);
    for (std::size_t i = stages_.size(); i-- > 0;) {
      StageLayers& stage = stages_[i];
      for (std::size_t b = stage.blocks.size(); b-- > 0;) {
        const void* input = b == 0 ? stage.stem->output() : stage.blocks[b - 1]->output();
        dy = stage.blocks[b]->backward(stream, input, dy);
      }
      dy = stage.stem->backward(stream, i == 0 ? x : output_of(stages_[i - 1]), dy);
    }
  }

 private:
  struct StageLayers {
    std::unique_ptr<ConvolutionUnit> stem;
    std::vector<std::unique_ptr<ResidualBlock>> blocks;
  };
  static const void* output_of(const StageLayers& stage) {
    return stage.blocks.empty() ? stage.stem->output() : stage.blocks.back()->output();
  }

  NetworkContext& context_;
  std::vector<StageLayers> stages_;
  ops::PoolSpec mean_;
  std::unique_ptr<DenseUnit> head_;
  Planned<std::byte> features_, feature_gradient_, logits_gradient_;
};

class Cnn : public Model {
 public:
  explicit Cnn(const std::vector<ParamSetting>& settings) : params_(table().read(settings)) {
    stages_of(params_);
  }
  const std::string& name() const override { return name_; }
  std::string parameters_yaml() const override { return table().to_yaml(params_); }
  std::unique_ptr<Network> plan(NetworkContext& context, const SampleShape& in,
                                int outputs) const override {
    return std::make_unique<CnnNetwork>(context, params_, in, outputs);
  }

 private:
  std::string name_ = "cnn";
  CnnParams params_;
};

}  // namespace

ModelEntry cnn_entry() {
  return {"cnn", "3x3 convolutions with group normalisation, residual blocks and max pooling",
          "He et al. 2016; Wu & He 2018", table().rows(),
          [](const std::vector<ParamSetting>& settings) -> std::unique_ptr<Model> {
            return std::make_unique<Cnn>(settings);
          }};
}

}  // namespace wellspring
