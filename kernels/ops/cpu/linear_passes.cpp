#include "kernels/ops/cpu/linear_passes.h"

namespace wellspring::ops::cpu {

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
