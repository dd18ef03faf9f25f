// Max pooling over square windows of any size and stride, with overlap and padding. Windows of 2x2
// with stride 2 have faster kernels in kernels/ops/pooling.h. Called by kernels/ops/pooling.cpp;
// host and device.
#pragma once

#include "kernels/ops/ops.h"
#include "kernels/ops/team_loop.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring::ops {

/// Winner of a window without a positive value, with Activation::relu.
inline constexpr std::uint8_t kNoWindowWinner = 255;
/// Largest side of a window. Its positions need numbers below kNoWindowWinner.
inline constexpr int kMaxWindow = 15;

struct WindowGeometry {
  int height, width, channels;  ///< input shape
  int out_height, out_width;
  int window, stride, padding;
};

/// One team writes one row of a sample's output.
template <class T>
struct MaxWindowForward {
  const T* x;
  T* y;
  std::uint8_t* winner;  ///< row * window + column within the window
  WindowGeometry in;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample_row) const {
    const WindowGeometry g = in;
    const std::int64_t sample = sample_row / g.out_height;
    const int top = static_cast<int>(sample_row % g.out_height) * g.stride - g.padding;
    const T* image = x + sample * g.height * g.width * g.channels;
    const std::int64_t offset = sample_row * g.out_width * g.channels;
    T* out = y + offset;
    std::uint8_t* out_winner = winner + offset;
    const bool rectify = activation == Activation::relu;
    team_for_grid(team, g.out_width, g.channels, [=](int column, int channel) {
      const int left = column * g.stride - g.padding;
      float best = 0;
      int which = -1;
      for (int r = 0; r < g.window; ++r) {
        if (top + r < 0 || top + r >= g.height) continue;
        for (int s = 0; s < g.window; ++s) {
          if (left + s < 0 || left + s >= g.width) continue;
          const float value = static_cast<float>(
              image[(std::int64_t{top + r} * g.width + left + s) * g.channels + channel]);
          // The first of equal values wins. NaN wins, so that it is detected.
          const bool wins = (which < 0) | (value > best) | (value != value);
          best = wins ? value : best;
          which = wins ? r * g.window + s : which;
        }
      }
      const bool blocked = rectify & (best <= 0);
      out[column * g.channels + channel] = T(blocked ? 0.0f : best);
      out_winner[column * g.channels + channel] =
          static_cast<std::uint8_t>(blocked ? kNoWindowWinner : which);
    });
  }
};

/// One team writes one row of a sample's gradient. Every value is the sum of the gradients of the
/// windows that it won, in window order.
template <class T>
struct MaxWindowBackward {
  const T* dy;
  const std::uint8_t* winner;
  T* dx;
  WindowGeometry in;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample_row) const {
    const WindowGeometry g = in;
    const std::int64_t sample = sample_row / g.height;
    const int row = static_cast<int>(sample_row % g.height);
    const std::int64_t offset = sample * g.out_height * g.out_width * g.channels;
    const T* gradient = dy + offset;
    const std::uint8_t* won = winner + offset;
    T* out = dx + sample_row * g.width * g.channels;
    // Windows that contain a position begin at most window - 1 pixels before it.
    const auto first = [=](int position) {
      const int begin = position + g.padding - g.window + 1;
      return begin <= 0 ? 0 : (begin + g.stride - 1) / g.stride;
    };
    const auto last = [=](int position, int count) {
      const int end = (position + g.padding) / g.stride;
      return end < count ? end : count - 1;
    };
    team_for_grid(team, g.width, g.channels, [=](int column, int channel) {
      float sum = 0;
      for (int p = first(row); p <= last(row, g.out_height); ++p) {
        for (int q = first(column); q <= last(column, g.out_width); ++q) {
          const int place =
              (row - (p * g.stride - g.padding)) * g.window + (column - (q * g.stride - g.padding));
          const std::int64_t i = (std::int64_t{p} * g.out_width + q) * g.channels + channel;
          if (won[i] == place) sum += static_cast<float>(gradient[i]);
        }
      }
      out[column * g.channels + channel] = T(sum);
    });
  }
};

}  // namespace wellspring::ops
