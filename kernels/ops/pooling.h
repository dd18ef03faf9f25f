// Max pooling over 2x2 windows with an optional ReLU, and the mean over all pixels. Called by
// kernels/ops/pooling.cpp; host and device.
#pragma once

#include "kernels/ops/channel_sums.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::ops {

/// One team writes one row of a sample's output.
template <class T>
struct MaxPoolForward {
  const T* x;
  T* y;
  std::uint8_t* winner;
  int height, width, channels;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample_row) const {
    const int out_width = width / 2, c = channels;
    const std::int64_t sample = sample_row / (height / 2);
    const std::int64_t row = sample_row % (height / 2);
    const std::int64_t line = std::int64_t{width} * channels;
    const T* above = x + (sample * height + 2 * row) * line;
    const T* below = above + line;
    const std::int64_t offset = sample_row * out_width * channels;
    T* out = y + offset;
    std::uint8_t* out_winner = winner + offset;
    const bool rectify = activation == Activation::relu;
    team_for_grid(team, out_width, c, [=](int column, int channel) {
      const int left = 2 * column * c + channel;
      float best = static_cast<float>(above[left]);
      int which = 0;
      const auto challenge = [&](float value, int index) {
        // NaN wins, so that it is detected.
        const bool wins = (value > best) | (value != value);
        best = wins ? value : best;
        which = wins ? index : which;
      };
      challenge(static_cast<float>(above[left + c]), 1);
      challenge(static_cast<float>(below[left]), 2);
      challenge(static_cast<float>(below[left + c]), 3);
      const bool blocked = rectify & (best <= 0);
      out[column * c + channel] = T(blocked ? 0.0f : best);
      out_winner[column * c + channel] = static_cast<std::uint8_t>(blocked ? kNoWinner : which);
    });
  }
};

/// One team writes two rows of a sample's gradient, or the last row if the height is odd. It writes
/// every element of dx once: the gradient at the winner, 0 elsewhere.
template <class T>
struct MaxPoolBackward {
  const T* dy;
  const std::uint8_t* winner;
  T* dx;
  int height, width, channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const int c = channels;
    const int tasks = (height + 1) / 2, out_height = height / 2, out_width = width / 2;
    const std::int64_t sample = task / tasks;
    const std::int64_t row = task % tasks;
    const std::int64_t line = std::int64_t{width} * channels;
    T* above = dx + (sample * height + 2 * row) * line;
    if (row == out_height) {  // no window covers the odd row
      team_for(team, std::int64_t{0}, line, [=](std::int64_t i) { above[i] = T(0.0f); });
      return;
    }
    T* below = above + line;
    const std::int64_t offset = (sample * out_height + row) * out_width * channels;
    const T* gradient = dy + offset;
    const std::uint8_t* won = winner + offset;
    team_for_grid(team, out_width, c, [=](int column, int channel) {
      const int left = 2 * column * c + channel;
      const float value = static_cast<float>(gradient[column * c + channel]);
      const int which = won[column * c + channel];
      above[left] = T(which == 0 ? value : 0.0f);
      above[left + c] = T(which == 1 ? value : 0.0f);
      below[left] = T(which == 2 ? value : 0.0f);
      below[left + c] = T(which == 3 ? value : 0.0f);
    });
    if (width % 2 == 1) {
      T* right_above = above + (width - 1) * c;
      T* right_below = below + (width - 1) * c;
      team_for(team, std::int64_t{0}, std::int64_t{c}, [=](std::int64_t i) {
        right_above[i] = T(0.0f);
        right_below[i] = T(0.0f);
      });
    }
  }
};

/// One team averages one sample.
template <class T>
struct GlobalMeanForward {
  const T* x;
  T* y;
  int pixels, channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    float* sums = team.template scratch<float>(channel_slots(channels));
    const T* from = x + sample * pixels * channels;
    channel_sums(team, sums, pixels, channels,
                 [=](std::int64_t i, int) { return static_cast<float>(from[i]); });
    T* to = y + sample * channels;
    const float count = static_cast<float>(pixels);
    for (int c = team.rank(); c < channels; c += team.size()) to[c] = T(sums[c] / count);
  }
};

/// One team distributes the gradient of one sample.
template <class T>
struct GlobalMeanBackward {
  const T* dy;
  T* dx;
  int pixels, channels;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    const int c = channels;
    const T* from = dy + sample * channels;
    T* to = dx + sample * pixels * channels;
    const float count = static_cast<float>(pixels);
    team_for_grid(team, pixels, c, [=](int pixel, int channel) {
      to[std::int64_t{pixel} * c + channel] = T(static_cast<float>(from[channel]) / count);
    });
  }
};

}  // namespace wellspring::ops
