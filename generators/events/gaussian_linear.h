// Generator `gaussian_linear`: four standard normal parameters, observed through a linear map and
// noise. The posterior is known in closed form, so a regression network can be measured against it.
// Created through the registry; host and device.
#pragma once

#include "core/config/params.h"
#include "generators/events/gaussian_map.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>

namespace wellspring {

/// GaussianMap with a standard normal prior. With posterior mean m and covariance S, a network
/// trained on squared error learns m_i for theta_i, and m_i^2 + S_ii for theta_i^2. The task
/// follows J.-M. Lueckmann et al., "Benchmarking simulation-based inference", AISTATS 2021, section
/// T.1, with a map that mixes the parameters; the published task is in `sbi`.
struct GaussianLinear {
  static constexpr int kParameters = 4, kFeatures = kParameters;
  static constexpr int kLatents = 2 * kParameters;
  static constexpr forms::Events kForm = {};
  /// Exceeds the largest value that math::box_muller returns.
  static constexpr float kLargest = 5.78f;

  struct Params {
    double mixing = 0.5;
    double noise = 0.5;
  };
  static const ParamTable<Params>& table() {
    static const auto rows =
        ParamTable<Params>("gaussian_linear")
            .real("mixing", &Params::mixing, {0, 1}, "",
                  "share of each parameter in the next measurement; 0: no mixing")
            .real("noise", &Params::noise, {0.01, 10}, "",
                  "standard deviation of the measurement noise");
    return rows;
  }

  /// S_ii. For the normal posterior of theta_i, the mean absolute error is sqrt(2 S_ii / pi). Given
  /// x, theta_i^2 has the variance 2 S_ii^2 + 4 m_i^2 S_ii, where m_i^2 is 1 - S_ii on average.
  static std::array<double, kParameters> posterior_variances(const Params& params) {
    return wellspring::posterior_variances<kParameters>(params.mixing, params.noise, 1);
  }

  static SampleInfo describe(const Params& params) {
    SampleInfo info;
    info.name = "gaussian_linear";
    info.summary =
        "Four normal parameters, observed as x = A theta + noise, A_ij = mixing^(i - j), j <= i";
    info.reference = "Lueckmann et al., AISTATS 2021, T.1; posterior: Bishop 2006, eq. 2.116";
    info.classes = {"any"};
    for (int i = 0; i < kParameters; ++i)
      info.latents.push_back(rarely_reached(
          {"theta" + std::to_string(i), "standard normal", "", -kLargest, kLargest}));
    for (int i = 0; i < kParameters; ++i)
      info.latents.push_back(
          rarely_reached({"theta" + std::to_string(i) + "_squared", "square of the parameter", "",
                          0, kLargest * kLargest}));
    info.settable_latents = kParameters;
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
      : map_{static_cast<float>(params.mixing), static_cast<float>(params.noise), 1} {}

  SampleLayout layout() const { return SampleLayout::event(kFeatures); }

  template <class Run>
  WS_INLINE void make(Run& run) const {
    const auto scene = run.blocks(Purpose::scene, 0), errors = run.blocks(Purpose::scene, 1);
    run.straight([&](int i, auto& row, auto& truth) WS_INLINED {
      map_.draw<kParameters>(
          [&](unsigned block) { return block == 0 ? scene.of(i) : errors.of(i); },
          [&](int k, float drawn) {
            const float theta = truth.latents.draw(k, drawn);
            truth.latents[kParameters + k] = theta * theta;
            return theta;
          },
          [&](int k, const float(&x)[2]) { row.set_features(k, x); });
    });
  }

 private:
  GaussianMap map_;
};

}  // namespace wellspring
