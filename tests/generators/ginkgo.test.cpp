#include "generators/events/ginkgo.h"

#include "tests/generators/ginkgo_reference.h"
#include "tests/support/error_testing.h"
#include "tests/support/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

constexpr double kEpsilon = 0x1p-24;  // a rounding to f32 is off by at most this, relatively

/// What the functor gives a row.
struct Row {
  std::vector<std::array<float, 4>> items;
  std::array<float, 4> jet{};
  int kept = 0, left_out = 0;
  Truth<Ginkgo::kLatents> truth;

  void item(int, const std::array<float, 4>& values) { items.push_back(values); }
  void globals(const std::array<float, 4>& values) { jet = values; }
  void count(int kept_items, int left) {
    kept = kept_items;
    left_out = left;
  }
};

Row make_row(const Ginkgo::Params& params, std::uint64_t sample) {
  Row row;
  SampleKey key{};
  key.rng = {17, sample};
  Ginkgo(params).make(key, row, row.truth);
  return row;
}
