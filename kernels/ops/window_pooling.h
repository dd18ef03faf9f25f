// Max pooling over square windows of any size and stride, with overlap and padding. Windows of 2x2
// with stride 2 have faster kernels in kernels/ops/pooling.h. Called by kernels/ops/pooling.cpp;
// host and device.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/pooling.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::ops {

/// Marks a window that has no positive value, with Activation::relu.
inline constexpr std::uint8_t kNoWindowWinner = 255;
/// Largest side of a window; position numbers must be below kNoWindowWinner.
inline constexpr int kMaxWindow = 15;

struct WindowGeometry {
  int height, width, channels;  ///< input shape
  int out_height, out_width;
  int window, stride, padding;
};

/// A team writes some rows of the output.
template <class T>
struct MaxWindowForward {
  const T* x;
  T* y;
  std::uint8_t* winner;  ///< row * window + column within the window
  ImageRows out;
  WindowGeometry in;
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const MaxWindowForward self = *this;
    const bool rectify = activation == Activation::relu;
    out.visit(team, index,
              [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
                const WindowGeometry& g = self.in;
                const T* image = self.x + sample * g.height * g.width * g.channels + k;
                const int top = row * g.stride - g.padding, left = column * g.stride - g.padding;
                const int first_row = top < 0 ? -top : 0, first_column = left < 0 ? -left : 0;
                const int rows = g.height - top < g.window ? g.height - top : g.window;
                const int columns = g.width - left < g.window ? g.width - left : g.window;
                const auto value_at = [&](int r, int s) WS_INLINED {
                  return load_values<n>(image +
                                        (std::int64_t{top + r} * g.width + left + s) * g.channels);
                };
                Maxima<n> maxima;
                maxima.begin(value_at(first_row, first_column),
                             first_row * g.window + first_column);
                for (int r = first_row; r < rows; ++r) {
                  for (int s = first_column; s < columns; ++s) {
                    maxima.challenge(value_at(r, s), r * g.window + s);
                  }
                }
                const std::int64_t i =
                    ((sample * g.out_height + row) * g.out_width + column) * g.channels + k;
                maxima.write(rectify, kNoWindowWinner, self.y + i, self.winner + i);
              });
  }
};

/// A team writes some rows of the gradient. Every value is the sum of the gradients of the windows
/// that it won, in window order.
template <class T>
struct MaxWindowBackward {
  const T* dy;
  const std::uint8_t* winner;
  T* dx;
  ImageRows rows;  ///< input rows
  WindowGeometry in;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const MaxWindowBackward self = *this;
    rows.visit(
        team, index,
        [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
          const WindowGeometry& g = self.in;
          // Windows that contain a position begin at most window - 1 pixels before it.
          const auto first = [&](int position) WS_INLINED {
            const int begin = position + g.padding - g.window + 1;
            return begin <= 0 ? 0 : (begin + g.stride - 1) / g.stride;
          };
          const auto last = [&](int position, int count) WS_INLINED {
            const int end = (position + g.padding) / g.stride;
            return end < count ? end : count - 1;
          };
          const int first_column = first(column), last_column = last(column, g.out_width);
          const int last_row = last(row, g.out_height);
          Values<n> sum = {};
          for (int p = first(row); p <= last_row; ++p) {
            for (int q = first_column; q <= last_column; ++q) {
              const int place = (row - (p * g.stride - g.padding)) * g.window +
                                (column - (q * g.stride - g.padding));
              const std::int64_t i =
                  ((sample * g.out_height + p) * g.out_width + q) * g.channels + k;
              const Values<n> gradient = load_values<n>(self.dy + i);
              const Winners<n> won = load_winners<n>(self.winner + i);
              for_values<n>(
                  [&](int j) WS_INLINED { sum.v[j] += won.v[j] == place ? gradient.v[j] : 0.0f; });
            }
          }
          store_values(self.dx + ((sample * g.height + row) * g.width + column) * g.channels + k,
                       sum);
        });
  }
};

}  // namespace wellspring::ops
