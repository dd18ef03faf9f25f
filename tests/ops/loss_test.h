// A batch with several heads and sources, and comparisons of its losses and gradients with double precision. For loss
// tests; host only.
#pragma once

#include "kernels/ops/training.h"
#include "tests/ops/operation_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace wellspring::ops::test {

inline std::vector<Slot> slots_of(const std::vector<std::uint32_t>& sources) {
  std::vector<Slot> slots(sources.size());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].source = sources[i];
  return slots;
}

/// Cross-entropy between logits and probabilities, in double precision.
inline double cross_entropy(const double* logits, const Doubles& wanted) {
  const auto n = static_cast<std::ptrdiff_t>(wanted.size());
  const double largest = *std::max_element(logits, logits + n);
  double sum = 0, loss = 0;
  for (std::ptrdiff_t k = 0; k < n; ++k) sum += std::exp(logits[k] - largest);
  for (std::size_t k = 0; k < wanted.size(); ++k)
    loss += wanted[k] * (largest + std::log(sum) - logits[k]);
  return loss;
}

inline Doubles smoothed(Doubles wanted, double smoothing) {
  for (double& p : wanted) p = (1 - smoothing) * p + smoothing / static_cast<double>(wanted.size());
  return wanted;
}

/// A batch of rows with the outputs of three heads; one of them is tested.
struct Rows {
  HeadSlice head;
  std::vector<float> outputs;
  std::vector<Slot> slots;
  std::vector<float> weights;
  std::int32_t scores = 1;

  std::size_t batch() const { return static_cast<std::size_t>(head.batch); }
  bool holds(std::size_t row) const { return ((head.sources >> slots[row].source) & 1u) != 0; }
  double weight(std::size_t row) const {
    return static_cast<double>(weights[row]) * static_cast<double>(head.weight[slots[row].source]);
  }
  std::size_t own(std::size_t row) const {
    return row * static_cast<std::size_t>(head.width) + static_cast<std::size_t>(head.begin);
  }
};

/// Six samples of three sources. The second source does not have the head; one sample has weight 0.
inline Rows six_rows(std::int32_t outputs, DType gradient) {
  Rows rows;
  rows.head.batch = 6;
  rows.head.width = outputs + 5;
  rows.head.begin = 2;
  rows.head.outputs = outputs;
  rows.head.gradient = gradient;
  rows.head.sources = 0b101;
  rows.head.weight[0] = 1;
  rows.head.weight[1] = 7;
  rows.head.weight[2] = 0.25f;
  rows.outputs = random_values<float>(static_cast<std::size_t>(6 * rows.head.width), 1, -4, 4);
  rows.slots = slots_of({0, 1, 2, 0, 0, 2});
  rows.weights = {1, 2, 1, 0, 0.5f, 1};
  return rows;
}

class LossFixture : public test::OperationTest {
 protected:
  struct Result {
    std::vector<float> loss, scores;
    Doubles gradient;
  };
  using Call = std::function<void(const LossInput&, const LossResult&)>;

  Result run(const Rows& rows, const Call& call) {
    const Buffer<float> outputs = buffer(rows.outputs), weights = buffer(rows.weights),
                        loss = buffer<float>(rows.batch()),
                        scores =
                            buffer<float>(rows.batch() * static_cast<std::size_t>(rows.scores));
    const Buffer<Slot> slots = buffer(rows.slots);
    return visit_float(rows.head.gradient, [&]<class T>(T) {
      // The gradients of other heads must not change.
      const Buffer<T> gradient = buffer(std::vector<T>(rows.outputs.size(), T(9.0f)));
      call({outputs, slots, weights}, {loss, scores, gradient});
      return Result{loss.values(), scores.values(), in_double(gradient.values())};
    });
  }

  /// Compares the loss with `row_loss` (the unweighted loss of a row's outputs in double
  /// precision), and the gradient with finite differences of the mean. `added` values are added one
  /// after another.
  void expect_agrees(const Rows& rows, const Result& result,
                     const std::function<double(const double*, std::size_t)>& row_loss,
                     int added = 0) {
    const Doubles z = in_double(rows.outputs);
    const auto weighted = [&](const Doubles& v, std::size_t row) {
      if (!rows.holds(row) || rows.weight(row) == 0) return 0.0;
      return rows.weight(row) * row_loss(v.data() + rows.own(row), row);
    };
    Doubles expected(rows.batch());
    for (std::size_t row = 0; row < rows.batch(); ++row) expected[row] = weighted(z, row);
    const double u = test::rounding(DType::f32);
    // About ten rounding errors of numbers below 16, errors of 2 ulps each in exp and log, and one
    // rounding error per added value.
    const double roundings = 16 + added;
    expect_within(result.loss, expected, 16 * roundings * u, "loss");
    const auto mean = [&](const Doubles& v) {
      double sum = 0;
      for (std::size_t row = 0; row < rows.batch(); ++row)
        sum += weighted(v, row) / static_cast<double>(rows.batch());
      return sum;
    };
    Doubles gradient = test::gradient(mean, z);
    const auto width = static_cast<std::size_t>(rows.head.width);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto column = static_cast<std::int32_t>(i % width) - rows.head.begin;
      if (column < 0 || column >= rows.head.outputs) gradient[i] = 9;
    }
    expect_within(result.gradient, gradient,
                  roundings * u + test::rounding(rows.head.gradient) + 1e-9, "gradient");
    for (std::size_t row = 0; row < rows.batch(); ++row) {
      if (rows.holds(row)) continue;
      EXPECT_EQ(result.loss[row], 0) << row;
      for (std::int32_t s = 0; s < rows.scores; ++s)
        EXPECT_EQ(result.scores[static_cast<std::size_t>(s) * rows.batch() + row], 0) << row;
    }
  }
};

}  // namespace wellspring::ops::test
