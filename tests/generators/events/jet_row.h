// A row filled by a jet generator. Tests only; host only.
#pragma once

#include "kernels/batch/sample.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace wellspring::test {

/// A row of functor F, with `Features` features per constituent.
template <class F, std::size_t Features>
struct JetRow {
  std::vector<std::array<float, Features>> items;
  std::array<float, F::kGlobals> jet{};
  int count = 0;              ///< constituents, including those that did not fit
  int missing = 0;            ///< constituents that were never made
  std::vector<float> values;  ///< an image or a row of features
  TruthOf<F> truth;

  void set(int item, int feature, float value) {
    items.resize(std::max(items.size(), static_cast<std::size_t>(item) + 1));
    items[static_cast<std::size_t>(item)][static_cast<std::size_t>(feature)] = value;
  }
  template <int N>
  void set_item(int item, const float (&numbers)[N]) {
    for (int k = 0; k < N; ++k) set(item, k, numbers[k]);
  }
  template <int N>
  void set_features(int first, const float (&numbers)[N]) {
    for (int k = 0; k < N; ++k) set(first + k, numbers[k]);
  }
  void clear(int features) { values.assign(static_cast<std::size_t>(features), 0.0f); }
  void set(int index, float value) {
    values.resize(std::max(values.size(), static_cast<std::size_t>(index) + 1));
    values[static_cast<std::size_t>(index)] = value;
  }
  void set_global(int index, float value) { jet[static_cast<std::size_t>(index)] = value; }
  void set_count(int all, int unmade = 0) {
    count = all;
    missing = unmade;
  }
};

}  // namespace wellspring::test
