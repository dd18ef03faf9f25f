// Elementwise operations: ReLU and its gradient, addition, conversion between types. Called by
// kernels/ops/elementwise.cpp; host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

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
    const T* from = x;
    T* to = y;
    team_for(team, range.begin, range.end, [=](std::int64_t i) {
      const float value = static_cast<float>(from[i]);
      to[i] = T(value < 0 ? 0.0f : value);
    });
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
    const T *output = y, *gradient = dy;
    T* result = dx;
    team_for(team, range.begin, range.end, [=](std::int64_t i) {
      const float passed = static_cast<float>(gradient[i]);
      result[i] = T(static_cast<float>(output[i]) > 0 ? passed : 0.0f);
    });
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
    const T *left = x, *right = y;
    T* sum = z;
    team_for(team, range.begin, range.end, [=](std::int64_t i) {
      sum[i] = T(static_cast<float>(left[i]) + static_cast<float>(right[i]));
    });
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
    const From* from = x;
    To* to = y;
    team_for(team, range.begin, range.end,
             [=](std::int64_t i) { to[i] = To(static_cast<float>(from[i])); });
  }
};

}  // namespace wellspring::ops
