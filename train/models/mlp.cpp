// Multilayer perceptron: dense layers with ReLUs in between.
#include "train/models/model.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

struct Mlp {
  static constexpr const char* kName = "mlp";
  static constexpr const char* kSummary =
      "dense layers with ReLUs in between; images are flattened";
  static constexpr const char* kReference = "";
  static SampleLayout example() { return SampleLayout::image(32, 32, 3); }

  std::vector<int> widths = {64, 64};

  static const ParamTable<Mlp>& table() {
    static const auto table =
        ParamTable<Mlp>("model mlp")
            .integer_list("widths", &Mlp::widths, {1, 65536}, "values",
                          "width of each hidden layer, in order; empty: a linear model");
    return table;
  }

  void check() const {}

  void record(Tape& tape) const {
    Tensor x = Tape::flatten(tape.input());
    for (std::size_t i = 0; i < widths.size(); ++i) {
      x = tape.relu(tape.dense(x, fmt::format("layer{}", i),
                               {.width = widths[i], .weight = Init::he_normal}));
      tape.begin_block();
    }
    tape.head(x, "head");
  }
};

}  // namespace

ModelEntry mlp_entry() {
  return ModelOf<Mlp>::entry();
}

}  // namespace wellspring
