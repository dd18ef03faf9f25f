// Operations on token tensors [batch, tokens, width]: prepending learned tokens, and selecting
// tokens. Called by train/network; host only.
#pragma once

#include "kernels/runtime/dtype.h"
#include "kernels/runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

struct PrependSpec {
  std::int64_t batch = 1;
  int extra = 1;   ///< learned tokens, the same for all samples
  int tokens = 1;  ///< tokens of x
  int width = 1;
  DType compute = DType::f32;
};
/// y [batch, extra + tokens, width] holds `extra` [extra, width], then the tokens of x.
void prepend_tokens(Stream& stream, const PrependSpec& spec, const float* extra, const void* x,
                    void* y);
/// Computes dx and dextra; either may be null. `partials` holds prepend_tokens_partials(spec)
/// floats and is used only for dextra.
void prepend_tokens_backward(Stream& stream, const PrependSpec& spec, const void* dy, void* dx,
                             float* dextra, float* partials);
std::size_t prepend_tokens_partials(const PrependSpec& spec);

/// y [batch, count, width] holds the tokens [first, first + count) of x.
void select_tokens(Stream& stream, DType dtype, std::int64_t batch, int tokens, int width,
                   int first, int count, const void* x, void* y);
/// dx is dy in the selected tokens and 0 elsewhere.
void select_tokens_backward(Stream& stream, DType dtype, std::int64_t batch, int tokens, int width,
                            int first, int count, const void* dy, void* dx);

}  // namespace wellspring::ops
