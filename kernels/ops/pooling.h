// Max pooling over 2x2 windows with an optional ReLU, and the mean over all pixels. Called by
// kernels/ops/pooling.cpp; host and device.
#pragma once

#include "kernels/ops/channel_loop.h"
#include "kernels/ops/channel_sums.h"
#include "kernels/ops/ops.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"

#include <cstdint>

namespace wellspring::ops {

/// Winners of neighbouring windows: positions within the window, read and written together.
template <int n>
struct alignas(n) Winners {
  std::uint8_t v[n];
};
template <int n>
WS_INLINE Winners<n> load_winners(const std::uint8_t* from) {
  if constexpr (n == 1) {
    return {{*from}};
  } else {
    return *reinterpret_cast<const Winners<n>*>(from);
  }
}
template <int n>
WS_INLINE void store_winners(std::uint8_t* to, const Winners<n>& winners) {
  if constexpr (n == 1) {
    *to = winners.v[0];
  } else {
    *reinterpret_cast<Winners<n>*>(to) = winners;
  }
}

/// The largest value of each of n neighbouring windows. The first of equal values wins. NaN wins,
/// so that it is detected.
template <int n>
struct Maxima {
  Values<n> best;
  int which[n];

  WS_INLINE void begin(const Values<n>& values, int place) {
    best = values;
    for_values<n>([&](int j) WS_INLINED { which[j] = place; });
  }
  WS_INLINE void challenge(const Values<n>& values, int place) {
    for_values<n>([&](int j) WS_INLINED {
      const float value = values.v[j];
      const bool wins = (value > best.v[j]) | (value != value);
      best.v[j] = wins ? value : best.v[j];
      which[j] = wins ? place : which[j];
    });
  }
  /// Writes values and winners; with `rectify`, 0 and `none` for windows without a positive value.
  template <class T>
  WS_INLINE void write(bool rectify, int none, T* y, std::uint8_t* winner) const {
    Values<n> value;
    Winners<n> place;
    for_values<n>([&](int j) WS_INLINED {
      const bool blocked = rectify & (best.v[j] <= 0);
      value.v[j] = blocked ? 0.0f : best.v[j];
      place.v[j] = static_cast<std::uint8_t>(blocked ? none : which[j]);
    });
    store_values(y, value);
    store_winners(winner, place);
  }
};

/// A team writes some rows of the output.
template <class T>
struct MaxPoolForward {
  const T* x;
  T* y;
  std::uint8_t* winner;
  ImageRows out;
  int height, width;  ///< input shape
  Activation activation;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const MaxPoolForward self = *this;
    const bool rectify = activation == Activation::relu;
    out.visit(team, index,
              [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
                const int c = self.out.channels;
                const std::int64_t line = std::int64_t{self.width} * c;
                const T* above =
                    self.x + (sample * self.height + 2 * row) * line + 2 * column * c + k;
                const T* below = above + line;
                Maxima<n> maxima;
                maxima.begin(load_values<n>(above), 0);
                maxima.challenge(load_values<n>(above + c), 1);
                maxima.challenge(load_values<n>(below), 2);
                maxima.challenge(load_values<n>(below + c), 3);
                const std::int64_t i =
                    ((sample * self.out.height + row) * self.out.columns + column) * c + k;
                maxima.write(rectify, kNoWinner, self.y + i, self.winner + i);
              });
  }
};

/// A team writes the gradient of some rows of windows: the gradient of y at the winner, 0
/// elsewhere.
template <class T>
struct MaxPoolBackward {
  const T* dy;
  const std::uint8_t* winner;
  T* dx;
  ImageRows windows;
  int height, width;  ///< input shape

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const MaxPoolBackward self = *this;
    windows.visit(
        team, index,
        [=]<int n>(Width<n>, std::int64_t sample, int row, int column, int k) WS_INLINED {
          const int c = self.windows.channels;
          const std::int64_t i =
              ((sample * self.windows.height + row) * self.windows.columns + column) * c + k;
          const Values<n> gradient = load_values<n>(self.dy + i);
          const Winners<n> won = load_winners<n>(self.winner + i);
          const std::int64_t line = std::int64_t{self.width} * c;
          T* above = self.dx + (sample * self.height + 2 * row) * line + 2 * column * c + k;
          const auto write = [=](T* to, int place) WS_INLINED {
            Values<n> value;
            for (int j = 0; j < n; ++j) value.v[j] = won.v[j] == place ? gradient.v[j] : 0.0f;
            store_values(to, value);
          };
          write(above, 0);
          write(above + c, 1);
          write(above + line, 2);
          write(above + line + c, 3);
        });
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
    float* slots = team.template scratch<float>(channel_slots(pixels, channels));
    average_rows(team, slots, x + sample * pixels * channels, pixels, channels,
                 y + sample * channels);
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
    spread_row(team, dy + sample * channels, static_cast<float>(pixels), pixels, channels,
               dx + sample * pixels * channels);
  }
};

}  // namespace wellspring::ops
