// Network operations. Specs are value types. Planning (shapes, workspace, support) is separate from
// running, so it can be tested without a device. Called by train/; host only.
//
// Activations are NHWC; the rows of the batch are the first dimension. Weights are KRSC (output
// channel, row, column, input channel); dense weights are [out, in]. `compute` is the type of
// activations, weights and weight gradients (f32 or bf16); biases, normalisation parameters,
// statistics, losses and their gradients are f32. Accumulation is f32 everywhere. Results are
// bit-identical in every run on the same kind of processor with the same libraries and thread
// count. Libraries choose kernels by shape, so a row's bits may change with the number of rows,
// within the rounding errors of the sums. Nothing allocates after planning.
//
// Every run call only enqueues work on its stream and may be recorded into a StepGraph. Pointers
// refer to memory of the stream's device and are aligned to 16 bytes, as is every tensor inside a
// flat arena. Workspace is aligned to 256 bytes and may be shared within one stream.
#pragma once

#include "kernels/runtime/device.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace wellspring::ops {

class PartTotals;

struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  /// Totals that the caller launches later, but before the workspace changes (see
  /// kernels/ops/part_totals.h); null: an operation launches its own.
  PartTotals* totals = nullptr;
};

enum class Activation : std::uint8_t { none, relu };

/// Common interface of convolutions and dense layers: y = act(linear(x, w) + bias), with the shapes
/// of their specs.
class LinearLayer {
 public:
  virtual ~LinearLayer() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// `bias` is f32, one value per output channel; null if the spec has none.
  virtual void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
                       Workspace workspace) = 0;
  /// Computes dx. dy is the gradient before the activation (see relu_backward), in the compute
  /// type.
  virtual void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                             Workspace workspace) = 0;
  /// Computes dw in the compute type and dbias in f32 (may be null). Overwrites them.
  virtual void backward_weights(Stream& stream, const void* x, const void* dy, void* dw,
                                float* dbias, Workspace workspace) = 0;
  /// True if backward_weights uses workspace.totals.
  virtual bool sums_parts() const { return false; }
};

/// 2-D convolution with dilation 1 and groups 1: x [N,H,W,C], w [K,R,S,C], bias [K], y [N,P,Q,K].
struct Conv2dSpec {
  std::int64_t batch = 1;
  int in_height = 1, in_width = 1, in_channels = 1, out_channels = 1;
  int kernel = 3, stride = 1, padding = 1;
  bool bias = true;
  Activation activation = Activation::none;
  DType compute = DType::f32;
  bool input_gradient = true;  ///< false for the first layer, where backward_data is never called
  int out_height() const { return (in_height + 2 * padding - kernel) / stride + 1; }
  int out_width() const { return (in_width + 2 * padding - kernel) / stride + 1; }
  std::string to_string() const;
};

class Conv2d : public LinearLayer {
 public:
  /// Throws config errors for impossible shapes, device errors for shapes without a back end.
  static std::unique_ptr<Conv2d> plan(const Conv2dSpec& spec, const Stream& stream);
  /// CPU: true if sharing the whole batch among all threads is faster than giving each thread one
  /// of `shards` shards. This is the case if the weights are larger than the data that a shard
  /// reads and writes. False if the bits would then depend on the number of threads. Throws the
  /// config errors of plan().
  static bool better_shared(const Conv2dSpec& spec, std::int64_t shards);
};

/// Dense layer: x [rows, in], w [out, in], bias [out], y [rows, out].
struct DenseSpec {
  std::int64_t rows = 1;
  int in = 1, out = 1;
  bool bias = true;
  Activation activation = Activation::none;
  DType compute = DType::f32;
  DType output = DType::f32;  ///< type of y: logits are f32 even in bf16 networks
  bool input_gradient = true;
  std::string to_string() const;
};

class Dense : public LinearLayer {
 public:
  /// Throws the errors of Conv2d::plan.
  static std::unique_ptr<Dense> plan(const DenseSpec& spec, const Stream& stream);
};

/// The gradient that arrives at a normalisation.
struct OutputGradient {
  OutputGradient(const void* of_output, void* added = nullptr, bool of_average = false)
      : data(of_output), again(added), averaged(of_average) {}
  const void* data;
  void* again;    ///< null, or a second gradient to be added; may be overwritten
  bool averaged;  ///< `data` is the gradient of the mean of y over H and W; `again` is null
};

/// Group normalisation over (H, W, channels of the group): y = act(gamma * xhat + beta + residual).
/// The residual and the activation (a ReLU) are optional. Source: Y. Wu, K. He, "Group
/// Normalization", ECCV 2018, eq. 1-4; epsilon 1e-5 as in the paper.
struct GroupNormSpec {
  std::int64_t batch = 1;
  int height = 1, width = 1, channels = 1, groups = 1;
  float epsilon = 1e-5f;
  bool residual = false;
  Activation activation = Activation::none;
  DType compute = DType::f32;
};
/// 2x2 max pooling before a group normalisation. The input `x` of the pooling and its gradient `dx`
/// are [N,2H,2W,C].
struct PoolBeforeNorm {
  Activation activation = Activation::none;  ///< activation after the pooling
  std::uint8_t* winner = nullptr;            ///< [N,H,W,C], see max_pool_forward
  const void* x = nullptr;                   ///< forward
  void* dx = nullptr;                        ///< backward
};
/// Writes mean and rstd [batch, groups] for the backward pass, and the mean of y over H and W [N,C]
/// to `average` if it is not null. With `pool`, also writes the pooled values to x. Here and in the
/// backward pass, `partials` holds group_norm_partials(spec) floats.
void group_norm_forward(Stream& stream, const GroupNormSpec& spec, const void* x,
                        const float* gamma, const float* beta, const void* residual, void* y,
                        float* mean, float* rstd, float* partials, void* average = nullptr,
                        const PoolBeforeNorm* pool = nullptr);
/// Computes dx, dgamma, dbeta and dresidual, which is dy propagated back through the activation.
/// dresidual may be null, and dgamma and dbeta may both be null. With `pool`, also computes
/// pool->dx from dx. With `later`, dgamma and dbeta are valid after its launch.
void group_norm_backward(Stream& stream, const GroupNormSpec& spec, const void* x, const void* y,
                         const OutputGradient& dy, const float* gamma, const float* mean,
                         const float* rstd, void* dx, void* dresidual, float* dgamma, float* dbeta,
                         float* partials, PartTotals* later = nullptr,
                         const PoolBeforeNorm* pool = nullptr);
std::size_t group_norm_partials(const GroupNormSpec& spec);

/// y = x where x > 0, else 0; NaN passes through. y may be x.
void relu(Stream& stream, DType dtype, std::int64_t n, const void* x, void* y);
/// dx = dy where y > 0, else 0; dx may be dy.
void relu_backward(Stream& stream, DType dtype, std::int64_t n, const void* y, const void* dy,
                   void* dx);
/// Activations with a derivative everywhere.
enum class Smooth : std::uint8_t {
  gelu,  ///< x Phi(x): D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016; exact form
  silu,  ///< x / (1 + exp(-x)): S. Elfwing, E. Uchibe, K. Doya, Neural Networks 107 (2018)
};
/// y may be x.
void smooth_activation(Stream& stream, Smooth kind, DType dtype, std::int64_t n, const void* x,
                       void* y);
/// dx = dy times the derivative at x; dx may be x or dy.
void smooth_activation_backward(Stream& stream, Smooth kind, DType dtype, std::int64_t n,
                                const void* x, const void* dy, void* dx);
/// z = x + y element by element; z may be x or y.
void add(Stream& stream, DType dtype, std::int64_t n, const void* x, const void* y, void* z);
void convert(Stream& stream, std::int64_t n, DType from, const void* x, DType to, void* y);

struct PoolSpec {
  std::int64_t batch = 1;
  int height = 2, width = 2, channels = 1;  ///< input shape
  int window = 2, stride = 2, padding = 0;  ///< max pooling: square windows, symmetric padding
  int out_height() const { return (height + 2 * padding - window) / stride + 1; }
  int out_width() const { return (width + 2 * padding - window) / stride + 1; }
  /// relu: y = max(0, largest value of the window); the backward pass includes the ReLU. ReLU and
  /// max commute, so the convolution before the pooling needs neither a ReLU nor an extra pass over
  /// memory.
  Activation activation = Activation::none;
  DType compute = DType::f32;
};
/// Marks a 2x2 window that has no positive value, with Activation::relu.
inline constexpr std::uint8_t kNoWinner = 4;
/// `winner` [N,P,Q,C] u8: row-major index of the largest value in the window (the first of equal
/// values), or kNoWinner. Rows and columns outside all windows have gradient 0. Padding is never
/// the winner. Throws a config error for impossible windows.
void max_pool_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y,
                      std::uint8_t* winner);
void max_pool_backward(Stream& stream, const PoolSpec& spec, const void* dy,
                       const std::uint8_t* winner, void* dx);

/// Convolution and 2x2 max pooling as one operation: y = act(max_pool(conv(x, w) + bias)). Only the
/// pooled values (a quarter) and the winners are kept. Where this is faster, the backward pass
/// skips the three quarters of the convolution's gradient that are zero.
class ConvPool2d {
 public:
  /// `spec` describes the convolution; its activation is applied after the pooling.
  static std::unique_ptr<ConvPool2d> plan(const Conv2dSpec& spec, const Stream& stream);
  virtual ~ConvPool2d() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// True if backward uses workspace.totals.
  virtual bool sums_parts() const { return false; }
  /// x [N,H,W,C], w [K,R,S,C], bias [K] (f32) -> y [N,P/2,Q/2,K] and winner; see max_pool_forward.
  virtual void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
                       std::uint8_t* winner, Workspace workspace) = 0;
  /// dy [N,P/2,Q/2,K] is the gradient of y, after the activation. Computes dx (null without
  /// spec.input_gradient), dw in the compute type, and dbias (f32, may be null). Overwrites them.
  /// If dw is null, computes neither dw nor dbias, and does not read x.
  virtual void backward(Stream& stream, const void* x, const void* w, const void* dy,
                        const std::uint8_t* winner, void* dx, void* dw, float* dbias,
                        Workspace workspace) = 0;
};

/// Mean over H and W: [N,H,W,C] -> [N,C].
void global_mean_forward(Stream& stream, const PoolSpec& spec, const void* x, void* y);
void global_mean_backward(Stream& stream, const PoolSpec& spec, const void* dy, void* dx);

}  // namespace wellspring::ops
