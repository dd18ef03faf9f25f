// Vision transformer. Parameters have the same names and shapes as in timm's vision_transformer
// (deit.py with `distilled`), so that weights can be exchanged without a table of names.
#include "train/models/model.h"

#include <fmt/format.h>

#include <string>

namespace wellspring {
namespace {

enum class Pool : std::uint8_t { token, mean };

struct Vit {
  static constexpr const char* kName = "vit";
  static constexpr const char* kSummary =
      "vision transformer: attention among the patches of an image, with weights named as in timm";
  static constexpr const char* kReference =
      "Dosovitskiy et al. 2021, table 1; Touvron et al. 2021 (DeiT), table 1";
  static SampleLayout example() { return SampleLayout::image(224, 224, 3); }

  int patch = 16, width = 192, depth = 12, heads = 3, mlp_ratio = 4;
  Pool pool = Pool::token;
  bool distilled = false;
  float drop_path = 0, layer_scale = 0;

  static const ParamTable<Vit>& table() {
    static const auto table =
        ParamTable<Vit>("model vit")
            .integer("patch", &Vit::patch, {1, 256}, "pixels", "side of a patch")
            .integer("width", &Vit::width, {1, 4096}, "values", "width of a token")
            .integer("depth", &Vit::depth, {1, 64}, "blocks",
                     "blocks of an attention and a perceptron each")
            .integer("heads", &Vit::heads, {1, 64}, "", "heads per attention; they divide width")
            .integer("mlp_ratio", &Vit::mlp_ratio, {1, 16}, "",
                     "width of the perceptrons relative to the tokens")
            .choice("pool", &Vit::pool, {{"token", Pool::token}, {"mean", Pool::mean}},
                    "token: the head reads a class token; mean: the mean of all patches",
                    "Dosovitskiy et al. 2021, appendix D.3")
            .flag("distilled", &Vit::distilled,
                  "a second class token, whose head is the output `distilled`",
                  "Touvron et al. 2021 (DeiT), section 4")
            .real("drop_path", &Vit::drop_path, {0, 0.9}, "",
                  "stochastic depth: rate of the last block; it increases linearly from 0",
                  "Huang et al. 2016; 0.1 in Touvron et al. 2021, table 9")
            .real("layer_scale", &Vit::layer_scale, {0, 1}, "",
                  "initial factor of each branch's channels; 0: no factors",
                  "Touvron et al. 2021 (CaiT), section 2")
            .preset("tiny", {{"patch", "16"}, {"width", "192"}, {"depth", "12"}, {"heads", "3"}},
                    "deit_tiny; Touvron et al. 2021, table 1")
            .preset("small", {{"patch", "16"}, {"width", "384"}, {"depth", "12"}, {"heads", "6"}},
                    "deit_small; Touvron et al. 2021, table 1")
            .preset("base", {{"patch", "16"}, {"width", "768"}, {"depth", "12"}, {"heads", "12"}},
                    "ViT-B/16; Dosovitskiy et al. 2021, table 1");
    return table;
  }

  void check() const {
    if (width % heads != 0)
      fail(ErrorKind::config,
           {fmt::format("model vit: a width of {} cannot be divided among {} heads", width, heads),
            "all heads must have the same width", "change width or heads"});
    if (distilled && pool == Pool::mean)
      fail(ErrorKind::config, {"model vit: distilled, but pool: mean", "a mean has no second token",
                               "set pool: token, or distilled: false"});
  }

  void record(Tape& tape) const {
    tape.require(SampleKind::image, "its tokens are the patches of images");
    Tensor x = Tape::tokens(patches(tape));
    const int count = x.shape.width;
    if (distilled) x = tape.prepend({"dist_token", {1, 1, width}, kInit}, x);
    if (pool == Pool::token) x = tape.prepend({"cls_token", {1, 1, width}, kTokenInit}, x);
    x = tape.add(x, Parameter{"pos_embed", {1, x.shape.width, width}, kInit});
    for (int i = 0; i < depth; ++i) {
      tape.begin_block();
      x = block(tape, x, i);
    }
    if (pool == Pool::mean) {
      tape.begin_block();
      if (tape.wants(kSampleOutput))
        tape.head(tape.layer_norm(tape.global_mean(x), "fc_norm"), "head", {.weight = kInit});
      if (tape.wants(kPatchOutput)) decode(tape, tape.layer_norm(x, "decoder_norm"));
      return;
    }
    x = tape.layer_norm(x, "norm");
    tape.begin_block();
    if (tape.wants(kSampleOutput)) tape.head(tape.select(x, 0, 1), "head", {.weight = kInit});
    if (distilled && tape.wants(kDistilled))
      tape.head(tape.select(x, 1, 1), "head_dist", {.output = kDistilled, .weight = kInit});
    if (tape.wants(kPatchOutput)) decode(tape, tape.select(x, x.shape.width - count, count));
  }

 private:
  static constexpr const char* kDistilled = "distilled";
  // As in timm (init_weights_vit_timm), whose normal distributions are truncated at 100 standard
  // deviations; the convolution keeps PyTorch's default.
  static constexpr Init kInit = Init::normal(0.02f), kTokenInit = Init::normal(1e-6f);

  /// Predicts the pixels of each patch from its token: SimMIM's head.
  static void decode(Tape& tape, Tensor x) {
    tape.head(x, "decoder", {.output = kPatchOutput, .weight = kInit});
  }

  Tensor patches(Tape& tape) const {
    const Tensor image = tape.input();
    if (image.shape.height % patch != 0 || image.shape.width % patch != 0)
      fail(ErrorKind::config,
           {fmt::format("model vit: patches of {0}x{0} do not divide images of {1}x{2}", patch,
                        image.shape.height, image.shape.width),
            "all patches must have the same size", "change model.patch or data.size"});
    return tape.conv(image, "patch_embed.proj",
                     {.channels = width,
                      .kernel = patch,
                      .stride = patch,
                      .padding = 0,
                      .weight = Init::torch_default});
  }

  Tensor block(Tape& tape, Tensor x, int i) const {
    const std::string name = fmt::format("blocks.{}", i);
    Tensor y = tape.layer_norm(x, name + ".norm1");
    y = tape.attention(dense(tape, y, name + ".attn.qkv", 3 * width), {.heads = heads});
    x = add_branch(tape, x, dense(tape, y, name + ".attn.proj", width), name, 1, i);
    y = tape.layer_norm(x, name + ".norm2");
    y = tape.gelu(dense(tape, y, name + ".mlp.fc1", mlp_ratio * width));
    return add_branch(tape, x, dense(tape, y, name + ".mlp.fc2", width), name, 2, i);
  }

  static Tensor dense(Tape& tape, Tensor x, const std::string& name, int width) {
    return tape.dense(x, name, {.width = width, .weight = kInit});
  }

  /// Adds branch 1 or 2 of block i, scaled and dropped as configured.
  Tensor add_branch(Tape& tape, Tensor x, Tensor branch, const std::string& name, int which,
                    int i) const {
    if (layer_scale > 0)
      branch = tape.scale(branch, Parameter{fmt::format("{}.ls{}.gamma", name, which),
                                            {width},
                                            Init::constant(layer_scale)});
    const float rate =
        depth > 1 ? drop_path * static_cast<float>(i) / static_cast<float>(depth - 1) : drop_path;
    if (rate > 0)
      branch = tape.drop_path(branch, fmt::format("{}.drop_path{}", name, which), {.rate = rate});
    return tape.add(x, branch);
  }
};

}  // namespace

ModelEntry vit_entry() {
  return ModelOf<Vit>::entry();
}

}  // namespace wellspring
