// Elementwise operations: ReLU and its gradient, addition, conversion between types. Called by
// kernels/ops/elementwise.cpp; host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"

#include <cstdint>

namespace wellspring::ops {

/// y = max(x, 0), written so that NaN propagates and is detected.
template <class T>
struct Relu {
  const T* x;
  T* y;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, y, [](float value) { return value < 0 ? 0.0f : value; }, x);
  }
};

/// dx = dy where y > 0, otherwise 0.
template <class T>
struct ReluBackward {
  const T* y;
  const T* dy;
  T* dx;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, dx,
        [](float output, float gradient) { return output > 0 ? gradient : 0.0f; }, y, dy);
  }
};

/// z = x + y.
template <class T>
struct Add {
  const T* x;
  const T* y;
  T* z;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, z, [](float left, float right) { return left + right; }, x,
        y);
  }
};

template <class From, class To>
struct Convert {
  const From* x;
  To* y;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    team_transform(
        team, range.begin, range.end, y, [](float value) { return value; }, x);
  }
};

}  // namespace wellspring::ops
