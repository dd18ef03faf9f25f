#include "core/error.h"
#include "kernels/ops/ops.h"
#include "tests/ops/operation_test.h"
#include "tests/support/error_testing.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wellspring::ops::test {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
Matrix matrix(const std::vector<T>& values, Eigen::Index rows, Eigen::Index columns) {
  const std::vector<double> all = test::in_double(values);
  return Eigen::Map<const Matrix>(all.data(), rows, columns);
}
std::vector<double> elements(const Matrix& m) {
  return {m.data(), m.data() + m.size()};
}

/// terms * u * sum |a b| (Higham 2002, section 3.1), plus the result's rounding errors.
std::vector<double> bounds(const Matrix& magnitude, double terms, DType result, int roundings = 1) {
  return elements(magnitude *
                  ((terms + 1) * test::rounding(DType::f32) + roundings * test::rounding(result)));
}

class DenseTest : public test::OperationTest {
 protected:
  /// Y is the type of the result.
  template <class T, class Y>
  void check(DenseSpec s) {
    s.compute = DTypeOf<T>::value;
    s.output = DTypeOf<Y>::value;
    SCOPED_TRACE(s.to_string());
    const auto rows = static_cast<std::size_t>(s.rows), in = static_cast<std::size_t>(s.in),
               out = static_cast<std::size_t>(s.out);
    const auto x = random_values<T>(rows * in, 1), w = random_values<T>(out * in, 2),
               dy = random_values<T>(rows * out, 4);
    const auto bias = random_values<float>(out, 3);
    const auto dense = Dense::plan(s, stream());
    const Buffer<std::byte> scratch = buffer<std::byte>(dense->workspace_bytes());
    const Workspace workspace{scratch.data(), scratch.size()};
    const Buffer<T> device_x = buffer(x), device_w = buffer(w), device_dy = buffer(dy);
    const Buffer<float> device_bias = buffer(bias);
    const Buffer<T> dx = buffer<T>(rows * in), dw = buffer<T>(out * in);
    const Buffer<Y> y = buffer<Y>(rows * out);
    const Buffer<float> dbias = buffer<float>(out);

    const Matrix X = matrix(x, s.rows, s.in), W = matrix(w, s.out, s.in),
                 B = matrix(bias, 1, s.out), G = matrix(dy, s.rows, s.out);
    dense->forward(stream(), device_x, device_w, s.bias ? device_bias.data() : nullptr, y,
                   workspace);
    Matrix expected = X * W.transpose();
    Matrix magnitude = X.cwiseAbs() * W.cwiseAbs().transpose();
    if (s.bias) {
      expected.rowwise() += B.row(0);
      magnitude.rowwise() += B.cwiseAbs().row(0);
    }
    if (s.activation == Activation::relu) expected = expected.cwiseMax(0.0);
    // If the bias is not fused with the product, it is added to the rounded product.
    expect_within(y.values(), elements(expected), bounds(magnitude, s.in + 1, s.output, 2), "y");
    if (s.input_gradient) {
      dense->backward_data(stream(), device_dy, device_w, dx, workspace);
      expect_within(dx.values(), elements(G * W),
                    bounds(G.cwiseAbs() * W.cwiseAbs(), s.out, s.compute), "dx");
    }
    dense->backward_weights(stream(), device_x, device_dy, dw, s.bias ? dbias.data() : nullptr,
                            workspace);
    const auto terms = static_cast<double>(s.rows);
    expect_within(dw.values(), elements(G.transpose() * X),
                  bounds(G.cwiseAbs().transpose() * X.cwiseAbs(), terms, s.compute), "dw");
    if (s.bias) {
      expect_within(dbias.values(), elements(G.colwise().sum()),
                    bounds(G.cwiseAbs().colwise().sum(), terms, DType::f32), "dbias");
    }
  }

  const std::vector<DenseSpec> table_ = {
      {.rows = 1, .in = 1, .out = 1},
      {.rows = 128, .in = 2048, .out = 10},
      {.rows = 7, .in = 2, .out = 64, .activation = Activation::relu, .input_gradient = false},
      {.rows = 33, .in = 64, .out = 64, .activation = Activation::relu},
      {.rows = 5, .in = 19, .out = 3, .bias = false},
      {.rows = 16, .in = 128, .out = 1},
  };
};

TEST_P(DenseTest, AgreesWithDoublePrecisionF32) {
  for (const DenseSpec& spec : table_) check<float, float>(spec);
}

TEST_P(DenseTest, AgreesWithDoublePrecisionBf16) {
  for (const DenseSpec& spec : table_) {
    check<bf16, float>(spec);  // logits
    check<bf16, bf16>(spec);   // hidden layers
  }
}

WS_ON_EVERY_BACKEND(DenseTest);

TEST(DensePlan, RefusesImpossibleShapes) {
  const Stream stream(Device::cpu(), 1);
  EXPECT_THROW(Dense::plan({.rows = 0}, stream), Error);
  EXPECT_THROW(Dense::plan({.in = 0}, stream), Error);
  EXPECT_THROW(Dense::plan({.output = DType::u8}, stream), Error);
}

}  // namespace
}  // namespace wellspring::ops::test
