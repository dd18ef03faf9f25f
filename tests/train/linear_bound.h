// Bounds of the differences between runs of a linear classifier that add the same numbers in
// different orders. For the tests of several ranks; host only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace wellspring::test {

inline constexpr double kRounding = 0x1p-24;             ///< unit roundoff u of f32
inline constexpr std::size_t kLinearInputs = 8 * 8 * 3;  ///< values of an 8x8 image

/// Sizes of the numbers in a linear run.
struct LinearSizes {
  double x = 0;        ///< largest |x|
  double row = 0;      ///< largest sum of |x| over a row
  double weights = 0;  ///< largest sum of |w| over the weights of an output

  /// `rows`: see row_of. `all_weights`: the bias may come first.
  LinearSizes(const std::vector<std::string>& rows, const std::vector<float>& all_weights) {
    for (const std::string& bytes : rows) {
      std::array<float, kLinearInputs> values;
      std::memcpy(values.data(), bytes.data(), sizeof values);
      double sum = 0;
      for (const float value : values) {
        x = std::max(x, std::abs(double{value}));
        sum += std::abs(double{value});
      }
      row = std::max(row, sum);
    }
    for (std::size_t first = 0; first + kLinearInputs <= all_weights.size(); ++first) {
      double sum = 0;
      for (std::size_t i = 0; i < kLinearInputs; ++i)
        sum += std::abs(double{all_weights[first + i]});
      weights = std::max(weights, sum);
    }
  }
};

// Let E be the largest difference of a weight between the runs, X the largest |x|, S and W the
// largest sums of |x| and |w| in a logit, n its number of inputs, B the number of rows, R the
// largest number of ranks and r the learning rate. In each step, whatever the number of ranks in
// the steps before it:
// - Logits differ by D = (S + 1) E + 2 (n + 1) u X W: each run adds n + 1 terms in its own order
//   (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, section
//   4.2).
// - A row's gradient is (softmax - target) / B. The absolute values in row k of the softmax's
//   Jacobian sum to 2 p_k (1 - p_k) <= 1/2, and the softmax itself is computed to 32 u.
// - The gradient of a weight is a sum of B terms of at most X / B, divided differently among the
//   ranks: it differs by X (D / 2 + 32 u) + 2 (B + R) u X.
// - The update r times the gradient is added with one rounding in each run: 2 u W more.
// A loss is a mean of cross-entropies, whose gradients have absolute values that sum to 2; both are
// computed to 32 u of values below 16.
class LinearBound {
 public:
  LinearBound(const LinearSizes& sizes, double rows, double most_ranks)
      : x_(std::max(sizes.x, 1.0)),
        s_(sizes.row),
        w_(sizes.weights),
        rows_(rows),
        ranks_(most_ranks) {}

  /// Largest differences in a step whose weights differ by up to `e`.
  double logits(double e) const {
    constexpr double kTerms = kLinearInputs + 1;
    return (s_ + 1) * e + 2 * kTerms * kRounding * x_ * w_;
  }
  double loss(double e) const { return 2 * logits(e) + 2 * 32 * 16 * kRounding; }
  double gradient(double e) const {
    return x_ * (logits(e) / 2 + (32 + 2 * (rows_ + ranks_)) * kRounding);
  }
  /// The same for the weights after the step.
  double weights(double e, double learning_rate) const {
    return e + learning_rate * gradient(e) + 2 * kRounding * w_;
  }

 private:
  double x_, s_, w_;  ///< X, at least 1 for the bias; S; W
  double rows_, ranks_;
};

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  return largest;
}

}  // namespace wellspring::test
