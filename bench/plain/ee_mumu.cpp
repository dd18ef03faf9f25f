// docs/generators/ee_mumu.md: the larger of three uniform numbers follows the angular law.
#include "bench/plain/plain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

namespace wellspring::bench {
namespace {

/// Probability that the mu- goes forward at this energy, in GeV: tree level, photon and Z, with the
/// generator's defaults.
double forward_share(double energy) {
  constexpr double kInverseAlpha = 128.952, kSin2 = 0.23153, kMass = 91.1876, kWidth = 2.4952;
  const double s = energy * energy, e2 = 4 * std::numbers::pi / kInverseAlpha;
  const double g2 = e2 / (kSin2 * (1 - kSin2)), left = -0.5 + kSin2, right = kSin2;
  const auto amplitude = [&](double a, double b) {
    return std::norm(e2 / s + g2 * a * b / std::complex<double>(s - kMass * kMass, kMass * kWidth));
  };
  const double same = amplitude(left, left) + amplitude(right, right);
  return same / (same + 2 * amplitude(left, right));
}

}  // namespace

PlainLoop plain_ee_mumu() {
  const std::array<float, 2> shares = {static_cast<float>(forward_share(80)),
                                       static_cast<float>(forward_share(110))};
  return {"", "ee_mumu", {}, 1, [=](std::uint64_t seed, std::uint64_t sample, std::span<float> x) {
            const SampleRng rng{named_key(seed, "ee_mumu"), sample};
            const Philox4 p = rng.block(Purpose::scene, 0), q = rng.block(Purpose::scene, 1);
            const bool forward = unit_float(p.word[1]) < shares[below(p.word[0], 2)];
            const float largest =
                std::max({unit_float(p.word[2]), unit_float(p.word[3]), unit_float(q.word[0])});
            x[0] = forward ? 2 * largest - 1 : 1 - 2 * largest;
            x[1] = 2 * unit_float(q.word[1]) - 1;
          }};
}

}  // namespace wellspring::bench
