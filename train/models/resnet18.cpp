// Residual network with 18 layers and batch normalisation. Parameters and buffers have the same
// names and, in files, the same shapes as in the resnet18 of torchvision and timm (the two agree),
// so that weights can be exchanged without a table of names.
#include "train/models/model.h"

#include <fmt/format.h>

#include <string>

namespace wellspring {
namespace {

enum class Stem : std::uint8_t { imagenet, cifar };

struct Resnet18 {
  static constexpr const char* kName = "resnet18";
  static constexpr const char* kSummary =
      "residual network with 18 layers and batch normalisation, with weights named as in "
      "torchvision and timm";
  static constexpr const char* kReference =
      "He et al. 2016, table 1 and figure 2; Ioffe & Szegedy "
      "2015";
  static SampleLayout example() { return SampleLayout::image(224, 224, 3); }

  Stem stem = Stem::imagenet;
  bool zero_init_residual = false;

  static const ParamTable<Resnet18>& table() {
    static const auto table =
        ParamTable<Resnet18>("model resnet18")
            .choice(
                "stem", &Resnet18::stem, {{"imagenet", Stem::imagenet}, {"cifar", Stem::cifar}},
                "imagenet: 7x7 convolution and 3x3 pooling, which divide height and width by 4; "
                "cifar: 3x3 convolution, for images of about 32 pixels",
                "He et al. 2016, table 1 and section 4.2")
            .flag("zero_init_residual", &Resnet18::zero_init_residual,
                  "initialise the weights of each block's last normalisation to 0",
                  "Goyal et al. 2017, section 5.1");
    return table;
  }

  void check() const {}

  void record(Tape& tape) const {
    const bool large = stem == Stem::imagenet;
    Tensor x = tape.conv(tape.input(), "conv1",
                         {.channels = 64,
                          .kernel = large ? 7 : 3,
                          .stride = large ? 2 : 1,
                          .bias = false,
                          .weight = kInit});
    x = tape.relu(tape.batch_norm(x, "bn1"));
    if (large) x = tape.max_pool(x, {.window = 3, .stride = 2, .padding = 1});
    for (int stage = 1; stage <= 4; ++stage)
      for (int i = 0; i < 2; ++i)
        x = block(tape, x, fmt::format("layer{}.{}", stage, i), 32 << stage,
                  stage > 1 && i == 0 ? 2 : 1);
    tape.head(tape.global_mean(x), "fc");
  }

 private:
  static constexpr Init kInit = Init::he_normal;  ///< weights of all convolutions; He et al. 2015

  Tensor block(Tape& tape, Tensor x, const std::string& name, int channels, int stride) const {
    Tensor y = tape.conv(x, name + ".conv1",
                         {.channels = channels, .stride = stride, .bias = false, .weight = kInit});
    y = tape.relu(tape.batch_norm(y, name + ".bn1"));
    y = tape.conv(y, name + ".conv2", {.channels = channels, .bias = false, .weight = kInit});
    y = tape.batch_norm(y, name + ".bn2",
                        {.weight = zero_init_residual ? Init::zeros : Init::ones});
    if (stride != 1 || channels != x.shape.channels) {
      x = tape.conv(
          x, name + ".downsample.0",
          {.channels = channels, .kernel = 1, .stride = stride, .bias = false, .weight = kInit});
      x = tape.batch_norm(x, name + ".downsample.1");
    }
    return tape.relu(tape.add(y, x));
  }
};

}  // namespace

ModelEntry resnet18_entry() {
  return ModelOf<Resnet18>::entry();
}

}  // namespace wellspring
