#include "kernels/ops/cuda/attention.h"

#include "core/error.h"
#include "kernels/ops/attention_teams.h"
#include "kernels/ops/cuda/cudnn.h"
#include "kernels/ops/cuda/pointers.h"
#include "kernels/runtime/launch.h"

#include <algorithm>

namespace wellspring::ops::cuda {
namespace {

class CudnnAttention final : public Attention {
 public:
  CudnnAttention(const AttentionSpec& spec, const CudnnTarget& target)
      : spec_(spec),
        forward_(spec, AttentionPass::forward, target),
        backward_(spec, AttentionPass::backward, target) {}

  std::size_t workspace_bytes() const override {
    return std::max(forward_.workspace_bytes(), backward_.workspace_bytes());
  }
  std::size_t saved_bytes() const override {
    return log_sums() * sizeof(float) +
           (spec_.masked ? static_cast<std::size_t>(spec_.batch) * sizeof(std::int32_t) : 0);
  }

  void forward(Stream& stream, const void* qkv, const std::int32_t* count, void* y, void* saved,
               Workspace workspace) override {
    require_aligned("attention", {qkv, y, saved, workspace.data});
    auto* log_sum = static_cast<float*>(saved);
    auto* clamped = reinterpret_cast<std::int32_t*>(log_sum + log_sums());
    if (spec_.masked) {
      map(stream, "attention_counts", spec_.batch, ClampedCounts{count, clamped, spec_.tokens});
    }
    forward_.run({.qkv = qkv, .count = clamped, .y = y, .log_sum = log_sum}, workspace);
    clear_missing(stream, count, 1, y);
  }

  void backward(Stream& stream, const void* qkv, const std::int32_t* count, const void* y,
                const void* dy, const void* saved, void* dqkv, Workspace workspace) override {
    require_aligned("attention gradient", {qkv, y, dy, saved, dqkv, workspace.data});
    const auto* log_sum = static_cast<const float*>(saved);
    backward_.run({.qkv = qkv,
                   .count = reinterpret_cast<const std::int32_t*>(log_sum + log_sums()),
                   .y = y,
                   .log_sum = log_sum,
                   .dy = dy,
                   .dqkv = dqkv},
                  workspace);
    clear_missing(stream, count, 3, dqkv);
  }

 private:
  std::size_t log_sums() const {
    return static_cast<std::size_t>(spec_.batch * spec_.heads * spec_.tokens);
  }

  /// Writes 0 to tokens that do not exist, in `values` [batch, tokens, parts, heads, head_width].
  void clear_missing(Stream& stream, const std::int32_t* count, int parts, void* values) const {
    if (!spec_.masked) return;
    league(stream, "attention_clear", spec_.batch, {kChunkTeam},
           ClearMissingTokens{count, static_cast<bf16*>(values), spec_.tokens,
                              parts * spec_.heads * spec_.head_width});
  }

  AttentionSpec spec_;
  AttentionGraph forward_, backward_;
};

}  // namespace

std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream) {
  if (spec.compute != DType::bf16) return nullptr;
  const CudnnTarget target = CudnnTarget::of(stream);
  try {
    return std::make_unique<CudnnAttention>(spec, target);
  } catch (const Error&) {  // the GPU or cuDNN's version is too old for this shape
    return nullptr;
  }
}

}  // namespace wellspring::ops::cuda
