// PLACEHOLDER until the device layer's kernels/math.h lands.
#pragma once
#include <cmath>
#include "kernels/macros.h"
#include "kernels/philox.h"
namespace wellspring {
inline constexpr float kTurnsPerRadian = 0.15915494309189535f;
WS_INLINE float floor_of(float x) { return floorf(x); }
WS_INLINE float sin_turns(float x) { return sinf(x * 6.2831853f); }
WS_INLINE float cos_turns(float x) { return cosf(x * 6.2831853f); }
WS_INLINE float exp(float x) { return expf(x); }
WS_INLINE float log(float x) { return logf(x); }
}
namespace wellspring {
struct NormalPair { float a, b; };
WS_INLINE NormalPair box_muller(unsigned u, unsigned v) {
  const float r = sqrtf(-2 * log(unit_float_open(u)));
  const float t = unit_float(v);
  return {r * cos_turns(t), r * sin_turns(t)};
}
}
