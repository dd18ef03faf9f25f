// Transformer over the items of a set: each item becomes a token, the tokens attend to each other,
// and a perceptron reads their mean and the set's global columns. Offers one output per item and
// one per sample.
#include "train/models/model.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace wellspring {
namespace {

struct Transformer {
  static constexpr const char* kName = "transformer";
  static constexpr const char* kSummary =
      "sets: attention among the existing items, pooling, then a perceptron on the whole set";
  static constexpr const char* kReference =
      "Vaswani et al. 2017; Lee et al. 2019 (set transformer); Xiong et al. 2020 (normalisation "
      "before each branch)";
  static SampleLayout example() {
    SampleLayout layout = SampleLayout::set(32, 4);
    layout.globals = 2;
    return layout;
  }

  static std::vector<std::string> outputs() { return {kItemOutput, kSampleOutput}; }

  int width = 64, depth = 2, heads = 4, mlp_ratio = 2;
  std::vector<int> widths = {64};
  float dropout = 0;

  static const ParamTable<Transformer>& table() {
    static const auto table =
        ParamTable<Transformer>("model transformer")
            .integer("width", &Transformer::width, {1, 4096}, "values", "width of a token")
            .integer("depth", &Transformer::depth, {1, 64}, "blocks",
                     "blocks of an attention and a perceptron each")
            .integer("heads", &Transformer::heads, {1, 64}, "",
                     "heads per attention; they divide width")
            .integer("mlp_ratio", &Transformer::mlp_ratio, {1, 16}, "",
                     "width of the perceptrons in the blocks relative to the tokens")
            .integer_list("widths", &Transformer::widths, {1, 65536}, "values",
                          "width of each layer of the set perceptron, in order")
            .real("dropout", &Transformer::dropout, {0, 0.9}, "",
                  "rate of dropout at the end of each branch", "Srivastava et al. 2014");
    return table;
  }

  void check() const {
    if (width % heads != 0)
      fail(ErrorKind::config,
           {fmt::format("model transformer: a width of {} cannot be divided among {} heads", width,
                        heads),
            "all heads must have the same width", "change width or heads"});
  }

  void record(Tape& tape) const {
    tape.require(SampleKind::set, "its tokens are the items of sets");
    Tensor x = tape.dense(tape.input(), "embed", {.width = width});
    for (int i = 0; i < depth; ++i) {
      tape.begin_block();
      x = block(tape, x, fmt::format("block{}", i));
    }
    x = tape.layer_norm(x, "norm");
    const bool pools = tape.wants(kSampleOutput);
    if (!pools) tape.begin_block();
    if (tape.wants(kItemOutput)) tape.head(x, "item_head", {.output = kItemOutput});
    if (!pools) return;
    x = tape.item_mean(x);
    if (tape.has_globals()) x = tape.concatenate(x, tape.globals());
    tape.begin_block();
    tape.head(perceptron(tape, x, "set", widths), "head");
  }

 private:
  Tensor block(Tape& tape, Tensor x, const std::string& name) const {
    Tensor y = tape.layer_norm(x, name + ".norm1");
    y = tape.attention(tape.dense(y, name + ".qkv", {.width = 3 * width}), {.heads = heads});
    y = tape.dense(y, name + ".proj", {.width = width});
    x = tape.add(x, dropped(tape, y, name + ".dropout1"));
    y = tape.layer_norm(x, name + ".norm2");
    y = tape.gelu(tape.dense(y, name + ".fc1", {.width = mlp_ratio * width}));
    y = tape.dense(y, name + ".fc2", {.width = width});
    return tape.add(x, dropped(tape, y, name + ".dropout2"));
  }

  Tensor dropped(Tape& tape, Tensor x, const std::string& name) const {
    return dropout > 0 ? tape.dropout(x, name, {.rate = dropout}) : x;
  }
};

}  // namespace

ModelEntry transformer_entry() {
  return ModelOf<Transformer>::entry();
}

}  // namespace wellspring
