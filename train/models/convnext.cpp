// ConvNeXt: depthwise convolutions and perceptrons over the channels of each pixel. Parameters have
// the same names and shapes as in timm's convnext.py.
#include "core/text/plural.h"
#include "train/models/model.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

namespace wellspring {
namespace {

struct ConvNext {
  static constexpr const char* kName = "convnext";
  static constexpr const char* kSummary =
      "depthwise 7x7 convolutions and perceptrons per pixel, with weights named as in timm";
  static constexpr const char* kReference = "Liu et al. 2022, figure 4 and section 2";
  static SampleLayout example() { return SampleLayout::image(224, 224, 3); }

  std::vector<int> widths = {96, 192, 384, 768}, depths = {3, 3, 9, 3};
  int patch = 4;
  float drop_path = 0, layer_scale = 1e-6f;

  static const ParamTable<ConvNext>& table() {
    static const auto table =
        ParamTable<ConvNext>("model convnext")
            .integer_list("widths", &ConvNext::widths, {1, 4096}, "channels",
                          "channels of each stage; each stage after the first has half the height "
                          "and width",
                          "convnext_tiny: Liu et al. 2022, section 3")
            .integer_list("depths", &ConvNext::depths, {1, 64}, "blocks", "blocks of each stage")
            .integer("patch", &ConvNext::patch, {1, 16}, "pixels",
                     "side and stride of the first convolution")
            .real("drop_path", &ConvNext::drop_path, {0, 0.9}, "",
                  "stochastic depth: rate of the last block; it increases linearly from 0",
                  "Huang et al. 2016; 0.1 in Liu et al. 2022, table 5")
            .real("layer_scale", &ConvNext::layer_scale, {0, 1}, "",
                  "initial factor of each block's channels; 0: no factors",
                  "Liu et al. 2022, table 5");
    return table;
  }

  void check() const {
    if (widths.empty() || widths.size() != depths.size())
      fail(ErrorKind::config,
           {fmt::format("model convnext: widths has {} and depths {}",
                        counted(widths.size(), "stage"), depths.size()),
            "each list has one entry per stage", "give both lists the same length"});
  }

  void record(Tape& tape) const {
    tape.require(SampleKind::image, "it convolves images");
    Tensor x = patches(tape, tape.input(), "stem.0", widths.front(), patch);
    x = tape.layer_norm(x, "stem.1");
    const int blocks = std::accumulate(depths.begin(), depths.end(), 0);
    int made = 0;
    for (std::size_t stage = 0; stage < widths.size(); ++stage) {
      const std::string name = fmt::format("stages.{}", stage);
      if (stage > 0) {
        tape.begin_block();
        x = tape.layer_norm(x, name + ".downsample.0");
        x = patches(tape, x, name + ".downsample.1", widths[stage], 2);
      }
      for (int i = 0; i < depths[stage]; ++i, ++made) {
        if (stage == 0 || i > 0) tape.begin_block();
        x = block(tape, x, fmt::format("{}.blocks.{}", name, i),
                  blocks > 1 ? drop_path * static_cast<float>(made) / static_cast<float>(blocks - 1)
                             : drop_path);
      }
    }
    tape.begin_block();
    if (tape.wants(kSampleOutput))
      tape.head(tape.layer_norm(tape.global_mean(x), "head.norm"), "head.fc", {.weight = kInit});
    if (tape.wants(kPatchOutput))
      tape.head(tape.layer_norm(x, "decoder_norm"), "decoder",
                {.output = kPatchOutput, .weight = kInit});
  }

 private:
  static constexpr Init kInit = Init::normal(0.02f);  ///< as in timm

  /// One vector per patch of `side` by `side` pixels.
  static Tensor patches(Tape& tape, Tensor x, const std::string& name, int width, int side) {
    if (x.shape.height % side != 0 || x.shape.width % side != 0)
      fail(ErrorKind::config,
           {fmt::format("model convnext: patches of {0}x{0} do not divide images of {1}x{2}", side,
                        x.shape.height, x.shape.width),
            "all patches must have the same size", "change data.size, or use fewer stages"});
    return tape.conv(
        x, name,
        {.channels = width, .kernel = side, .stride = side, .padding = 0, .weight = kInit});
  }

  Tensor block(Tape& tape, Tensor x, const std::string& name, float rate) const {
    const int width = x.shape.channels;
    Tensor y = tape.depthwise_conv(x, name + ".conv_dw", {.kernel = 7, .weight = kInit});
    y = tape.layer_norm(y, name + ".norm");
    y = tape.gelu(tape.dense(y, name + ".mlp.fc1", {.width = 4 * width, .weight = kInit}));
    y = tape.dense(y, name + ".mlp.fc2", {.width = width, .weight = kInit});
    if (layer_scale > 0)
      y = tape.scale(y, Parameter{name + ".gamma", {width}, Init::constant(layer_scale)});
    if (rate > 0) y = tape.drop_path(y, name + ".drop_path", {.rate = rate});
    return tape.add(x, y);
  }
};

}  // namespace

ModelEntry convnext_entry() {
  return ModelOf<ConvNext>::entry();
}

}  // namespace wellspring
