// The last layer with its loss in one launch, compared with the separate operations.
#include "kernels/ops/output_layer.h"

#include "tests/ops/operation_test.h"
#include "tests/support/host_team.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

constexpr std::int64_t kLayerRows = 9;

class OutputLayerTest : public test::OperationTest {
 protected:
  /// Outputs agree within the rounding of their sums; for identical outputs, the loss is
  /// bit-identical. Rows of source 1 do not train the head, and row 3 has no valid label.
  template <class T>
  void check(int in, int outputs) {
    SCOPED_TRACE(std::to_string(in) + " inputs, " + std::to_string(outputs) + " outputs");
    const auto n = static_cast<std::size_t>(in), m = static_cast<std::size_t>(outputs),
               rows = static_cast<std::size_t>(kLayerRows);
    const auto x = random_values<T>(rows * n, 1), w = random_values<T>(m * n, 2);
    const auto b = random_values<float>(m, 3), weights = random_values<float>(rows, 4, 0.5f, 2);
    std::vector<Slot> slots(rows);
    std::vector<std::int32_t> labels;
    for (std::size_t r = 0; r < rows; ++r) {
      slots[r].source = r % 4 == 1 ? 1 : 0;
      labels.push_back(r == 3 ? outputs : static_cast<std::int32_t>(r) % outputs);
    }
    const Buffer<T> device_x = buffer(x), device_w = buffer(w), dx = buffer<T>(rows * n),
                    gradient = buffer<T>(rows * m), apart_gradient = buffer<T>(rows * m);
    const Buffer<float> bias = buffer(b), device_weights = buffer(weights),
                        y = buffer<float>(rows * m), weight_parts = buffer<float>(rows * m * n),
                        bias_parts = buffer<float>(rows * m), loss = buffer<float>(rows),
                        score = buffer<float>(rows), apart_loss = buffer<float>(rows),
                        apart_score = buffer<float>(rows);
    const Buffer<Slot> device_slots = buffer(slots);
    const Buffer<std::int32_t> device_labels = buffer(labels);
    HeadSlice head;
    head.batch = kLayerRows;
    head.width = head.outputs = outputs;
    head.gradient = DTypeOf<T>::value;
    head.sources = 1;
    head.weight[0] = 0.75f;
    const LossInput input = {y, device_slots, device_weights};
    OutputLayer layer = {in, device_x, device_w, bias, y, dx, weight_parts, bias_parts};
    output_layer_loss(stream(), head, layer, input, device_labels, 0.1f, {loss, score, gradient});

    // An output is rounded once per term of its longest lane and once per lane.
    const double terms =
        static_cast<double>(in) / OutputLayerLoss<T>::kLanes + 8 + OutputLayerLoss<T>::kLanes + 2;
    Doubles expected(rows * m), bound(rows * m);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t o = 0; o < m; ++o) {
        double& sum = expected[r * m + o] = static_cast<double>(b[o]);
        double size = std::abs(sum);
        for (std::size_t i = 0; i < n; ++i) {
          const double product = static_cast<double>(static_cast<float>(x[r * n + i])) *
                                 static_cast<double>(static_cast<float>(w[o * n + i]));
          sum += product;
          size += std::abs(product);
        }
        bound[r * m + o] = terms * kU * size;
      }
    expect_within(y.values(), expected, bound, "outputs");

    softmax_cross_entropy(stream(), head, input, device_labels, 0.1f,
                          {apart_loss, apart_score, apart_gradient});
    for (std::size_t r = 0; r < rows; ++r) {
      if (r == 3)
        EXPECT_TRUE(std::isnan(loss.values()[r]));
      else
        EXPECT_EQ(loss.values()[r], apart_loss.values()[r]) << r;
    }
    EXPECT_EQ(score.values(), apart_score.values());
    const Doubles g = in_double(gradient.values());
    EXPECT_EQ(g, in_double(apart_gradient.values()));
    EXPECT_NE(g[0], 0);

    Doubles expected_dx(rows * n), dx_bound(rows * n), products;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < n; ++i) {
        double size = 0;
        for (std::size_t o = 0; o < m; ++o) {
          const double product =
              g[r * m + o] * static_cast<double>(static_cast<float>(w[o * n + i]));
          expected_dx[r * n + i] += product;
          size += std::abs(product);
        }
        dx_bound[r * n + i] = (static_cast<double>(m) * kU + rounding(head.gradient)) * size;
      }
      for (std::size_t o = 0; o < m; ++o)
        for (std::size_t i = 0; i < n; ++i)
          products.push_back(static_cast<double>(static_cast<float>(g[r * m + o]) *
                                                 static_cast<float>(x[r * n + i])));
    }
    expect_within(dx.values(), expected_dx, dx_bound, "dx");
    EXPECT_EQ(in_double(weight_parts.values()), products);
    EXPECT_EQ(in_double(bias_parts.values()), g);

    // A frozen layer after frozen ones computes only the loss.
    layer.dx = nullptr;
    layer.weight_parts = layer.bias_parts = nullptr;
    y.assign(std::vector<float>(rows * m));
    output_layer_loss(stream(), head, layer, input, device_labels, 0.1f, {loss, score, gradient});
    EXPECT_EQ(in_double(gradient.values()), g);
  }
};

TEST_P(OutputLayerTest, AgreesWithTheSeparateOperations) {
  check<float>(128, 10);
  check<bf16>(512, 64);
  check<bf16>(8, 2);
}

TEST_P(OutputLayerTest, IsLeftOutForLargeLayers) {
  const DenseSpec fits = {.rows = 128, .in = 128, .out = 10, .compute = DType::bf16};
  EXPECT_TRUE(output_layer_fits(fits));
  DenseSpec wide = fits;
  wide.out = 65;
  EXPECT_FALSE(output_layer_fits(wide));
  DenseSpec odd = fits;
  odd.in = 100;
  EXPECT_FALSE(output_layer_fits(odd));
  DenseSpec many = fits;
  many.rows = 1024;
  EXPECT_FALSE(output_layer_fits(many));
}

WS_ON_EVERY_BACKEND(OutputLayerTest);

template <class T>
void expect_equal_output_layers(int in, int outputs) {
  const auto n = static_cast<std::size_t>(in), m = static_cast<std::size_t>(outputs),
             rows = static_cast<std::size_t>(kLayerRows);
  const auto x = random_values<T>(rows * n, 1), w = random_values<T>(m * n, 2);
  const auto bias = random_values<float>(m, 3), weights = random_values<float>(rows, 4);
  const std::vector<Slot> slots(rows);
  const std::vector<std::int32_t> labels(rows, outputs / 2);
  std::vector<T> dx(rows * n), gradient(rows * m);
  std::vector<float> y(rows * m), weight_parts(rows * m * n), bias_parts(rows * m), loss(rows),
      score(rows);
  HeadSlice head;
  head.batch = kLayerRows;
  head.width = head.outputs = outputs;
  head.sources = 1;
  head.weight[0] = 1;
  using wellspring::test::bytes_of;
  wellspring::test::expect_equal_for_all_team_sizes(
      OutputLayerLoss<T>{{in, x.data(), w.data(), bias.data(), y.data(), dx.data(),
                          weight_parts.data(), bias_parts.data()},
                         {{head, y.data(), slots.data(), weights.data(), loss.data(), score.data(),
                           gradient.data()},
                          labels.data(),
                          0.1f}},
      kLayerRows,
      {OutputLayerLoss<T>::kLaunchBound.threads,
       OutputLayerLoss<T>::scratch_floats(in, outputs) * sizeof(float) +
           static_cast<std::size_t>(reduce_lanes(outputs)) *
               sizeof(typename SoftmaxCrossEntropy<T>::Scratch)},
      {bytes_of(y), bytes_of(dx), bytes_of(gradient), bytes_of(weight_parts), bytes_of(bias_parts),
       bytes_of(loss), bytes_of(score)});
}

TEST(OutputLayerTeams, GiveEqualBitsForAnySize) {
  expect_equal_output_layers<float>(40, 7);
  expect_equal_output_layers<bf16>(128, 10);
}

}  // namespace
}  // namespace wellspring::ops::test
