// Sums of gradients over the passes of a step. Called by train/network/parameters.cpp. Host only;
// the functor itself runs on host and device.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/stream.h"

#include <cstdint>

namespace wellspring::ops {

enum class SumPart : std::uint8_t {
  first,   ///< sum = gradient
  middle,  ///< sum = sum + gradient
  last,    ///< gradient = sum + gradient, rounded to its type
};
/// `gradient` [n] of the type `compute`; `sum` [n].
void add_gradients(Stream& stream, SumPart part, std::int64_t n, DType compute, void* gradient,
                   float* sum);

template <class T>
struct AddGradients {
  SumPart part;
  T* gradient;
  float* sum;
  std::int64_t n;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t chunk) const {
    const ChunkRange range(chunk, n);
    const T* const given = gradient;
    const float* const so_far = sum;
    const auto added = [](float a, float b) { return a + b; };
    if (part == SumPart::first) {
      team_transform(
          team, range.begin, range.end, sum, [](float g) { return g; }, given);
    } else if (part == SumPart::middle) {
      team_transform(team, range.begin, range.end, sum, added, so_far, given);
    } else {
      team_transform(team, range.begin, range.end, gradient, added, so_far, given);
    }
  }
};

}  // namespace wellspring::ops
