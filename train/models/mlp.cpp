// Multilayer perceptron: dense layers with ReLUs in between.
#include "train/models/model.h"

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
    tape.head(perceptron(tape, Tape::flatten(tape.input()), "layer", widths), "head");
  }
};

}  // namespace

ModelEntry mlp_entry() {
  return ModelOf<Mlp>::entry();
}

}  // namespace wellspring
