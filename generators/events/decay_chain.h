// Chains of two- and three-body decays, each uniform in phase space in the rest
// frame of the mother. Used by generator `rambo`. For host and device, in double
// precision; parsing and checks are host only.
//
// Two bodies: the direction is isotropic, and p = sqrt((M - m1 - m2)(M + m1 + m2)(M - m1 + m2)(M +
// m1 - m2)) / 2M. Three bodies: particle 1 and the pair (23), whose mass has the density p_1(m23)
// p_23(m23) between m2 + m3 and M - m1. The mass is drawn uniformly and kept with probability p_1
// p_23 / (p_1(m2 + m3) p_23(M - m1)), which is at most 1 because p_1 falls with m23 and p_23 rises.
// For massless products one try in four is kept; for massive ones, more. Then the mother decays to
// 1 and the pair, and the pair into 2 and 3, as two-body decays. Source: Particle Data Group,
// Kinematics; F. James, Monte Carlo phase space, CERN 68-15 (1968).
//
// Branching fractions are 1 and each decay is sampled from its own phase space, so the weight of an
// event is the weight of its production.
#pragma once

#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/simd.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

class DecayChain {
 public:
  static constexpr int kMostRoots = 8, kMostFinals = 24, kMostNodes = 48;
  static constexpr int kMostTries = 128;
  /// Random blocks per decay: one for directions, one per try.
  static constexpr std::uint32_t kStride = 1 + kMostTries;

  /// One particle in each of N events, all at the same node of the chain.
  template <int N>
  struct Particles {
    alignas(N * sizeof(double)) double e[N], x[N], y[N], z[N];
    int node;
  };

  struct Node {
    double mass = 0;
    int first = 0, products = 0;  ///< nodes [first, first + products)
    /// Only for event records: PDG number, and indices of the particle and its mother among all
    /// particles, in the order of run(). A root has the mother -1.
    int pdg = 0, item = 0, mother = -1;
    int rule = 0;  ///< host only: index of its decay
  };

  DecayChain() = default;
  /// Host only. `masses`: masses of the first bodies; others are massless. `decays`: rules such as
  /// "172.5 -> 80.377 + 4.78", which apply to exactly this mass. Config errors begin with `name`.
  DecayChain(const std::string& name, const std::vector<double>& masses, int bodies,
             const std::vector<std::string>& decays);

  /// Host only: sets the PDG numbers of the bodies and of each decay's products, written as "5 +
  /// 24", in the order of `decays`. A mother with a negative number gets the antiparticles of these
  /// products. Also numbers the particles. Config errors begin with `name`.
  void identify(const std::string& name, int bodies, const std::vector<std::int32_t>& ids,
                const std::vector<std::string>& decays);

  WS_HD bool any() const { return any_; }
  WS_HD const Node& node(int i) const { return node_[i]; }
  /// Host only: number of final particles that the first `bodies` bodies produce.
  int finals(int bodies) const;
  /// Host only: number of all particles: the first `bodies` bodies and everything that they
  /// produce.
  int particles(int bodies) const;
  /// Host only: maximum number of random blocks.
  std::int64_t blocks() const { return blocks_; }

  /// Decays all `count` particles of `waiting`, the last one first. `rng(i)`: random numbers of
  /// event i of N. Calls on_final(number, Particles) or on_decayed(Particles). Decay d uses scene
  /// blocks that start at first_block + d kStride. The nodes give the masses; root k is node k.
  template <int N, class Rng, class OnFinal, class OnDecayed>
  WS_INLINE int run(const Rng& rng, std::uint32_t first_block, Particles<N> (&waiting)[kMostFinals],
                    int count, const OnFinal& on_final, const OnDecayed& on_decayed) const {
    int finals = 0;
    std::uint32_t block = first_block;
    while (count > 0) {
      const Particles<N> mother = waiting[--count];
      const Node node = node_[mother.node];
      if (node.products == 0) {
        on_final(finals++, mother);
        continue;
      }
      on_decayed(mother);
      const double mass = node.mass, m1 = node_[node.first].mass;
      const double m2 = node_[node.first + 1].mass;
      if (node.products == 2) {
        Particles<N>& second = waiting[count];
        Particles<N>& first = waiting[count + 1];
        in_lanes<N>([&](int i) WS_INLINED {
          const Philox4 random = rng(i).block(Purpose::scene, block);
          split(i, mother, mass, m1, m2, random.word[0], random.word[1], first, second);
        });
      } else {
        const double m3 = node_[node.first + 2].mass;
        Particles<N> pair{};
        Particles<N>& third = waiting[count];
        Particles<N>& second = waiting[count + 1];
        Particles<N>& first = waiting[count + 2];
        double pair_mass[N];
        for (int i = 0; i < N; ++i) pair_mass[i] = draw_pair(rng(i), block + 1, mass, m1, m2, m3);
        in_lanes<N>([&](int i) WS_INLINED {
          const Philox4 random = rng(i).block(Purpose::scene, block);
          split(i, mother, mass, m1, pair_mass[i], random.word[0], random.word[1], first, pair);
          split(i, pair, pair_mass[i], m2, m3, random.word[2], random.word[3], second, third);
        });
      }
      for (int i = 0; i < node.products; ++i) {
        waiting[count + i].node = node.first + node.products - 1 - i;
      }
      count += node.products;
      block += kStride;
    }
    return finals;
  }

  /// Momentum of each of the two products in the rest frame.
  WS_INLINE static double momentum(double mass, double m1, double m2) {
    const double near = (mass - m1 - m2) * (mass + m1 + m2);
    const double far = (mass - m1 + m2) * (mass + m1 - m2);
    const double square = near * far;
    return square > 0 ? math::sqrt(square) / (2 * mass) : 0.0;
  }

 private:
  /// Host only: nodes in the order of run().
  std::vector<int> ordered(int bodies) const;

  /// Decays a moving mother into two bodies in event i. The second product gets the remaining
  /// momentum.
  template <int N>
  WS_INLINE static void split(int i, const Particles<N>& mother, double mass, double m1, double m2,
                              std::uint32_t height, std::uint32_t turn, Particles<N>& first,
                              Particles<N>& second) {
    const double cosine = 2 * double{unit_float(height)} - 1;
    const math::SinCos phi = math::sincos_turns(unit_float(turn));
    const double cx = double{phi.cosine}, cy = double{phi.sine};
    const double sine = math::sqrt((1 - cosine) * (1 + cosine) / (cx * cx + cy * cy));
    const double p = momentum(mass, m1, m2);
    const double x = p * (sine * cx), y = p * (sine * cy), z = p * cosine;
    const double e = math::sqrt(p * p + m1 * m1);
    const double mx = mother.x[i], my = mother.y[i], mz = mother.z[i];
    const double along = x * mx + y * my + z * mz;
    const double share = (along / (mother.e[i] + mass) + e) / mass;
    const double x1 = x + share * mx, y1 = y + share * my, z1 = z + share * mz;
    const double x2 = mx - x1, y2 = my - y1, z2 = mz - z1;
    first.e[i] = energy(m1, x1, y1, z1);
    first.x[i] = x1;
    first.y[i] = y1;
    first.z[i] = z1;
    second.e[i] = energy(m2, x2, y2, z2);
    second.x[i] = x2;
    second.y[i] = y2;
    second.z[i] = z2;
  }

  WS_INLINE static double energy(double mass, double x, double y, double z) {
    return math::sqrt(x * x + y * y + z * z + mass * mass);
  }

  WS_INLINE static double draw_pair(const SampleRng& rng, std::uint32_t block, double mass,
                                    double m1, double m2, double m3) {
    const double low = m2 + m3, range = mass - m1 - low;
    const double bound = momentum(mass, m1, low) * momentum(low + range, m2, m3);
    double pair = low;
    for (std::uint32_t turn = 0; turn < kMostTries; ++turn) {
      const Philox4 random = rng.block(Purpose::scene, block + turn);
      pair = low + range * double{unit_float(random.word[0])};
      const double density = momentum(mass, m1, pair) * momentum(pair, m2, m3);
      if (double{unit_float(random.word[1])} * bound < density) break;
    }
    return pair;
  }

  Node node_[kMostNodes];
  bool any_ = false;
  std::int64_t blocks_ = 0;
};

}  // namespace wellspring
