// GFLASH's published formulas in double precision: the reference for the tests of generator
// `calo_gflash`. Host only.
#pragma once

#include "generators/events/calo_geometry.h"
#include "tests/support/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace wellspring::test {

/// A medium: atomic number, critical energy (GeV), lengths (mm).
struct CaloReference {
  double z, critical, radiation, moliere, interaction;
  bool sampling = false;
  double frequency = 0, e_hat = 1;  ///< sampling frequency F_s and e-hat of a sandwich

  // Tungsten, and layers of 1.4 mm tungsten and 0.3 mm silicon, computed by hand from the formulas
  // (PDG: 19.3 and 2.329 g/cm^3, X0 6.76 and 21.82 g/cm^2, lambda_I 191.9 and 108.4 g/cm^2).
  static CaloReference tungsten() {
    const double critical = 2.66e-3 * std::pow(6.76 * 74 / 183.84, 1.1);
    return {74, critical, 67.6 / 19.3, 67.6 / 19.3 * 0.0212 / critical, 1919 / 19.3};
  }
  static CaloReference tungsten_silicon() {
    const double m1 = 19.3 * 1.4, m2 = 2.329 * 0.3, w1 = m1 / (m1 + m2), w2 = m2 / (m1 + m2);
    const double c1 = 2.66e-3 * std::pow(6.76 * 74 / 183.84, 1.1);
    const double c2 = 2.66e-3 * std::pow(21.82 * 14 / 28.0855, 1.1);
    const double x0 = 1 / (w1 / 6.76 + w2 / 21.82), mm = 17 / (m1 + m2);
    const double loss = w1 * c1 / 6.76 + w2 * c2 / 21.82;
    return {w1 * 74 + w2 * 14,
            x0 * loss,
            x0 * mm,
            0.0212 / loss * mm,
            mm / (w1 / 191.9 + w2 / 108.4),
            true,
            x0 * mm / 1.7,
            1 / (1 + 0.007 * (74 - 14))};
  }

  double l(double energy) const { return std::log(energy / critical); }
  double mean_t(double energy) const {
    double t = l(energy) - 0.812;
    if (sampling) t -= 0.55 / frequency + 0.69 * (1 - e_hat);
    return t;
  }
  double mean_alpha(double energy) const {
    double alpha = 0.81 + (0.458 + 2.26 / z) * l(energy);
    if (sampling) alpha -= 0.476 / frequency;
    return alpha;
  }
  double sigma_t(double energy) const {
    return sampling ? 1 / (-2.5 + 1.25 * l(energy)) : 1 / (-1.4 + 1.26 * l(energy));
  }
  double sigma_alpha(double energy) const {
    return sampling ? 1 / (-0.82 + 0.79 * l(energy)) : 1 / (-0.58 + 0.86 * l(energy));
  }
  double correlation(double energy) const { return (sampling ? 0.784 : 0.705) - 0.023 * l(energy); }
  double spots(double energy) const {
    return sampling ? 10.3 / 0.11 * std::pow(energy, 0.959)
                    : 93 * std::log(z) * std::pow(energy, 0.876);
  }

  struct Lateral {
    double core, tail, share;
    double within(double r, double moliere) const {
      const double s = r * r / moliere / moliere;
      return share * s / (s + core * core) + (1 - share) * s / (s + tail * tail);
    }
  };
  Lateral lateral(double tau, double energy) const {
    const double e = std::log(energy);
    double core = 0.0251 + 0.00319 * e + (0.1162 - 0.000381 * z) * tau;
    double tail = (0.659 - 0.00309 * z) * (std::exp(-2.59 * (tau - 0.645)) +
                                           std::exp((0.3585 + 0.0421 * e) * (tau - 0.645)));
    const double u = (0.401 + 0.00187 * z - tau) / (1.313 - 0.0686 * e);
    double share = (2.632 - 0.00094 * z) * std::exp(u - std::exp(u));
    if (sampling) {
      core += -0.0203 * (1 - e_hat) + 0.0397 / frequency * std::exp(-tau);
      tail += -0.14 * (1 - e_hat) - 0.495 / frequency * std::exp(-tau);
      share += (1 - e_hat) * (0.348 - 0.642 / frequency * std::exp(-(tau - 1) * (tau - 1)));
    }
    return {core, std::clamp(tail, 0.01, 100.0), std::clamp(share, 0.0, 1.0)};
  }

  /// Share of the energy deposited before depth t.
  static double depth_share(double alpha, double rate, double t) {
    return t <= 0 ? 0 : 1 - upper_gamma(alpha, rate * t);
  }

  /// Expected shares of a shower's energy per ring, summed over the ring's sectors.
  std::vector<double> rings(const std::vector<CaloLayerSpec>& layers, double slice, double energy,
                            double t, double alpha, double start) const {
    std::vector<double> shares;
    const double rate = (alpha - 1) / t, mean = mean_alpha(energy);
    for (const CaloLayerSpec& layer : layers) {
      const int slices =
          static_cast<int>(std::ceil((layer.back - layer.front) / slice * (1 - 1e-6)));
      std::vector<double> in_layer(layer.r_edges.size() - 1);
      for (int i = 0; i < slices; ++i) {
        const double step = (layer.back - layer.front) / slices;
        const double front = std::max(0.0, layer.front + i * step - start);
        const double back = std::max(0.0, layer.front + (i + 1) * step - start);
        const double share = depth_share(alpha, rate, back) - depth_share(alpha, rate, front);
        const double tau = (front + back) / 2 / t * (alpha - 1) / alpha * mean / (mean - 1);
        const Lateral law = lateral(tau, energy);
        for (std::size_t r = 0; r < in_layer.size(); ++r) {
          in_layer[r] += share * (law.within(layer.r_edges[r + 1], moliere) -
                                  law.within(layer.r_edges[r], moliere));
        }
      }
      shares.insert(shares.end(), in_layer.begin(), in_layer.end());
    }
    return shares;
  }
};

}  // namespace wellspring::test
