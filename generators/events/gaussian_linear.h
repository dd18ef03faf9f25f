// Generator `gaussian_linear`: four numbers from a standard normal law, seen through a linear map
// and noise. The law of the numbers given what is seen is known in closed form, so a network that
// regresses them can be held to it.
// Made through the registry; host and device.
#pragma once

#include "core/params.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/math.h"
#include "kernels/philox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

namespace wellspring {

/// theta ~ N(0, I), x = A theta + noise N(0, I), with A_ij = mixing^(i - j) for j <= i and 0
/// beyond: every measurement sees one new parameter and a fading memory of those before. The
/// posterior is normal with
///
///     covariance S = (I + A^T A / noise^2)^-1,   mean m(x) = S A^T x / noise^2
///
/// (C. Bishop, Pattern Recognition and Machine Learning, 2006, equations 2.116 and 2.117). What a
/// network under squared error learns of theta_i and of theta_i^2 is therefore m_i and m_i^2 +
/// S_ii. The task is that of J.-M. Lueckmann et al., "Benchmarking simulation-based inference",
/// AISTATS 2021, section T.1, with a map that mixes the parameters.
struct GaussianLinear {
  static constexpr int kParameters = 4;
  static constexpr int kLatents = 2 * kParameters;
  /// math::box_muller reaches no further.
  static constexpr float kLargest = 5.78f;

  struct Params {
    double mixing = 0.5;
    double noise = 0.5;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("gaussian_linear")
            .real("mixing", &Params::mixing, {0, 1}, "",
                  "share of each parameter that the next measurement sees; 0: one each")
            .real("noise", &Params::noise, {0.01, 10}, "",
                  "standard deviation of the noise of each measurement");
    return rows;
  }

  /// S_ii: no predictor of theta_i has a smaller mean squared error than the variance that is left
  /// when x is known. A normal law's mean distance from its median is sqrt(2 S_ii / pi), and given
  /// x theta_i^2 has the variance 2 S_ii^2 + 4 m_i^2 S_ii, where m_i^2 is 1 - S_ii on average.
  static std::array<double, kParameters> posterior_variances(const Params& params) {
    // I + A^T A / noise^2 and, beside it, what becomes its inverse (Gauss and Jordan; the matrix is
    // symmetric and no eigenvalue is below 1, so that no pivot is small).
    constexpr std::size_t n = kParameters;
    std::array<std::array<double, 2 * n>, n> rows{};
    for (std::size_t i = 0; i < n; ++i) {
      rows[i][i] = rows[i][n + i] = 1;
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = std::max(i, j); k < n; ++k)
          rows[i][j] += std::pow(params.mixing, static_cast<double>(2 * k - i - j)) /
                        (params.noise * params.noise);
    }
    for (std::size_t pivot = 0; pivot < n; ++pivot) {
      const double scale = 1 / rows[pivot][pivot];
      for (double& value : rows[pivot]) value *= scale;
      for (std::size_t row = 0; row < n; ++row) {
        const double factor = rows[row][pivot];
        for (std::size_t c = 0; row != pivot && c < 2 * n; ++c)
          rows[row][c] -= factor * rows[pivot][c];
      }
    }
    std::array<double, kParameters> variance{};
    for (std::size_t i = 0; i < n; ++i) variance[i] = rows[i][n + i];
    return variance;
  }

  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "gaussian_linear";
    info.summary = "Four normal numbers seen as x = A theta + noise, A_ij = mixing^(i - j), j <= i";
    info.reference = "Lueckmann et al., AISTATS 2021, T.1; posterior: Bishop 2006, eq. 2.116";
    info.classes = {"any"};
    for (int i = 0; i < kParameters; ++i)
      info.latents.push_back(
          {"theta" + std::to_string(i), "standard normal", "", -kLargest, kLargest});
    for (int i = 0; i < kParameters; ++i)
      info.latents.push_back(
          {"theta" + std::to_string(i) + "_squared", "its square", "", 0, kLargest * kLargest});
    double reach = params.noise;
    for (int i = 0; i < kParameters; ++i) {
      info.features.push_back({"x" + std::to_string(i), ""});
      reach += std::pow(params.mixing, i);
    }
    const std::array<double, kParameters> variance = posterior_variances(params);
    for (std::size_t i = 0; i < kParameters; ++i) {
      const double s = variance[i];
      const std::string name = info.latents[i].name;
      info.best.push_back({"rmse of " + name, std::sqrt(s)});
      info.best.push_back({"mae of " + name, std::sqrt(2 * s / std::numbers::pi)});
      info.best.push_back({"rmse of " + name + "_squared", std::sqrt(4 * s - 2 * s * s)});
    }
    info.high = static_cast<float>(reach) * kLargest;
    info.low = -info.high;
    info.draws = {.scene = 2};
    return info;
  }

  explicit GaussianLinear(const Params& params)
      : mixing_(static_cast<float>(params.mixing)), noise_(static_cast<float>(params.noise)) {}

  SampleLayout layout() const { return SampleLayout::event(kParameters); }

  template <class Row>
  WS_INLINE void make(const SampleKey& key, Row& row, Truth<kLatents>& truth) const {
    const Philox4 scene = key.rng.block(Purpose::scene, 0);
    const Philox4 noise = key.rng.block(Purpose::scene, 1);
    float seen = 0;  // without noise
    for (int pair = 0; pair < kParameters / 2; ++pair) {
      const math::NormalPair theta =
          math::box_muller(scene.word[2 * pair], scene.word[2 * pair + 1]);
      const math::NormalPair error =
          math::box_muller(noise.word[2 * pair], noise.word[2 * pair + 1]);
      const float thetas[2] = {theta.first, theta.second};
      const float errors[2] = {error.first, error.second};
      for (int half = 0; half < 2; ++half) {
        const int i = 2 * pair + half;
        seen = mixing_ * seen + thetas[half];
        row.set(i, seen + noise_ * errors[half]);
        truth.latents[i] = thetas[half];
        truth.latents[kParameters + i] = thetas[half] * thetas[half];
      }
    }
    truth.label = 0;
  }

 private:
  float mixing_, noise_;
};

}  // namespace wellspring
