// Common parts of the gradients of batch and group normalisation; the formulas are in normalised.h.
// Called by batch_norm.h and group_norm.h. The functors run on host and device.
#pragma once

#include "kernels/ops/normalised.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wellspring {
class Stream;
}  // namespace wellspring

namespace wellspring::ops {

/// The gradient before the activation, from the gradient dy after it and the output y. Without an
/// activation, y is not read.
template <class T>
struct ActivationGradient {
  const T *gate, *dy;
  bool rectify;

  WS_HD ActivationGradient(const T* y, const T* arriving, Activation activation)
      : gate(activation == Activation::relu ? y : arriving),
        dy(arriving),
        rectify(activation == Activation::relu) {}
  template <int n>
  WS_INLINE Values<n> at(std::int64_t i) const {
    const Values<n> output = load_values<n>(gate + i);
    Values<n> value = load_values<n>(dy + i);
    for (int j = 0; j < n; ++j) value.v[j] = !rectify | (output.v[j] > 0) ? value.v[j] : 0.0f;
    return value;
  }
};

/// Forms of the gradient that arrives at a normalisation. All but the first are also stored for the
/// second pass, as the gradient after the activation.
enum class Arrival : std::uint8_t {
  whole,     ///< dy, not stored
  stored,    ///< dy
  summed,    ///< the sum of two gradients, rounded to their type
  averaged,  ///< the gradient of the mean over the rows, divided by the number of rows
};

/// The output gradient as the first pass reads it.
template <class T>
struct ArrivingGradient {
  const T *gate, *dy;
  const T* again;  ///< summed: the second gradient
  T* passed;       ///< destination of the stored gradient; may be `again`
  float rows;      ///< averaged: number of rows in the mean
  Arrival form;
  bool rectify;

  /// Averaged: the gradient of channel k in every row.
  template <Arrival of, int n>
  WS_INLINE Values<n> of_channel(int k) const {
    Values<n> value = {};
    if constexpr (of == Arrival::averaged) {
      value = load_values<n>(dy + k);
      for (int j = 0; j < n; ++j) value.v[j] = static_cast<float>(T(value.v[j] / rows));
    }
    return value;
  }
  template <Arrival of, int n>
  WS_INLINE Values<n> at(const Values<n>& of_channel, std::int64_t i) const {
    const Values<n> output = load_values<n>(gate + i);
    Values<n> value = of_channel;
    if constexpr (of != Arrival::averaged) value = load_values<n>(dy + i);
    if constexpr (of == Arrival::summed) {
      const Values<n> added = load_values<n>(again + i);
      for (int j = 0; j < n; ++j) value.v[j] = static_cast<float>(T(value.v[j] + added.v[j]));
    }
    for (int j = 0; j < n; ++j) value.v[j] = !rectify | (output.v[j] > 0) ? value.v[j] : 0.0f;
    if constexpr (of != Arrival::whole) store_values(passed + i, value);
    return value;
  }
  /// Calls f with the form as a type.
  template <class F>
  WS_INLINE void visit(F f) const {
    switch (form) {
      case Arrival::whole:
        return f(std::integral_constant<Arrival, Arrival::whole>());
      case Arrival::stored:
        return f(std::integral_constant<Arrival, Arrival::stored>());
      case Arrival::summed:
        return f(std::integral_constant<Arrival, Arrival::summed>());
      case Arrival::averaged:
        return f(std::integral_constant<Arrival, Arrival::averaged>());
    }
  }
};

/// Sums of dy (slot 0) and dy xhat (slot 1) over the rows of each channel. Centre and inverse:
/// [channels], mean and rstd. All members call it.
template <class Team, class T>
WS_HD void gradient_sums(Team& team, float* slots, int rows, int channels, const T* x,
                         const ArrivingGradient<T>& arriving, const float* centre,
                         const float* inverse) {
  arriving.visit([&]<class Form>(Form) WS_INLINED {
    const ArrivingGradient<T> gradient = arriving;
    channel_sums<2>(
        team, slots, rows, channels,
        [=]<int n>(Width<n>, int k) WS_INLINED {
          return Parameters<n, 3>{{load_values<n>(centre + k), load_values<n>(inverse + k),
                                   gradient.template of_channel<Form::value, n>(k)}};
        },
        [=]<int n>(Width<n>, const auto& of, int row, int k, Values<n>* sums) WS_INLINED {
          const std::int64_t i = std::int64_t{row} * channels + k;
          const Values<n> value = load_values<n>(x + i),
                          dy = gradient.template at<Form::value>(of.of[2], i);
          for (int j = 0; j < n; ++j) {
            sums[0].v[j] += dy.v[j];
            sums[1].v[j] += dy.v[j] * ((value.v[j] - of.of[0].v[j]) * of.of[1].v[j]);
          }
        });
  });
}

/// The input gradient as dx = scale dy + constant + slope (x - centre); arrays of [channels].
struct InputGradient {
  static constexpr int kTables = 4;
  float *centre, *scale, *constant, *slope;

  template <class Team>
  WS_HD InputGradient(Team& team, int channels)
      : centre(team.template scratch<float>(static_cast<std::size_t>(kTables * channels))),
        scale(centre + channels),
        constant(scale + channels),
        slope(constant + channels) {}

  /// Fills the arrays for one sample. Mean and rstd: [groups]. The sums over the rows of dy xhat
  /// and of dy, each times gamma: [channels]. All members call it, after a barrier.
  template <class Team>
  WS_HD void fill(Team& team, const NormShape& shape, const float* mean, const float* rstd,
                  const float* gamma, const float* gamma_sum, const float* beta_sum) const {
    struct Means {
      float a, b;
    };
    const int width = shape.group_width();
    const float count = static_cast<float>(shape.rows) * static_cast<float>(width);
    const InputGradient to = *this;
    for_groups(
        team, shape,
        [=](int first) WS_INLINED {
          Means sums = {0, 0};
          WS_UNROLL_LOADS
          for (int k = first; k < first + width; ++k) {
            sums.a += beta_sum[k];
            sums.b += gamma_sum[k];
          }
          return Means{sums.a / count, sums.b / count};
        },
        [=](int k, const Means& means) WS_INLINED {
          const float inverse = rstd[k / width];
          to.centre[k] = mean[k / width];
          to.scale[k] = inverse * gamma[k];
          to.constant[k] = -inverse * means.a;
          to.slope[k] = -inverse * inverse * means.b;
        });
  }

  /// Writes dx for [rows, channels] values; `through` may read from dx.
  template <class Team, class T>
  WS_HD void write(Team& team, int rows, int channels, const T* x,
                   const ActivationGradient<T>& through, T* dx) const {
    const InputGradient from = *this;
    const ActivationGradient<T> gradient = through;
    team_for_channels(
        team, rows, channels,
        [=]<int n>(Width<n>, int k) WS_INLINED {
          return load_parameters<n>(k, from.centre, from.scale, from.constant, from.slope);
        },
        [=]<int n>(Width<n>, const Parameters<n, 4>& of, std::int64_t i) WS_INLINED {
          const Values<n> value = load_values<n>(x + i);
          Values<n> result = gradient.template at<n>(i);
          for (int j = 0; j < n; ++j) {
            result.v[j] = of.of[1].v[j] * result.v[j] + of.of[2].v[j] +
                          of.of[3].v[j] * (value.v[j] - of.of[0].v[j]);
          }
          return result;
        },
        [=]<int n>(Width<n>, std::int64_t i, const Values<n>& result)
            WS_INLINED { store_values(dx + i, result); });
  }
};

/// Inputs of the backward functors. Mean and rstd: [samples, groups]. The first pass over the
/// gradient reads dy and, if it is not null, `again`. Unless `passed` is null, the first pass
/// stores the gradient after the activation in `passed`, and the second pass reads it from there.
template <class T>
struct NormGradient {
  const T* x;
  const T* y;
  const T* dy;
  const float* mean;
  const float* rstd;
  NormShape shape;
  Activation activation;
  T* passed = nullptr;       ///< may be `again` or dx
  const T* again = nullptr;  ///< needs `passed`
  bool averaged = false;     ///< dy is [samples, channels]; needs `passed`

  /// The stored gradient goes to `dresidual` or, if that is null, to the second gradient; without a
  /// second gradient, an averaged gradient goes to dx.
  static NormGradient of(const void* x, const void* y, const OutputGradient& dy, const float* mean,
                         const float* rstd, const NormShape& shape, Activation activation,
                         void* dresidual, void* dx) {
    void* const passed = dresidual != nullptr  ? dresidual
                         : dy.again != nullptr ? dy.again
                         : dy.averaged         ? dx
                                               : nullptr;
    return {static_cast<const T*>(x),
            static_cast<const T*>(y),
            static_cast<const T*>(dy.data),
            mean,
            rstd,
            shape,
            activation,
            static_cast<T*>(passed),
            static_cast<const T*>(dy.again),
            dy.averaged};
  }

  /// `offset`: first element, which belongs to this sample.
  WS_INLINE ArrivingGradient<T> first_pass(std::int64_t sample, std::int64_t offset) const {
    const bool rectify = activation == Activation::relu, stored = passed != nullptr;
    return {(rectify ? y : x) + offset,
            dy + (averaged ? sample * shape.channels : offset),
            again != nullptr ? again + offset : nullptr,
            stored ? passed + offset : nullptr,
            static_cast<float>(shape.rows),
            averaged           ? Arrival::averaged
            : again != nullptr ? Arrival::summed
            : stored           ? Arrival::stored
                               : Arrival::whole,
            rectify};
  }
  WS_INLINE ActivationGradient<T> second_pass(std::int64_t offset) const {
    if (passed != nullptr) return {passed + offset, passed + offset, Activation::none};
    return {y + offset, dy + offset, activation};
  }
};

/// gamma_parts and beta_parts [samples, chunks, channels]: the sums of dy xhat and of dy over a
/// chunk; one team per chunk.
template <class T>
struct NormGradientSums {
  NormGradient<T> in;
  float* gamma_parts;
  float* beta_parts;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const NormShape& shape = in.shape;
    const int c = shape.channels, width = shape.group_width();
    float* slots = team.template scratch<float>(norm_scratch(shape.rows_per_chunk, c, 2, 0));
    float* centre = team.template scratch<float>(static_cast<std::size_t>(c));
    float* inverse = team.template scratch<float>(static_cast<std::size_t>(c));
    const NormChunk chunk(shape, index);
    for (int k = team.rank(); k < c; k += team.size()) {
      const std::int64_t group = chunk.sample * shape.groups + k / width;
      centre[k] = in.mean[group];
      inverse[k] = in.rstd[group];
    }
    team.sync();
    gradient_sums(team, slots, chunk.rows, c, in.x + chunk.offset,
                  in.first_pass(chunk.sample, chunk.offset), centre, inverse);
    const float* gamma_sum = slots + channel_slots(chunk.rows, c);
    for (int k = team.rank(); k < c; k += team.size()) {
      beta_parts[index * c + k] = slots[k];
      gamma_parts[index * c + k] = gamma_sum[k];
    }
  }
};

/// Adds the parts [samples, parts, channels] of the sums; writes dx. One team per chunk.
template <class T>
struct NormBackward {
  static constexpr LaunchBound kLaunchBound = {kChunkTeam, 2};

  NormGradient<T> in;
  const float* gamma;
  const float* gamma_parts;
  const float* beta_parts;
  int parts;
  float* gamma_sums;  ///< [samples, channels], the results; null if they are not needed
  float* beta_sums;
  T* dx;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    const NormShape& shape = in.shape;
    const int c = shape.channels;
    float* beta_sum = team.template scratch<float>(norm_scratch(parts, c, 2, 0));
    float* gamma_sum = beta_sum + channel_slots(parts, c);
    const InputGradient table(team, c);
    const NormChunk chunk(shape, index);
    const std::int64_t groups = chunk.sample * shape.groups, first = chunk.sample * c;
    const float *gammas = gamma_parts + first * parts, *betas = beta_parts + first * parts;
    channel_sums<2>(team, beta_sum, parts, c, NoParameters(),
                    [=]<int n>(Width<n>, const auto&, int part, int k, Values<n>* sums) WS_INLINED {
                      const std::int64_t i = std::int64_t{part} * c + k;
                      const auto of_beta = load_values<n>(betas + i),
                                 of_gamma = load_values<n>(gammas + i);
                      for (int j = 0; j < n; ++j) {
                        sums[0].v[j] += of_beta.v[j];
                        sums[1].v[j] += of_gamma.v[j];
                      }
                    });
    const bool writes = gamma_sums != nullptr && index % shape.chunks == 0;
    for (int k = team.rank(); k < c; k += team.size()) {
      if (writes) {
        gamma_sums[first + k] = gamma_sum[k];
        beta_sums[first + k] = beta_sum[k];
      }
      gamma_sum[k] *= gamma[k];
      beta_sum[k] *= gamma[k];
    }
    team.sync();
    table.fill(team, shape, in.mean + groups, in.rstd + groups, gamma, gamma_sum, beta_sum);
    table.write(team, chunk.rows, c, in.x + chunk.offset, in.second_pass(chunk.offset),
                dx + chunk.offset);
  }
};

/// Launches the functor for all chunks. On a device, its teams add the parts if they can. Otherwise
/// another launch adds them first, as on a CPU, where repeated additions cost more than a launch.
template <class T>
void norm_backward(Stream& stream, std::int64_t samples, NormBackward<T> backward);

}  // namespace wellspring::ops
