#include "kernels/ops/activation.h"

#include "kernels/runtime/launch.h"

#include <type_traits>

namespace wellspring::ops {
namespace {

/// Calls f(constant) with the activation as a compile-time constant.
template <class F>
void visit_smooth(Smooth kind, F f) {
  if (kind == Smooth::gelu) {
    f(std::integral_constant<Smooth, Smooth::gelu>());
  } else {
    f(std::integral_constant<Smooth, Smooth::silu>());
  }
}

}  // namespace

void smooth_activation(Stream& stream, Smooth kind, DType dtype, std::int64_t n, const void* x,
                       void* y) {
  visit_float(dtype, [&]<class T>(T) {
    visit_smooth(kind, [&]<class Kind>(Kind) {
      league(stream, "smooth_activation", chunks(n), {kChunkTeam},
             SmoothActivation<T, Kind::value>{static_cast<const T*>(x), static_cast<T*>(y), n});
    });
  });
}

void smooth_activation_backward(Stream& stream, Smooth kind, DType dtype, std::int64_t n,
                                const void* x, const void* dy, void* dx) {
  visit_float(dtype, [&]<class T>(T) {
    visit_smooth(kind, [&]<class Kind>(Kind) {
      league(stream, "smooth_activation_backward", chunks(n), {kChunkTeam},
             SmoothActivationBackward<T, Kind::value>{
                 static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dx), n});
    });
  });
}

}  // namespace wellspring::ops
