// Small convolutional network. Each stage has one 3x3 convolution, optional 2x2 max pooling, and
// residual blocks. Then follow a global mean and one dense layer for the outputs of all heads.
#include "core/text/plural.h"
#include "train/models/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace wellspring {
namespace {

enum class Norm : std::uint8_t { none, group };

/// The settings of one stage: one entry of each list.
struct Stage {
  int width = 1;
  int blocks = 0;
  bool pool = false;
};

struct Cnn {
  static constexpr const char* kName = "cnn";
  static constexpr const char* kSummary =
      "3x3 convolutions with group normalisation, residual blocks and max pooling";
  static constexpr const char* kReference = "He et al. 2016; Wu & He 2018";
  static SampleLayout example() { return SampleLayout::image(32, 32, 3); }

  std::vector<int> widths = {32, 64, 128};
  std::vector<int> blocks = {0, 0, 0};
  std::vector<int> pool = {1, 1, 1};
  Norm norm = Norm::group;
  std::int64_t group_width = 16;

  static const ParamTable<Cnn>& table() {
    static const auto table =
        ParamTable<Cnn>("model cnn")
            .integer_list("widths", &Cnn::widths, {1, 4096}, "channels",
                          "channels of each stage, in order")
            .integer_list("blocks", &Cnn::blocks, {0, 64}, "blocks",
                          "residual blocks at the end of each stage", "He et al. 2016, figure 2")
            .integer_list("pool", &Cnn::pool, {0, 1}, "",
                          "1: max pooling halves the height and width of the stage; 0: no pooling")
            .choice("norm", &Cnn::norm, {{"none", Norm::none}, {"group", Norm::group}},
                    "normalisation after each convolution", "Wu & He 2018")
            .integer("group_width", &Cnn::group_width, {1, 4096}, "channels",
                     "channels per normalisation group; a narrower stage is one group",
                     "16 as in Wu & He 2018, table 3");
    return table;
  }

  void check() const { stages(); }

  void record(Tape& tape) const {
    Tensor x = tape.input();
    int i = 0;
    for (const Stage& stage : stages()) {
      const std::string name = fmt::format("stage{}", i++);
      x = convolution(tape, x, name + ".stem", stage.width);
      if (stage.pool) x = halved(tape, x);
      x = tape.relu(normalised(tape, x, name + ".stem"));
      tape.begin_block();
      for (int block = 0; block < stage.blocks; ++block) {
        x = residual(tape, x, fmt::format("{}.block{}", name, block));
        tape.begin_block();
      }
    }
    if (tape.wants(kSampleOutput)) tape.head(tape.global_mean(x), "head");
    tape.head(x, "decoder", {.output = kPatchOutput});
  }

 private:
  /// Omits the bias if a normalisation follows, since the normalisation would cancel it.
  Tensor convolution(Tape& tape, Tensor x, const std::string& name, int channels) const {
    return tape.conv(x, name + ".conv",
                     {.channels = channels, .bias = norm == Norm::none, .weight = Init::he_normal});
  }

  Tensor normalised(Tape& tape, Tensor x, const std::string& name) const {
    if (norm == Norm::none) return x;
    const int width = static_cast<int>(group_width);
    return tape.group_norm(x, name + ".norm", {.groups = std::max(1, x.shape.channels / width)});
  }

  /// Pools before the normalisation, which then processes a quarter of the values.
  static Tensor halved(Tape& tape, Tensor x) {
    if (x.shape.height % 2 != 0 || x.shape.width % 2 != 0)
      fail(ErrorKind::config,
           {fmt::format("model cnn: cannot halve images of {}x{}", x.shape.height, x.shape.width),
            "pooling needs even sides",
            "choose data.size with more factors of two, or fewer pooling stages"});
    return tape.max_pool(x);
  }

  /// y = relu(norm(conv(relu(norm(conv(x))))) + x); He et al. 2016.
  Tensor residual(Tape& tape, Tensor x, const std::string& name) const {
    const int channels = x.shape.channels;
    Tensor y =
        tape.relu(normalised(tape, convolution(tape, x, name + ".0", channels), name + ".0"));
    y = normalised(tape, convolution(tape, y, name + ".1", channels), name + ".1");
    return tape.relu(tape.add(y, x));
  }

  std::vector<Stage> stages() const {
    const std::size_t n = widths.size();
    if (n == 0)
      fail(ErrorKind::config,
           {"model cnn: widths is empty", "a network needs at least one stage", ""});
    if (blocks.size() != n || pool.size() != n)
      fail(ErrorKind::config,
           {fmt::format("model cnn: widths has {}, blocks {} and pool {}", counted(n, "stage"),
                        blocks.size(), pool.size()),
            "each list has one entry per stage", "give the three lists the same length"});
    std::vector<Stage> rows;
    for (std::size_t i = 0; i < n; ++i) {
      const Stage stage{widths[i], blocks[i], pool[i] == 1};
      if (norm == Norm::group && stage.width > group_width && stage.width % group_width != 0)
        fail(ErrorKind::config,
             {fmt::format("model cnn: a stage of {} channels cannot be divided into groups of {}",
                          stage.width, group_width),
              "all groups must have the same number of channels", "change widths or group_width"});
      rows.push_back(stage);
    }
    return rows;
  }
};

}  // namespace

ModelEntry cnn_entry() {
  return ModelOf<Cnn>::entry();
}

}  // namespace wellspring
