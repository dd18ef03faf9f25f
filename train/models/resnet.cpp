// Residual networks with batch normalisation. Parameters and buffers have the same names and, in
// files, the same shapes as in torchvision and timm (the two agree), so that weights can be
// exchanged without a table of names.
#include "train/models/model.h"

#include <fmt/format.h>

#include <string>

namespace wellspring {
namespace {

enum class Stem : std::uint8_t { imagenet, cifar };

/// Weights of all convolutions, and the output layer with its bias, as in torchvision's resnet.py.
constexpr Init kInit = Init::he_normal_fan_out, kHeadInit = Init::torch_default;

/// One network of the family.
struct Variant {
  const char *name, *summary, *reference;
  int blocks[4];    ///< per stage; 0: the stage does not exist
  int channels;     ///< as published; the parameter `channels` can replace them
  bool bottleneck;  ///< 1x1, 3x3, 1x1 convolutions instead of two 3x3 ones
  int inner = 1;    ///< (bottleneck) channel factor of the 3x3 convolution
  int expansion() const { return bottleneck ? 4 : 1; }
};

Tensor conv_norm(Tape& tape, Tensor x, const std::string& conv, const std::string& norm,
                 ConvOptions options, Init scale = Init::ones) {
  options.bias = false;
  options.weight = kInit;
  return tape.batch_norm(tape.conv(x, conv, options), norm, {.weight = scale});
}

/// y = relu(branch(x) + shortcut(x)); He et al. 2016, figure 5.
Tensor block(Tape& tape, Tensor x, const std::string& name, const Variant& variant, int channels,
             int stride, Init last_scale) {
  const int out = channels * variant.expansion();
  Tensor y = x;
  if (variant.bottleneck) {
    const int inner = channels * variant.inner;
    y = conv_norm(tape, y, name + ".conv1", name + ".bn1", {.channels = inner, .kernel = 1});
    y = conv_norm(tape, tape.relu(y), name + ".conv2", name + ".bn2",
                  {.channels = inner, .stride = stride});
    y = conv_norm(tape, tape.relu(y), name + ".conv3", name + ".bn3",
                  {.channels = out, .kernel = 1}, last_scale);
  } else {
    y = conv_norm(tape, y, name + ".conv1", name + ".bn1", {.channels = out, .stride = stride});
    y = conv_norm(tape, tape.relu(y), name + ".conv2", name + ".bn2", {.channels = out},
                  last_scale);
  }
  if (stride != 1 || out != x.shape.channels)
    x = conv_norm(tape, x, name + ".downsample.0", name + ".downsample.1",
                  {.channels = out, .kernel = 1, .stride = stride});
  return tape.relu(tape.add(y, x));
}

void record_stages(Tape& tape, Tensor x, const Variant& variant, int channels,
                   bool zero_init_residual) {
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < variant.blocks[stage]; ++i) {
      tape.begin_block();
      x = block(tape, x, fmt::format("layer{}.{}", stage + 1, i), variant, channels << stage,
                stage > 0 && i == 0 ? 2 : 1, zero_init_residual ? Init::zeros : Init::ones);
    }
  tape.begin_block();
  if (tape.wants(kSampleOutput)) tape.head(tape.global_mean(x), "fc", {.weight = kHeadInit});
  tape.head(x, "decoder", {.output = kPatchOutput, .weight = kHeadInit});
}

constexpr Bounds kChannels = {1, 1024};
constexpr const char* kChannelsHelp =
    "channels of the first stage, before a bottleneck's factor of 4; each further stage doubles "
    "them";

template <const Variant& kVariant>
struct Resnet {
  static constexpr const char *kName = kVariant.name, *kSummary = kVariant.summary,
                              *kReference = kVariant.reference;
  static SampleLayout example() { return SampleLayout::image(224, 224, 3); }

  Stem stem = Stem::imagenet;
  int channels = kVariant.channels;
  bool zero_init_residual = false;

  static const ParamTable<Resnet>& table() {
    static const auto table =
        ParamTable<Resnet>(std::string("model ") + kName)
            .choice(
                "stem", &Resnet::stem, {{"imagenet", Stem::imagenet}, {"cifar", Stem::cifar}},
                "imagenet: 7x7 convolution and 3x3 pooling, which divide height and width by 4; "
                "cifar: 3x3 convolution, for images of about 32 pixels",
                "He et al. 2016, table 1 and section 4.2")
            .integer("channels", &Resnet::channels, kChannels, "channels", kChannelsHelp)
            .flag("zero_init_residual", &Resnet::zero_init_residual,
                  "initialise the weights of each block's last normalisation to 0",
                  "Goyal et al. 2017, section 5.1");
    return table;
  }

  void check() const {}

  void record(Tape& tape) const {
    const bool large = stem == Stem::imagenet;
    Tensor x = conv_norm(tape, tape.input(), "conv1", "bn1",
                         {.channels = channels, .kernel = large ? 7 : 3, .stride = large ? 2 : 1});
    x = tape.relu(x);
    if (large) x = tape.max_pool(x, {.window = 3, .stride = 2, .padding = 1});
    record_stages(tape, x, kVariant, channels, zero_init_residual);
  }
};

/// The networks for small images: three stages after a 3x3 convolution.
template <const Variant& kVariant>
struct SmallResnet {
  static constexpr const char *kName = kVariant.name, *kSummary = kVariant.summary,
                              *kReference = kVariant.reference;
  static SampleLayout example() { return SampleLayout::image(32, 32, 3); }

  int channels = kVariant.channels;
  bool zero_init_residual = false;

  static const ParamTable<SmallResnet>& table() {
    static const auto table =
        ParamTable<SmallResnet>(std::string("model ") + kName)
            .integer("channels", &SmallResnet::channels, kChannels, "channels", kChannelsHelp)
            .flag("zero_init_residual", &SmallResnet::zero_init_residual,
                  "initialise the weights of each block's last normalisation to 0",
                  "Goyal et al. 2017, section 5.1");
    return table;
  }

  void check() const {}

  void record(Tape& tape) const {
    const Tensor x = conv_norm(tape, tape.input(), "conv1", "bn1", {.channels = channels});
    record_stages(tape, tape.relu(x), kVariant, channels, zero_init_residual);
  }
};

constexpr const char* kHe = "He et al. 2016, table 1 and figure 5; Ioffe & Szegedy 2015";
constexpr const char* kHeSmall =
    "He et al. 2016, section 4.2, with projections (option B) as shortcuts between stages";

constexpr Variant kResnet18 = {
    "resnet18",
    "residual network with 18 layers and batch normalisation, with weights named as in torchvision "
    "and timm",
    kHe,
    {2, 2, 2, 2},
    64,
    false};
constexpr Variant kResnet34 = {"resnet34", "like resnet18, with 34 layers", kHe, {3, 4, 6, 3}, 64,
                               false};
constexpr Variant kResnet50 = {"resnet50",
                               "like resnet18, with 50 layers in bottleneck blocks; as in "
                               "torchvision, the 3x3 convolution has "
                               "the stride",
                               kHe,
                               {3, 4, 6, 3},
                               64,
                               true};
constexpr Variant kWideResnet50 = {"wide_resnet50_2",
                                   "like resnet50, with 3x3 convolutions twice as wide",
                                   "Zagoruyko & Komodakis 2016, table 8",
                                   {3, 4, 6, 3},
                                   64,
                                   true,
                                   2};
constexpr Variant kResnet20 = {"resnet20", "residual network with 20 layers for small images",
                               kHeSmall,   {3, 3, 3, 0},
                               16,         false};
constexpr Variant kResnet56 = {
    "resnet56", "like resnet20, with 56 layers", kHeSmall, {9, 9, 9, 0}, 16, false};

}  // namespace

ModelEntry resnet18_entry() {
  return ModelOf<Resnet<kResnet18>>::entry();
}
ModelEntry resnet34_entry() {
  return ModelOf<Resnet<kResnet34>>::entry();
}
ModelEntry resnet50_entry() {
  return ModelOf<Resnet<kResnet50>>::entry();
}
ModelEntry wide_resnet50_2_entry() {
  return ModelOf<Resnet<kWideResnet50>>::entry();
}
ModelEntry resnet20_entry() {
  return ModelOf<SmallResnet<kResnet20>>::entry();
}
ModelEntry resnet56_entry() {
  return ModelOf<SmallResnet<kResnet56>>::entry();
}

}  // namespace wellspring
