#include "kernels/ops/attention.h"

#include "core/error.h"
#include "core/expect.h"
#include "kernels/ops/attention_teams.h"
#include "kernels/ops/cpu/attention.h"
#include "kernels/ops/plan_log.h"
#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#if WELLSPRING_CUDA
#include "kernels/ops/cuda/attention.h"
#endif

namespace wellspring::ops {

std::string AttentionSpec::to_string() const {
  return fmt::format("attention {}x{} tokens, {} heads of {}, {}{}", batch, tokens, heads,
                     head_width, wellspring::to_string(compute), masked ? ", masked" : "");
}

namespace {

void check(const AttentionSpec& spec) {
  const auto refuse = [&](std::string why) {
    fail(ErrorKind::config, {spec.to_string() + ": impossible shape", std::move(why)});
  };
  if (spec.batch < 1) refuse("there must be at least one sample");
  if (spec.tokens < 1) refuse("there must be at least one token");
  if (spec.heads < 1 || spec.head_width < 1) {
    refuse("there must be at least one head with at least one feature");
  }
  if (spec.compute != DType::f32 && spec.compute != DType::bf16) {
    refuse("only f32 and bf16 are supported");
  }
}

/// Tokens per block. Larger blocks are no faster on a host and leave fewer resident teams on a GPU.
constexpr int kBlock = 32, kSmallestBlock = 16;

/// The largest scratch that any of the functors needs.
std::size_t most_scratch(const AttentionShape& shape) {
  return std::max({AttentionForward<float>::scratch_bytes(shape),
                   AttentionQueryGradient<float>::scratch_bytes(shape),
                   AttentionKeyGradient<float>::scratch_bytes(shape)});
}

/// Chooses smaller blocks for wide heads, so that the scratch of every functor fits.
AttentionShape shape_of(const AttentionSpec& spec, Device device) {
  const std::size_t limit = device.is_cpu() ? kHostScratchBytes : scratch_limit(device);
  AttentionShape shape{spec.tokens, spec.heads, spec.head_width, kBlock,
                       static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_width)))};
  if (most_scratch(shape) > limit) shape.block = kSmallestBlock;
  if (most_scratch(shape) > limit) {
    fail(ErrorKind::device,
         {fmt::format("{}: the heads are too wide for {}", spec.to_string(), device.to_string()),
          fmt::format("they need {} bytes of scratch, but only {} are available",
                      most_scratch(shape), limit),
          "use more heads, so that each is narrower"});
  }
  return shape;
}

/// The functors of attention_teams.h.
template <class T>
class TeamAttention final : public Attention {
 public:
  TeamAttention(const AttentionSpec& spec, Device device)
      : spec_(spec), shape_(shape_of(spec, device)) {}

  std::size_t workspace_bytes() const override { return rows() * sizeof(float); }
  std::size_t saved_bytes() const override { return rows() * sizeof(float); }

  void forward(Stream& stream, const void* qkv, const std::int32_t* count, void* y, void* saved,
               Workspace /*workspace*/) override {
    launch(stream, "attention_forward",
           AttentionForward<T>{static_cast<const T*>(qkv), masked(count), static_cast<T*>(y),
                               static_cast<float*>(saved), shape_});
  }

  void backward(Stream& stream, const void* qkv, const std::int32_t* count, const void* y,
                const void* dy, const void* saved, void* dqkv, Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes());
    const AttentionGradient<T> in{static_cast<const T*>(qkv), masked(count),
                                  static_cast<const T*>(dy), static_cast<const float*>(saved),
                                  shape_};
    T* to = static_cast<T*>(dqkv);
    auto* products = static_cast<float*>(workspace.data);
    launch(stream, "attention_query_gradient",
           AttentionQueryGradient<T>{in, static_cast<const T*>(y), to, products});
    launch(stream, "attention_key_gradient", AttentionKeyGradient<T>{in, to, products});
  }

 private:
  const std::int32_t* masked(const std::int32_t* count) const {
    WS_EXPECT(count != nullptr || !spec_.masked);
    return spec_.masked ? count : nullptr;
  }
  /// Rows of the score matrices of all heads.
  std::size_t rows() const {
    return static_cast<std::size_t>(spec_.batch * spec_.heads * spec_.tokens);
  }
  template <class Functor>
  void launch(Stream& stream, std::string_view name, const Functor& functor) const {
    league(stream, name, spec_.batch * spec_.heads * shape_.blocks(),
           {Functor::kLaunchBound.threads, Functor::scratch_bytes(shape_)}, functor);
  }

  AttentionSpec spec_;
  AttentionShape shape_;
};

}  // namespace

std::unique_ptr<Attention> Attention::plan(const AttentionSpec& spec, const Stream& stream) {
  check(spec);
  stream.library<PlanLog>()->attention_layers.push_back(spec);
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) {
    if (auto planned = cuda::plan_attention(spec, stream)) return planned;
  }
#endif
  if (stream.device().is_cpu()) {
    if (auto planned = cpu::plan_attention(spec, stream)) return planned;
  }
  return visit_float(spec.compute, [&]<class T>(T) -> std::unique_ptr<Attention> {
    return std::make_unique<TeamAttention<T>>(spec, stream.device());
  });
}

}  // namespace wellspring::ops
