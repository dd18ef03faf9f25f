#include "kernels/ops/cpu/linear_passes.h"

#include <cstdint>

namespace wellspring::ops::cpu {
namespace {

/// max(y, 0), written so that NaN propagates and is detected. oneDNN's own ReLU turns NaN into
/// 0.
template <class T>
void apply_relu(T* y, std::int64_t n, int threads) {
#pragma omp parallel for simd schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(y[i]) < 0 ? T(0.0f) : y[i];
}

}  // namespace

void LinearPasses::forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
                           Workspace workspace) {
  WS_EXPECT(workspace.bytes >= workspace_bytes_);
  stream.run(NodeKind::kernel, name_ + " forward", [=, this, threads = stream.threads()] {
    const ThreadScope scope(threads);
    const void* weights = forward_.weights.source(w, workspace);
    void* scratchpad = at(workspace, forward_.scratchpad);
    if (has_bias()) {
      forward_.primitive.run({x, weights, y, scratchpad, bias});
    } else {
      forward_.primitive.run({x, weights, y, scratchpad});
    }
    if (activation_ == Activation::relu)
      visit_float(output_, [&]<class T>(T) {
        apply_relu(static_cast<T*>(y), static_cast<std::int64_t>(tensors_.y.get_size() / sizeof(T)),
                   threads);
      });
  });
}

void LinearPasses::backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                                 Workspace workspace) {
  WS_EXPECT(workspace.bytes >= workspace_bytes_);
  stream.run(NodeKind::kernel, name_ + " backward data", [=, this, threads = stream.threads()] {
    const ThreadScope scope(threads);
    const void* weights = data_.weights.source(w, workspace);
    data_.primitive.run({dy, weights, dx, at(workspace, data_.scratchpad)});
  });
}

void LinearPasses::backward_weights(Stream& stream, const void* x, const void* dy, void* dw,
                                    float* dbias, Workspace workspace) {
  WS_EXPECT(workspace.bytes >= workspace_bytes_);
  stream.run(NodeKind::kernel, name_ + " backward weights", [=, this, threads = stream.threads()] {
    const ThreadScope scope(threads);
    void* gradient = weights_.weights.target(dw, workspace);
    void* scratchpad = at(workspace, weights_.scratchpad);
    if (has_bias()) {
      void* bias = dbias != nullptr ? dbias : at(workspace, spare_bias_);
      weights_.primitive.run({x, dy, gradient, scratchpad, bias});
    } else {
      weights_.primitive.run({x, dy, gradient, scratchpad});
    }
    weights_.weights.write_back(dw, workspace);
  });
}

}  // namespace wellspring::ops::cpu
