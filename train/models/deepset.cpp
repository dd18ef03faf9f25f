// Network for sets: a perceptron on each item, mean or sum over the existing items, then a
// perceptron on the pooled vector concatenated with the global columns of the set.
#include "train/models/model.h"

#include <vector>

namespace wellspring {
namespace {

enum class Pooling : std::uint8_t { mean, sum };

struct DeepSet {
  static constexpr const char* kName = "deepset";
  static constexpr const char* kSummary =
      "sets: a perceptron on each item, pooling, then a perceptron on the whole set";
  static constexpr const char* kReference =
      "Zaheer et al. 2017, theorem 2; Komiske, Metodiev & Thaler 2019 (energy flow)";
  static SampleLayout example() {
    SampleLayout layout = SampleLayout::set(32, 4);
    layout.globals = 2;
    return layout;
  }

  std::vector<int> item_widths = {64, 64};
  std::vector<int> widths = {64, 64};
  Pooling pooling = Pooling::mean;

  static const ParamTable<DeepSet>& table() {
    static const auto table =
        ParamTable<DeepSet>("model deepset")
            .integer_list("item_widths", &DeepSet::item_widths, {1, 65536}, "values",
                          "width of each layer of the item perceptron, in order")
            .integer_list("widths", &DeepSet::widths, {1, 65536}, "values",
                          "width of each layer of the set perceptron, in order")
            .choice("pooling", &DeepSet::pooling, {{"mean", Pooling::mean}, {"sum", Pooling::sum}},
                    "pooling over the items of a set",
                    "a sum depends on the number of items; a mean does not");
    return table;
  }

  void check() const {}

  void record(Tape& tape) const {
    Tensor x = perceptron(tape, tape.input(), "item", item_widths);
    x = pooling == Pooling::mean ? tape.item_mean(x) : tape.item_sum(x);
    if (tape.has_globals()) x = tape.concatenate(x, tape.globals());
    tape.head(perceptron(tape, x, "set", widths), "head");
  }
};

}  // namespace

ModelEntry deepset_entry() {
  return ModelOf<DeepSet>::entry();
}

}  // namespace wellspring
