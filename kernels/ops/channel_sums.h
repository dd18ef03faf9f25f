// Sums over the pixels of one sample, for all channels at once, in a fixed order. Called by the
// normalisation and pooling functors; host and device.
//
// Pixel p belongs to lane p % lanes, where lanes * channels is about 256 (see
// kernels/runtime/reduce.h). A lane adds its pixels in order; then the lanes are added in order.
// Team members take slots (lane, channel), so that neighbours read neighbouring memory. A host team
// takes all slots, in vectors of channels. The resulting bits are the same.
#pragma once

#include "kernels/ops/team_loop.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/team.h"

#include <cstdint>
#include <type_traits>

namespace wellspring::ops {

WS_INLINE constexpr int channel_lanes(int channels) {
  return channels >= kReduceLanes ? 1 : kReduceLanes / channels;
}
/// Floats of scratch that channel_sums needs.
WS_INLINE constexpr int channel_slots(int channels) {
  return channel_lanes(channels) * channels;
}

/// Sets slots[c] to the sum of load(p * channels + c, c) over all pixels p. All members call it and
/// may read the sums afterwards.
template <class Team, class Load>
WS_HD void channel_sums(Team& team, float* slots, int pixels, int channels, Load load) {
  const int lanes = channel_lanes(channels);
  if constexpr (LoneTeam<Team>) {
    for (int i = 0; i < lanes * channels; ++i) slots[i] = 0;
    int lane = 0;
    for (int pixel = 0; pixel < pixels; ++pixel) {
      float* slot = slots + lane * channels;
      const std::int64_t first = std::int64_t{pixel} * channels;
      WS_SIMD
      for (int c = 0; c < channels; ++c) slot[c] += load(first + c, c);
      lane = lane + 1 == lanes ? 0 : lane + 1;
    }
    for (int l = 1; l < lanes; ++l) {
      WS_SIMD
      for (int c = 0; c < channels; ++c) slots[c] += slots[l * channels + c];
    }
  } else {
    team.sync();  // all members have read the previous contents of the slots
    for (int slot = team.rank(); slot < lanes * channels; slot += team.size()) {
      const int c = slot % channels;
      float sum = 0;
      for (int pixel = slot / channels; pixel < pixels; pixel += lanes) {
        sum += load(std::int64_t{pixel} * channels + c, c);
      }
      slots[slot] = sum;
    }
    team.sync();
    for (int c = team.rank(); c < channels; c += team.size()) {
      float sum = slots[c];
      for (int l = 1; l < lanes; ++l) sum += slots[l * channels + c];
      slots[c] = sum;
    }
    team.sync();
  }
}

}  // namespace wellspring::ops
