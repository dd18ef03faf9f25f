#include "tests/train/network/reference.h"

#include "kernels/ops/dropout.h"

#include <Eigen/Core>

#include <cmath>
#include <stdexcept>

namespace wellspring::test {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A value as [batch * positions, channels].
struct Value {
  TensorShape shape;
  Matrix data;
};

Matrix matrix_of(const Doubles& values, Eigen::Index rows, Eigen::Index columns) {
  if (static_cast<Eigen::Index>(values.size()) != rows * columns)
    throw std::logic_error("reference: a tensor of another size");
  return Eigen::Map<const Matrix>(values.data(), rows, columns);
}

class Evaluator {
 public:
  Evaluator(const ReferenceInput& input, std::map<std::string, Doubles>* moved)
      : in_(input), moved_(moved) {}

  Value run(const Node& node, const std::vector<Value>& inputs) {
    node_ = &node;
    inputs_ = &inputs;
    return {node.output.shape, std::visit(*this, node.operation)};
  }

  Matrix operator()(const Convolution& c) const {
    const Value& x = input(0);
    const TensorShape& out = node_->output.shape;
    const int k = c.kernel, channels = x.shape.channels;
    Matrix patches = Matrix::Zero(in_.batch * out.positions(), k * k * channels);
    for (std::int64_t n = 0; n < in_.batch; ++n)
      for (int p = 0; p < out.height; ++p)
        for (int q = 0; q < out.width; ++q)
          for (int r = 0; r < k; ++r)
            for (int s = 0; s < k; ++s) {
              const int row = p * c.stride + r - c.margin(), column = q * c.stride + s - c.margin();
              if (row < 0 || row >= x.shape.height || column < 0 || column >= x.shape.width)
                continue;
              patches.block((n * out.height + p) * out.width + q, (r * k + s) * channels, 1,
                            channels) =
                  x.data.row((n * x.shape.height + row) * x.shape.width + column);
            }
    return linear(patches, c.channels, c.weights_of, c.bias);
  }
  Matrix operator()(const DepthwiseConvolution& c) const {
    const Value& x = input(0);
    const TensorShape& shape = x.shape;
    const int k = c.kernel;
    const Matrix weight = matrix_of(tensor("", "weight"), shape.channels, k * k).transpose();
    Matrix y = Matrix::Zero(x.data.rows(), x.data.cols());
    for (std::int64_t n = 0; n < in_.batch; ++n)
      for (int p = 0; p < shape.height; ++p)
        for (int q = 0; q < shape.width; ++q)
          for (int tap = 0; tap < k * k; ++tap) {
            const int row = p + tap / k - k / 2, column = q + tap % k - k / 2;
            if (row < 0 || row >= shape.height || column < 0 || column >= shape.width) continue;
            y.row((n * shape.height + p) * shape.width + q) +=
                x.data.row((n * shape.height + row) * shape.width + column)
                    .cwiseProduct(weight.row(tap));
          }
    if (c.bias) y.rowwise() += vector("bias", y.cols());
    return y;
  }
  Matrix operator()(const Dense& d) const {
    return linear(input(0).data, d.width, d.weights_of, d.bias);
  }
  Matrix operator()(const GroupNorm& g) const {
    const Value& x = input(0);
    const auto pixels = x.shape.positions();
    const int width = x.shape.channels / g.groups;
    Matrix y = x.data;
    for (std::int64_t n = 0; n < in_.batch; ++n)
      for (int group = 0; group < g.groups; ++group) {
        auto block = y.block(n * pixels, group * width, pixels, width);
        const double mean = block.mean();
        const double variance = (block.array() - mean).square().mean();
        block = ((block.array() - mean) / std::sqrt(variance + double{g.epsilon})).matrix();
      }
    return affine(y);
  }
  Matrix operator()(const BatchNorm& b) const {
    Matrix y = input(0).data;
    const auto rows = static_cast<double>(y.rows());
    const Eigen::RowVectorXd running_mean = vector("running_mean", y.cols());
    const Eigen::RowVectorXd running_variance = vector("running_var", y.cols());
    Eigen::RowVectorXd mean = running_mean, variance = running_variance;
    if (in_.mode == PassMode::train && !in_.frozen_norms.contains(node_->name)) {
      mean = y.colwise().mean();
      variance = (y.rowwise() - mean).array().square().colwise().mean();
      move("running_mean", running_mean, mean, double{b.momentum});
      move("running_var", running_variance, variance * (rows / (rows - 1)), double{b.momentum});
    }
    y = ((y.rowwise() - mean).array().rowwise() / (variance.array() + double{b.epsilon}).sqrt())
            .matrix();
    return affine(y);
  }
  Matrix operator()(const MaxPool& p) const {
    const Value& x = input(0);
    const TensorShape& out = node_->output.shape;
    Matrix y = Matrix::Constant(in_.batch * out.positions(), out.channels, -1e300);
    for (std::int64_t n = 0; n < in_.batch; ++n)
      for (int i = 0; i < out.height; ++i)
        for (int j = 0; j < out.width; ++j)
          for (int r = 0; r < p.window; ++r)
            for (int s = 0; s < p.window; ++s) {
              const int row = i * p.stride + r - p.padding, column = j * p.stride + s - p.padding;
              if (row < 0 || row >= x.shape.height || column < 0 || column >= x.shape.width)
                continue;
              auto largest = y.row((n * out.height + i) * out.width + j);
              largest =
                  largest.cwiseMax(x.data.row((n * x.shape.height + row) * x.shape.width + column));
            }
    return y;
  }
  Matrix operator()(const LayerNorm& n) const {
    Matrix y = input(0).data;
    y.colwise() -= y.rowwise().mean().eval();
    const Eigen::ArrayXd variance = y.array().square().rowwise().mean();
    return affine((y.array().colwise() / (variance + double{n.epsilon}).sqrt()).matrix());
  }
  Matrix operator()(const Relu&) const { return input(0).data.cwiseMax(0.0); }
  Matrix operator()(const Upsample&) const {
    const TensorShape &in = input(0).shape, &out = node_->output.shape;
    Matrix y(in_.batch * out.positions(), out.channels);
    for (std::int64_t n = 0; n < in_.batch; ++n)
      for (int p = 0; p < out.height; ++p)
        for (int q = 0; q < out.width; ++q)
          y.row((n * out.height + p) * out.width + q) =
              input(0).data.row((n * in.height + p / 2) * in.width + q / 2);
    return y;
  }
  Matrix operator()(const JoinOutputs&) const {
    Matrix y(in_.batch, node_->output.shape.channels);
    y << input(0).data, input(1).data;
    return y;
  }
  Matrix operator()(const AsOutput&) const { return input(0).data; }
  Matrix operator()(const Gelu&) const {
    return input(0).data.unaryExpr(
        [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; });
  }
  Matrix operator()(const Silu&) const {
    return input(0).data.unaryExpr([](double x) { return x / (1 + std::exp(-x)); });
  }
  Matrix operator()(const AddParameter& a) const {
    const Value& x = input(0);
    Matrix y = x.data;
    for (std::int64_t n = 0; n < in_.batch; ++n)
      y.middleRows(n * x.shape.positions(), x.shape.positions()) +=
          matrix_of(in_.tensors.at(a.values.name), x.shape.positions(), x.shape.channels);
    return y;
  }
  Matrix operator()(const ScaleChannels& s) const {
    const Value& x = input(0);
    const Matrix factors = matrix_of(in_.tensors.at(s.factors.name), 1, x.shape.channels);
    return (x.data.array().rowwise() * factors.row(0).array()).matrix();
  }
  Matrix operator()(const PrependTokens& p) const {
    const Value& x = input(0);
    const auto tokens = node_->output.shape.positions(), rest = x.shape.positions();
    Matrix y(in_.batch * tokens, x.shape.channels);
    for (std::int64_t n = 0; n < in_.batch; ++n) {
      y.middleRows(n * tokens, tokens - rest) =
          matrix_of(in_.tensors.at(p.tokens.name), tokens - rest, x.shape.channels);
      y.middleRows(n * tokens + tokens - rest, rest) = x.data.middleRows(n * rest, rest);
    }
    return y;
  }
  Matrix operator()(const SelectTokens& s) const {
    const Value& x = input(0);
    const auto count = node_->output.shape.positions();
    Matrix y(in_.batch * count, x.shape.channels);
    for (std::int64_t n = 0; n < in_.batch; ++n)
      y.middleRows(n * count, count) = x.data.middleRows(n * x.shape.positions() + s.first, count);
    return y;
  }
  Matrix operator()(const Attention& a) const {
    const Value& x = input(0);
    const auto tokens = x.shape.positions();
    const int w = a.head_width, width = a.heads * w;
    Matrix y = Matrix::Zero(in_.batch * tokens, width);
    for (std::int64_t n = 0; n < in_.batch; ++n) {
      const auto keys = a.masked ? in_.count[static_cast<std::size_t>(n)] : tokens;
      for (int h = 0; keys > 0 && h < a.heads; ++h) {
        const auto part = [&](int which) -> Matrix {
          return x.data.block(n * tokens, which * width + h * w, keys, w);
        };
        Matrix p = part(0) * part(1).transpose() / std::sqrt(double(w));
        p.colwise() -= p.rowwise().maxCoeff().eval();
        p = p.array().exp().matrix();
        p.array().colwise() /= p.array().rowwise().sum().eval();
        y.block(n * tokens, h * w, keys, w) = p * part(2);
      }
    }
    return y;
  }
  Matrix operator()(const Add&) const { return input(0).data + input(1).data; }
  Matrix operator()(const Concatenate&) const {
    Matrix y(input(0).data.rows(), node_->output.shape.channels);
    y << input(0).data, input(1).data;
    return y;
  }
  Matrix operator()(const GlobalMean&) const {
    const Value& x = input(0);
    Matrix y(in_.batch, x.shape.channels);
    for (std::int64_t n = 0; n < in_.batch; ++n)
      y.row(n) = x.data.middleRows(n * x.shape.positions(), x.shape.positions()).colwise().mean();
    return y;
  }
  Matrix operator()(const Dropout& d) const {
    Matrix y = input(0).data;
    if (in_.mode == PassMode::evaluate) return y;
    const auto columns = node_->output.shape.elements();
    const std::uint64_t key = named_key(in_.seed, node_->name);
    for (std::int64_t n = 0; n < in_.batch; ++n) {
      const Slot& slot = in_.slots[static_cast<std::size_t>(n)];
      const SampleRng rng = ops::dropout_rng(key, in_.step, slot);
      for (std::int64_t i = 0; i < columns; ++i) {
        const auto word =
            rng.block(Purpose::dropout, static_cast<std::uint32_t>(i / 4)).word[i % 4];
        y.data()[n * columns + i] *= word < double{d.rate} * 0x1p32 ? 0 : 1 / (1 - double{d.rate});
      }
    }
    return y;
  }
  Matrix operator()(const DropPath& d) const {
    Matrix y = input(0).data;
    if (in_.mode == PassMode::evaluate) return y;
    const std::uint64_t key = named_key(in_.seed, node_->name);
    const auto positions = node_->output.shape.positions();
    for (std::int64_t n = 0; n < in_.batch; ++n) {
      const Slot& slot = in_.slots[static_cast<std::size_t>(n)];
      const auto word = ops::dropout_rng(key, in_.step, slot).block(Purpose::dropout, 0).word[0];
      y.middleRows(n * positions, positions) *=
          word < double{d.rate} * 0x1p32 ? 0 : 1 / (1 - double{d.rate});
    }
    return y;
  }
  Matrix operator()(const ItemPool& p) const {
    const Value& x = input(0);
    Matrix y = Matrix::Zero(in_.batch, x.shape.channels);
    for (std::int64_t n = 0; n < in_.batch; ++n) {
      const int count = in_.count[static_cast<std::size_t>(n)];
      if (count == 0) continue;
      const auto items = x.data.middleRows(n * x.shape.positions(), count);
      y.row(n) = p.mean ? items.colwise().mean().eval() : items.colwise().sum().eval();
    }
    return y;
  }
  Matrix operator()(const Globals&) const {
    return matrix_of(in_.globals, in_.batch, node_->output.shape.channels);
  }

 private:
  const Value& input(std::size_t k) const { return (*inputs_)[k]; }
  const Doubles& tensor(const std::string& layer, const std::string& name) const {
    return in_.tensors.at((layer.empty() ? node_->name : layer) + "." + name);
  }
  Eigen::RowVectorXd vector(const std::string& name, Eigen::Index n) const {
    return matrix_of(tensor("", name), 1, n);
  }
  Matrix linear(const Matrix& x, int width, const std::string& owner, bool bias) const {
    Matrix y = x * matrix_of(tensor(owner, "weight"), width, x.cols()).transpose();
    if (bias) y.rowwise() += Eigen::RowVectorXd(matrix_of(tensor(owner, "bias"), 1, width));
    return y;
  }
  Matrix affine(const Matrix& xhat) const {
    const auto n = xhat.cols();
    return ((xhat.array().rowwise() * vector("weight", n).array()).rowwise() +
            vector("bias", n).array())
        .matrix();
  }
  void move(const std::string& name, const Eigen::RowVectorXd& from, const Eigen::RowVectorXd& to,
            double momentum) const {
    if (moved_ == nullptr) return;
    const Eigen::RowVectorXd value = from + momentum * (to - from);
    (*moved_)[node_->name + "." + name] = Doubles(value.data(), value.data() + value.size());
  }

  const ReferenceInput& in_;
  std::map<std::string, Doubles>* moved_;
  const Node* node_ = nullptr;
  const std::vector<Value>* inputs_ = nullptr;
};

}  // namespace

Doubles reference_outputs(const Tape& tape, const ReferenceInput& input,
                          std::map<std::string, Doubles>* moved) {
  Evaluator evaluator(input, moved);
  std::vector<Value> values(static_cast<std::size_t>(tape.values()));
  const TensorShape& shape = tape.input().shape;
  values[0] = {shape, matrix_of(input.x, input.batch * shape.positions(), shape.channels)};
  for (const Node& node : tape.nodes()) {
    std::vector<Value> inputs;
    for (const Tensor& read : node.inputs) {
      // Reshaped to the operation's input; the memory order is the same.
      const Matrix& data = values[static_cast<std::size_t>(read.value)].data;
      inputs.push_back(
          {read.shape, matrix_of(Doubles(data.data(), data.data() + data.size()),
                                 input.batch * read.shape.positions(), read.shape.channels)});
    }
    values[static_cast<std::size_t>(node.output.value)] = evaluator.run(node, inputs);
  }
  const Matrix& outputs = values.back().data;
  return Doubles(outputs.data(), outputs.data() + outputs.size());
}

}  // namespace wellspring::test
