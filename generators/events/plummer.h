// Stars of a Plummer sphere (H. Plummer, MNRAS 71 (1911) 460), sampled by the method of S. Aarseth,
// M. Henon and R. Wielen (A&A 37 (1974) 183), in the units of D. Heggie and R. Mathieu (LNP 267
// (1986) 233): G = 1, total mass 1, energy -1/4. Used by generator `ode`; host and device.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"

#include <cstdint>

namespace wellspring {

struct PlummerStar {
  static constexpr float kScale = 0.589048623f;   ///< scale length a = 3 pi / 16
  static constexpr float kInside = 0.999f;        ///< kept fraction of the mass, within kReach
  static constexpr float kReach = 22.8042468f;    ///< a (kInside^(-2/3) - 1)^(-1/2)
  static constexpr float kFastest = 1.84263546f;  ///< sqrt(2 / a): escape speed at the centre
  static constexpr int kBlocks = 4;               ///< blocks of purpose scene per star

  float place[3], velocity[3];
};

/// Star `number` of a sample. The mass within its radius is uniform up to kInside. A&A 37 draws q,
/// the speed divided by the escape speed, by rejection from q^2 (1 - q^2)^(7/2). Here, three
/// coordinates of a uniform point on the sphere in twelve dimensions give the velocity. The law of
/// q is the same: q^2 ~ Beta(3/2, 9/2).
WS_INLINE PlummerStar plummer_star(const SampleRng& rng, int number) {
  const auto first = static_cast<std::uint32_t>(PlummerStar::kBlocks * number);
  const Philox4 words = rng.block(Purpose::scene, first);
  // r = a t / sqrt(1 - t^2), where t^3 is the mass within r; a / sqrt(r^2 + a^2) = sqrt(1 - t^2).
  const float t = math::cbrt(PlummerStar::kInside * unit_float_open(words.word[0]));
  const float depth = math::sqrt(math::fma(-t, t, 1));
  const float radius = PlummerStar::kScale * t / depth;
  const float height = math::fma(2, unit_float(words.word[1]), -1);
  const float across = radius * math::sqrt(math::fma(-height, height, 1));
  const math::SinCos around = math::sincos_turns(unit_float(words.word[2]));
  PlummerStar star{{across * around.cosine, across * around.sine, radius * height}, {}};
  float square = 0;
  WS_UNROLL(3)
  for (int i = 0; i < 3; ++i) {
    const Philox4 more = rng.block(Purpose::scene, first + 1 + static_cast<std::uint32_t>(i));
    const math::NormalPair p = math::box_muller(more.word[0], more.word[1]);
    const math::NormalPair q = math::box_muller(more.word[2], more.word[3]);
    star.velocity[i] = p.first;
    square += (p.first * p.first + p.second * p.second) + (q.first * q.first + q.second * q.second);
  }
  const float speed = PlummerStar::kFastest * math::sqrt(depth / square);
  WS_UNROLL(3)
  for (int i = 0; i < 3; ++i) star.velocity[i] *= speed;
  return star;
}

}  // namespace wellspring
