// Multilayer perceptron: dense layers with ReLU between.
#include "train/model.h"

#include <fmt/format.h>

#include <cmath>

namespace wellspring {
namespace {

struct MlpParams {
  std::vector<int> widths = {64, 64};
};

const ParamTable<MlpParams>& table() {
  static const auto table =
      ParamTable<MlpParams>("model mlp")
          .integer_list("widths", &MlpParams::widths, {1, 65536}, "values",
                        "values of each hidden layer, in order; empty: a linear model");
  return table;
}

class MlpNetwork : public Network {
 public:
  MlpNetwork(NetworkContext& context, const MlpParams& params, const SampleShape& in, int outputs)
      : context_(context) {
    int width = static_cast<int>(in.elements());
    for (std::size_t i = 0; i < params.widths.size(); ++i) {
      DenseUnit::Spec spec;
      spec.name = fmt::format("layer{}", i);
      spec.in = width;
      spec.out = params.widths[i];
      spec.activation = ops::Activation::relu;
      spec.output = context.compute;
      spec.input_gradient = i > 0;
      layers_.emplace_back(context, spec);
      width = spec.out;
      context.gradients.require(context.activation_bytes({1, 1, width}));
    }
    DenseUnit::Spec head;
    head.name = kHeadName;
    head.in = width;
    head.out = outputs;
    head.input_gradient = !layers_.empty();
    layers_.emplace_back(context, head);
    logits_gradient_ = context.reserve_activation("gradient of the logits", {1, 1, outputs});
    context.reserve_shared();
  }

  void forward(Stream& stream, const void* x) override {
    for (DenseUnit& layer : layers_) {
      layer.forward(stream, x);
      x = layer.output();
    }
  }

  const float* logits() const override {
    return static_cast<const float*>(layers_.back().output());
  }

  void* logits_gradient() const override { return logits_gradient_.data(); }

  void backward(Stream& stream, const void* x) override {
    context_.gradients.reset();
    void* dy = logits_gradient_.data();
    for (std::size_t i = layers_.size(); i-- > 0;) {
      const void* input = i == 0 ? x : layers_[i - 1].output();
      void* dx = i == 0 ? nullptr : context_.gradients.take();
      layers_[i].backward(stream, input, dy, dx);
      if (i + 1 < layers_.size()) context_.gradients.give(dy);
      dy = dx;
    }
  }

 private:
  NetworkContext& context_;
  std::vector<DenseUnit> layers_;
  Planned<std::byte> logits_gradient_;
};

class Mlp : public Model {
 public:
  explicit Mlp(const std::vector<ParamSetting>& settings) : params_(table().read(settings)) {
    for (const double width : params_.widths)
      if (width != std::floor(width))
        fail(ErrorKind::config, {fmt::format("model mlp: widths holds {}", width),
                                 "a width is a whole number of values", ""});
  }
  const std::string& name() const override { return name_; }
  std::string parameters_yaml() const override { return table().to_yaml(params_); }
  std::unique_ptr<Network> plan(NetworkContext& context, const SampleShape& in,
                                int outputs) const override {
    return std::make_unique<MlpNetwork>(context, params_, in, outputs);
  }

 private:
  std::string name_ = "mlp";
  MlpParams params_;
};

}  // namespace

ModelEntry mlp_entry() {
  return {"mlp", "dense layers with ReLU between; images are flattened", "", table().rows(),
          [](const std::vector<ParamSetting>& settings) -> std::unique_ptr<Model> {
            return std::make_unique<Mlp>(settings);
          }};
}

}  // namespace wellspring
