// Convolutions and dense layers of the stand-in: enqueued f32 operations of oneDNN replace cuDNN
// and cuBLASLt. They read bf16 as f32, compute in f32 and round once, as tensor cores do.
#include "kernels/ops/cpu/conv2d.h"
#include "kernels/ops/cpu/dense.h"
#include "kernels/ops/cuda/attention.h"
#include "kernels/ops/cuda/conv2d.h"
#include "kernels/ops/cuda/dense.h"
#include "kernels/ops/cuda/pointers.h"
#include "kernels/ops/cuda/versions.h"
#include "kernels/ops/plan_log.h"
#include "kernels/runtime/dtype.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace wellspring::ops::cuda {
namespace {

/// Element counts, and the types given by the spec.
struct Operands {
  std::size_t x, w, y;
  DType compute, output;
};

class Input {
 public:
  Input(const void* data, std::size_t n, DType dtype) : data_(data) {
    if (dtype == DType::f32) return;
    const auto* const narrow = static_cast<const bf16*>(data);
    wide_.assign(n, 0);
    std::transform(narrow, narrow + n, wide_.begin(), [](bf16 v) { return static_cast<float>(v); });
    data_ = wide_.data();
  }
  operator const void*() const { return data_; }  // NOLINT: acts as the pointer it replaces

 private:
  const void* data_;
  std::vector<float> wide_;
};

class Output {
 public:
  Output(void* data, std::size_t n, DType dtype) : data_(data) {
    if (dtype != DType::f32) wide_.resize(n);
  }
  ~Output() {
    std::transform(wide_.begin(), wide_.end(), static_cast<bf16*>(data_),
                   [](float v) { return bf16(v); });
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  operator void*() { return wide_.empty() ? data_ : wide_.data(); }  // NOLINT: as above

 private:
  void* data_;
  std::vector<float> wide_;
};

/// A CPU operation whose calls are enqueued. Its plan lives until all queued calls have run.
template <class Operation>
class OnHost final : public Operation {
 public:
  OnHost(std::shared_ptr<Stream> host, std::unique_ptr<Operation> planned, Operands operands)
      : host_(std::move(host)), planned_(std::move(planned)), n_(operands) {}

  std::size_t workspace_bytes() const override { return planned_->workspace_bytes(); }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    require_aligned("forward", {x, w, bias, y, workspace.data});
    enqueue(stream, "forward", [=](Operation& planned, Stream& host, const Operands& n) {
      Output wide_y(y, n.y, n.output);
      planned.forward(host, Input(x, n.x, n.compute), Input(w, n.w, n.compute), bias, wide_y,
                      workspace);
    });
  }

  void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    require_aligned("backward data", {dy, w, dx, workspace.data});
    enqueue(stream, "backward data", [=](Operation& planned, Stream& host, const Operands& n) {
      Output wide_dx(dx, n.x, n.compute);
      planned.backward_data(host, Input(dy, n.y, n.compute), Input(w, n.w, n.compute), wide_dx,
                            workspace);
    });
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    require_aligned("backward weights", {x, dy, dw, dbias, workspace.data});
    enqueue(stream, "backward weights", [=](Operation& planned, Stream& host, const Operands& n) {
      Output wide_dw(dw, n.w, n.compute);
      planned.backward_weights(host, Input(x, n.x, n.compute), Input(dy, n.y, n.compute), wide_dw,
                               dbias, workspace);
    });
  }

 private:
  template <class Work>
  void enqueue(Stream& stream, const char* name, Work work) {
    stand_in::launch_kernel(
        stream.native(), name,
        [host = host_, planned = planned_, n = n_, work] { work(*planned, *host, n); });
  }

  std::shared_ptr<Stream> host_;
  std::shared_ptr<Operation> planned_;
  Operands n_;
};

}  // namespace

std::unique_ptr<Conv2d> plan_conv2d(const Conv2dSpec& spec, const Stream&) {
  const auto product = [](auto... factors) { return (static_cast<std::size_t>(factors) * ...); };
  const Operands operands = {
      product(spec.batch, spec.in_height, spec.in_width, spec.in_channels),
      product(spec.out_channels, spec.kernel, spec.kernel, spec.in_channels),
      product(spec.batch, spec.out_height(), spec.out_width(), spec.out_channels), spec.compute,
      spec.compute};
  Conv2dSpec in_f32 = spec;
  in_f32.compute = DType::f32;
  auto host = std::make_shared<Stream>(Device::cpu(), 1);
  auto planned = cpu::plan_conv2d(in_f32, *host);
  return std::make_unique<OnHost<Conv2d>>(std::move(host), std::move(planned), operands);
}

std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream) {
  stream.library<PlanLog>()->algorithms[spec.to_string()] = "oneDNN's";
  const auto rows = static_cast<std::size_t>(spec.rows), in = static_cast<std::size_t>(spec.in),
             out = static_cast<std::size_t>(spec.out);
  const Operands operands = {rows * in, out * in, rows * out, spec.compute, spec.output};
  DenseSpec in_f32 = spec;
  in_f32.compute = in_f32.output = DType::f32;
  auto host = std::make_shared<Stream>(Device::cpu(), 1);
  auto planned = cpu::plan_dense(in_f32, *host);
  return std::make_unique<OnHost<Dense>>(std::move(host), std::move(planned), operands);
}

std::unique_ptr<Attention> plan_attention(const AttentionSpec&, const Stream&) {
  return nullptr;
}

std::string cudnn_version() {
  return "none: a stand-in on oneDNN, in f32";
}

std::string cublas_lt_version() {
  return "none: a stand-in on oneDNN, in f32";
}

}  // namespace wellspring::ops::cuda
