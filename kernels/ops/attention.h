// Multi-head scaled dot-product attention within each sample: every token attends to all tokens of
// its sample. Called by train/network; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace wellspring::ops {

/// softmax(q k^T / sqrt(head_width)) v per head. Source: A. Vaswani et al., "Attention Is All You
/// Need", NeurIPS 2017, eq. 1.
struct AttentionSpec {
  std::int64_t batch = 1;
  int tokens = 1, heads = 1, head_width = 1;
  bool masked = false;  ///< samples have different numbers of tokens
  DType compute = DType::f32;
  bool operator==(const AttentionSpec&) const = default;
  std::string to_string() const;
};

class Attention {
 public:
  /// Throws config errors for impossible shapes, device errors for shapes without a back end.
  static std::unique_ptr<Attention> plan(const AttentionSpec& spec, const Stream& stream);
  virtual ~Attention() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Bytes that forward() keeps for backward().
  virtual std::size_t saved_bytes() const = 0;
  /// qkv [batch, tokens, 3, heads, head_width], y [batch, tokens, heads, head_width]. `count`
  /// [batch] is read only if the spec is masked: only the first count[b] tokens of sample b exist.
  /// Other tokens are not attended to, and their y is 0.
  virtual void forward(Stream& stream, const void* qkv, const std::int32_t* count, void* y,
                       void* saved, Workspace workspace) = 0;
  /// Overwrites dqkv; it is 0 for tokens that do not exist.
  virtual void backward(Stream& stream, const void* qkv, const std::int32_t* count, const void* y,
                        const void* dy, const void* saved, void* dqkv, Workspace workspace) = 0;
};

}  // namespace wellspring::ops
