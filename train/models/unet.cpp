// U-Net: an encoder that halves the image at each level, and a decoder that doubles it again and
// reads the encoder's features of the same size. Offers one output per pixel and one per sample.
#include "core/text/plural.h"
#include "train/models/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wellspring {
namespace {

struct Unet {
  static constexpr const char* kName = "unet";
  static constexpr const char* kSummary =
      "images: encoder and decoder with skip connections; an output per pixel, and one per sample";
  static constexpr const char* kReference =
      "Ronneberger et al. 2015, figure 1, with padding, group normalisation and nearest-neighbour "
      "upsampling; Wu & He 2018";
  static SampleLayout example() { return SampleLayout::image(64, 64, 3); }
  static std::vector<std::string> outputs() { return {kPixelOutput, kSampleOutput}; }

  std::vector<int> widths = {32, 64, 128};
  std::int64_t group_width = 16;

  static const ParamTable<Unet>& table() {
    static const auto table =
        ParamTable<Unet>("model unet")
            .integer_list("widths", &Unet::widths, {1, 4096}, "channels",
                          "channels of each level; each level after the first has half the height "
                          "and width")
            .integer("group_width", &Unet::group_width, {1, 4096}, "channels",
                     "channels per normalisation group; a narrower level is one group",
                     "16 as in Wu & He 2018, table 3");
    return table;
  }

  void check() const {
    if (widths.empty())
      fail(ErrorKind::config, {"model unet: widths is empty", "it needs at least one level", ""});
    for (const int width : widths)
      if (width > group_width && width % group_width != 0)
        fail(ErrorKind::config,
             {fmt::format("model unet: a level of {} channels cannot be divided into groups of {}",
                          width, group_width),
              "all groups must have the same number of channels", "change widths or group_width"});
  }

  void record(Tape& tape) const {
    tape.require(SampleKind::image, "it convolves images");
    check_sides(tape.input().shape);
    std::vector<Tensor> levels;
    Tensor x = tape.input();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) x = tape.max_pool(x);
      x = convolutions(tape, x, fmt::format("down{}", i), widths[i]);
      tape.begin_block();
      levels.push_back(x);
    }
    if (tape.wants(kSampleOutput)) tape.head(tape.global_mean(x), "sample_head");
    if (!tape.wants(kPixelOutput)) return;
    for (std::size_t i = widths.size() - 1; i-- > 0;) {
      x = convolutions(tape, tape.concatenate(tape.upsample(x), levels[i]), fmt::format("up{}", i),
                       widths[i]);
      tape.begin_block();
    }
    tape.head(x, "pixel_head", {.output = kPixelOutput});
  }

 private:
  Tensor convolutions(Tape& tape, Tensor x, const std::string& name, int width) const {
    for (int i = 0; i < 2; ++i) {
      const std::string layer = fmt::format("{}.{}", name, i);
      x = tape.conv(x, layer + ".conv", {.channels = width, .bias = false});
      x = tape.relu(tape.group_norm(
          x, layer + ".norm", {.groups = std::max(1, width / static_cast<int>(group_width))}));
    }
    return x;
  }

  void check_sides(const TensorShape& image) const {
    const int factor = 1 << (widths.size() - 1);
    if (image.height % factor == 0 && image.width % factor == 0) return;
    fail(ErrorKind::config,
         {fmt::format("model unet: cannot halve images of {}x{} {}", image.height, image.width,
                      counted(widths.size() - 1, "time")),
          fmt::format("both sides must be multiples of {}", factor),
          "change data.size, or use fewer widths"});
  }
};

}  // namespace

ModelEntry unet_entry() {
  return ModelOf<Unet>::entry();
}

}  // namespace wellspring
