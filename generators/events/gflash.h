// The GFLASH parameterisation of electromagnetic showers in homogeneous and thin-layered sampling
// media: longitudinal and lateral profiles and the number of energy spots. Used by generator
// `calo_gflash` and its tests; host and device.
//
// G. Grindhammer, S. Peters, "The parameterized simulation of electromagnetic showers in
// homogeneous and sampling calorimeters", hep-ex/0001020: section 3 and appendix A (homogeneous),
// section 4 and appendix B (sampling). Depths in radiation lengths, energies in GeV, radii in mm.
#pragma once

#include "kernels/random/math.h"
#include "kernels/runtime/macros.h"

namespace wellspring::gflash {

/// Constants of a medium that the formulas use.
struct Medium {
  float z = 0;                   ///< atomic number; for a sandwich, the mass-weighted mean
  float critical_energy = 0;     ///< GeV
  float radiation_length = 0;    ///< mm
  float moliere_radius = 0;      ///< mm
  float interaction_length = 0;  ///< mm, for hadrons
  bool sampling = false;         ///< true: a sandwich
  float inverse_frequency = 0;   ///< 1 / F_s = thickness of a period in radiation lengths
  float e_mip = 0;  ///< 1 - e^, where e^ is the response to electrons divided by the response to
                    ///< muons
};

/// Distribution of T (depth of the maximum) and alpha. Their logarithms are normally distributed.
struct Fluctuation {
  float log_t, sigma_t;
  float log_alpha, sigma_alpha;
  float correlation;
};

/// Upper limit of the standard deviations: their formulas diverge at low energies.
inline constexpr float kMostSigma = 0.5f;
/// Lower limits of alpha and T for individual showers, so that the profile rises and then falls.
inline constexpr float kLeastAlpha = 1.1f, kLeastT = 1;

/// T and alpha of the average shower. `l`: ln(energy / critical energy).
WS_INLINE float mean_t(const Medium& medium, float l) {
  const float homogeneous = l - 0.812f;
  return medium.sampling ? homogeneous - 0.55f * medium.inverse_frequency - 0.69f * medium.e_mip
                         : homogeneous;
}
WS_INLINE float mean_alpha(const Medium& medium, float l) {
  const float homogeneous = 0.81f + (0.458f + 2.26f / medium.z) * l;
  return medium.sampling ? homogeneous - 0.476f * medium.inverse_frequency : homogeneous;
}

namespace detail {
/// 1 / x, at most kMostSigma.
WS_INLINE float sigma_of(float x) {
  return x > 1 / kMostSigma ? 1 / x : kMostSigma;
}
}  // namespace detail

WS_INLINE Fluctuation fluctuation(const Medium& medium, float l) {
  Fluctuation law;
  law.log_t = math::log(mean_t(medium, l));
  law.log_alpha = math::log(mean_alpha(medium, l));
  law.sigma_t = detail::sigma_of(medium.sampling ? -2.5f + 1.25f * l : -1.4f + 1.26f * l);
  law.sigma_alpha = detail::sigma_of(medium.sampling ? -0.82f + 0.79f * l : -0.58f + 0.86f * l);
  law.correlation = (medium.sampling ? 0.784f : 0.705f) - 0.023f * l;
  return law;
}

/// Lateral profile at one depth: core and tail. Each has the fraction r^2 / (r^2 + R^2) of its
/// energy within r.
struct Lateral {
  float core, tail;  ///< R of each, in Moliere radii
  float core_share;
};

/// `tau`: depth divided by the depth of the shower's centre of gravity. `log_energy`: ln(energy /
/// GeV).
WS_INLINE Lateral lateral(const Medium& medium, float tau, float log_energy) {
  const float z = medium.z;
  Lateral law;
  law.core = (0.0251f + 0.00319f * log_energy) + (0.1162f - 0.000381f * z) * tau;
  law.tail =
      (0.659f - 0.00309f * z) * (math::exp(-2.59f * (tau - 0.645f)) +
                                 math::exp((0.3585f + 0.0421f * log_energy) * (tau - 0.645f)));
  const float u = ((0.401f + 0.00187f * z) - tau) / (1.313f - 0.0686f * log_energy);
  law.core_share = (2.632f - 0.00094f * z) * math::exp(u - math::exp(u));
  if (medium.sampling) {
    const float thick = medium.inverse_frequency * math::exp(-tau), e = medium.e_mip;
    const float off = tau - 1;
    law.core += -0.0203f * e + 0.0397f * thick;
    law.tail += -0.14f * e - 0.495f * thick;
    law.core_share += e * (0.348f - 0.642f * medium.inverse_frequency * math::exp(-off * off));
  }
  // Limits for arguments outside the polynomials' fitted range: late tails, very thick layers.
  law.core = math::max(law.core, 0.005f);
  law.tail = math::clamp(law.tail, 0.01f, 100.0f);
  law.core_share = math::clamp(law.core_share, 0, 1);
  return law;
}

/// Energy spots of a shower: mean number, and their profile relative to the energy profile.
struct Spots {
  float count;
  float t_ratio, alpha_ratio;  ///< T and alpha of the spots, divided by T and alpha of the energy
};

/// `resolution`: relative resolution of a sampling calorimeter at 1 GeV.
WS_INLINE Spots spots(const Medium& medium, float energy, float resolution) {
  const float z = medium.z;
  if (medium.sampling) {
    return {10.3f / resolution * math::pow(energy, 0.959f), 0.813f + 0.0019f * z,
            0.844f + 0.0026f * z};
  }
  return {93 * math::log(z) * math::pow(energy, 0.876f), 0.698f + 0.00212f * z,
          0.639f + 0.00334f * z};
}

}  // namespace wellspring::gflash
