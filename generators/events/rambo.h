// Generator `rambo`: momenta of n bodies, uniform in phase space, as sets. The RAMBO method gives
// massless bodies, whose events have equal weights. Scaling these gives massive bodies, either with
// weights or by rejection against a proven bound. Bodies may decay (decay_chain.h). Created through
// the registry; host and device.
//
// Source: R. Kleiss, W. J. Stirling, S. D. Ellis, "A new Monte Carlo treatment of multiparticle
// phase space at high energies", Comput. Phys. Commun. 40 (1986) 359. Each body gets an isotropic
// direction and an energy with density q exp(-q); a boost and a scale set the sum to (w, 0, 0, 0).
#pragma once

#include "core/config/params.h"
#include "generators/events/decay_chain.h"
#include "generators/events/event_record.h"
#include "generators/sample_info.h"
#include "kernels/emission/events.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/simd.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct Rambo {
  static constexpr int kFeatures = 4, kLatents = 3;
  static constexpr int kMostBodies = 8;
  static constexpr forms::Events kForm = {.bound = {128, 3}};  ///< keeps momenta in registers
  static constexpr int kMostTries = 10000;
  /// Newton steps, starting at the largest scale. The function is convex, so they converge from
  /// above.
  static constexpr int kNewtonSteps = 8;

  enum class Weights : std::uint8_t { keep, unweight };
  enum class Columns : std::uint8_t { momenta, record };

  struct Params {
    int bodies_low = 4, bodies_high = 4;
    double energy_low = 500, energy_high = 500;
    std::vector<double> masses;
    std::vector<std::string> decays;
    Weights weights = Weights::keep;
    double unit = 1;
    Columns columns = Columns::momenta;
    std::vector<std::int32_t> ids, beam_ids = {11, -11};
    std::vector<std::string> decay_ids;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);

  /// Throws config errors.
  explicit Rambo(const Params& params);

  SampleLayout layout() const {
    return SampleLayout::set(items_, record_ ? record::kColumns : kFeatures);
  }

  template <class Run>
  WS_HD void make(Run& run) const {
    constexpr int N = Run::kEvents;
    int bodies[N];
    float energy[N];
    Momenta<N> momenta{};
    const auto scene = run.blocks(Purpose::scene, 0);
    in_lanes<N>([&](int i) WS_INLINED {
      const Philox4 random = scene.of(i);
      const auto label = static_cast<std::int32_t>(
          below(random.word[0], static_cast<std::uint32_t>(high_ - low_ + 1)));
      bodies[i] = low_ + label;
      energy[i] =
          math::min(math::fma(unit_float(random.word[1]), energy_high_ - energy_low_, energy_low_),
                    energy_high_);
      run.truth(i).label = label;
    });
    if (rejects_) {
      for (int i = 0; i < N; ++i) draw_until_kept(run.rng(i), bodies[i], energy[i], i, momenta);
    } else {
      massless<N>([&](std::uint32_t draw) { return run.blocks(Purpose::texture, draw); }, 0, bodies,
                  energy, momenta);
      if (massive_) give_masses<N>(bodies, energy, momenta);
    }

    if (record_) {
      for (int i = 0; i < N; ++i) write_beams(energy[i], run.row(i));
    }
    const bool chain = decays_.any() || record_;
    if (chain && low_ == high_) {
      decay<N>(0, run, low_, momenta);
    } else {
      for (int i = 0; i < N; ++i) {
        if (chain) {
          decay<1>(i, run, bodies[i], momenta);
        } else {
          auto& row = run.row(i);
          WS_UNROLL(8)
          for (int k = 0; k < kMostBodies; ++k) {
            if (k < bodies[i])
              write(k, momenta.e[k][i], momenta.x[k][i], momenta.y[k][i], momenta.z[k][i], row);
          }
          row.set_count(bodies[i]);
        }
      }
    }
    for (int i = 0; i < N; ++i) {
      auto truth = run.truth(i);
      truth.weight = rejects_ ? 1 : momenta.weight[i];
      truth.latents[0] = energy[i];
      truth.latents[1] = static_cast<float>(bodies[i]);
      truth.latents[2] = math::clamp(math::log(momenta.weight[i]), kLowestLogWeight, 0.f);
    }
  }

 private:
  static constexpr double kLargestShare = 0.99;  ///< maximum of (sum of masses) / energy
  /// Near the threshold, weights fall to about (k / m)^(n - 2) x^(2 n - 3) with x >= 0.14.
  static constexpr float kLowestLogWeight = -80;
  static constexpr std::uint32_t kFirstDecayBlock = 1;  ///< block 0: class and energy

  /// Bodies of N events: [body k][event i].
  template <int N>
  struct Momenta {
    alignas(N * sizeof(double)) double e[kMostBodies][N], x[kMostBodies][N], y[kMostBodies][N],
        z[kMostBodies][N];
    float weight[N], bound[N];
  };

  void begin_record(const Params& params);

  template <class Row>
  WS_INLINE void write_beams(float energy, Row& row) const {
    using record::Status;
    const float e = energy * static_cast<float>(per_unit_);
    if (beams_ == 1) {
      record::write(row, 0, e, 0, 0, 0, {e, beam_[0], Status::incoming, 0});
    } else {
      record::write(row, 0, 0.5f * e, 0, 0, 0.5f * e, {0, beam_[0], Status::incoming, 0});
      record::write(row, 1, 0.5f * e, 0, 0, -0.5f * e, {0, beam_[1], Status::incoming, 0});
    }
  }

  template <class Row>
  WS_INLINE void write_record(int node, double e, double x, double y, double z, Row& row) const {
    const DecayChain::Node& own = decays_.node(node);
    const bool root = own.mother < 0;
    record::write(row, beams_ + own.item, static_cast<float>(e * per_unit_),
                  static_cast<float>(x * per_unit_), static_cast<float>(y * per_unit_),
                  static_cast<float>(z * per_unit_),
                  {static_cast<float>(own.mass * per_unit_), own.pdg,
                   own.products == 0 ? record::Status::final : record::Status::decayed,
                   root ? 1 : beams_ + own.mother + 1, root && beams_ == 2 ? 2 : 0});
  }

  template <class Row>
  WS_INLINE void write(int item, double e, double x, double y, double z, Row& row) const {
    row.set_item(item, {static_cast<float>(e * per_unit_), static_cast<float>(x * per_unit_),
                        static_cast<float>(y * per_unit_), static_cast<float>(z * per_unit_)});
  }

  /// Writes the final particles, body by body, for events [first, first + N) of a run with `n`
  /// bodies each. N is small, so that the arrays stay in registers.
  template <int N, class Run>
  WS_INLINE void decay(int first, Run& run, int n, const Momenta<Run::kEvents>& momenta) const {
    DecayChain::Particles<N> waiting[DecayChain::kMostFinals];
    WS_UNROLL(8)
    for (int k = 0; k < kMostBodies; ++k) {
      if (k >= n) continue;
      DecayChain::Particles<N>& body = waiting[n - 1 - k];
      body.node = k;
      for (int i = 0; i < N; ++i) {
        body.e[i] = momenta.e[k][first + i];
        body.x[i] = momenta.x[k][first + i];
        body.y[i] = momenta.y[k][first + i];
        body.z[i] = momenta.z[k][first + i];
      }
    }
    int particles = beams_;
    const auto keep = [&](const DecayChain::Particles<N>& p) {
      ++particles;
      for (int i = 0; i < N; ++i)
        write_record(p.node, p.e[i], p.x[i], p.y[i], p.z[i], run.row(first + i));
    };
    const int finals =
        decays_.run<N>([&](int i) { return run.rng(first + i); }, kFirstDecayBlock, waiting, n,
                       [&](int item, const DecayChain::Particles<N>& p) {
                         if (record_) return keep(p);
                         for (int i = 0; i < N; ++i)
                           write(item, p.e[i], p.x[i], p.y[i], p.z[i], run.row(first + i));
                       },
                       [&](const DecayChain::Particles<N>& p) {
                         if (record_) keep(p);
                       });
    for (int i = 0; i < N; ++i) run.row(first + i).set_count(record_ ? particles : finals);
  }

  /// Repeats tries until one is kept; writes the momenta of event i.
  template <int N>
  WS_INLINE void draw_until_kept(const SampleRng& rng, int n, float energy, int i,
                                 Momenta<N>& momenta) const {
    Momenta<1> one{};
    for (std::uint32_t turn = 0;; ++turn) {
      massless<1>(
          [&](std::uint32_t draw) { return consecutive_blocks<1>(rng, Purpose::texture, draw); },
          turn, &n, &energy, one);
      give_masses<1>(&n, &energy, one);
      const float share = one.weight[0] / one.bound[0];
      const float u = unit_float(rng.block(Purpose::noise, turn).word[0]);
      if (u < share || turn + 1 == kMostTries) break;
    }
    WS_UNROLL(8)
    for (int k = 0; k < kMostBodies; ++k) {
      if (k >= n) continue;
      momenta.e[k][i] = one.e[k][0];
      momenta.x[k][i] = one.x[k][0];
      momenta.y[k][i] = one.y[k][0];
      momenta.z[k][i] = one.z[k][0];
    }
    momenta.weight[i] = one.weight[0];
  }

  /// The largest number of bodies of N events.
  template <int N>
  WS_INLINE static int most_of(const int* bodies) {
    int most = bodies[0];
    for (int i = 1; i < N; ++i) most = bodies[i] > most ? bodies[i] : most;
    return most;
  }

  /// Massless momenta with total (energy, 0, 0, 0) and weight 1. Body k of try t uses block 8 t +
  /// k. Double precision, because the boost of nearly parallel bodies removes most of their energy.
  template <int N, class Blocks>
  WS_INLINE void massless(const Blocks& blocks, std::uint32_t turn, const int* bodies,
                          const float* energy, Momenta<N>& momenta) const {
    const int most = most_of<N>(bodies);
    double sum_e[N] = {}, sum_x[N] = {}, sum_y[N] = {}, sum_z[N] = {};
    WS_UNROLL(8)
    for (int k = 0; k < kMostBodies; ++k) {
      if (k >= most) continue;
      const PhiloxRun<N> words = blocks(turn * kMostBodies + static_cast<std::uint32_t>(k));
      in_lanes<N>([&](int i) WS_INLINED {
        const Philox4 random = words.of(i);
        const double cosine = 2 * double{unit_float(random.word[0])} - 1;
        const math::SinCos phi = math::sincos_turns(unit_float(random.word[1]));
        const double px = double{phi.cosine}, py = double{phi.sine};
        const double sine = math::sqrt((1 - cosine) * (1 + cosine) / (px * px + py * py));
        const double drawn =
            -double{math::log(unit_float_open(random.word[2]) * unit_float_open(random.word[3]))};
        const double q = k < bodies[i] ? drawn : 0.0;
        const double x = q * sine * px, y = q * sine * py, z = q * cosine;
        momenta.e[k][i] = q;
        momenta.x[k][i] = x;
        momenta.y[k][i] = y;
        momenta.z[k][i] = z;
        sum_e[i] += q;
        sum_x[i] += x;
        sum_y[i] += y;
        sum_z[i] += z;
      });
    }
    // Boosts to the rest frame of the sum, and scales to the required energy.
    double bx[N], by[N], bz[N], gamma[N], scale[N];
    in_lanes<N>([&](int i) WS_INLINED {
      const double x = sum_x[i], y = sum_y[i], z = sum_z[i];
      const double length = math::sqrt(x * x + y * y + z * z);
      const double mass = math::sqrt((sum_e[i] - length) * (sum_e[i] + length));
      bx[i] = -x / mass;
      by[i] = -y / mass;
      bz[i] = -z / mass;
      gamma[i] = sum_e[i] / mass;
      scale[i] = double{energy[i]} / mass;
      momenta.weight[i] = 1;
    });
    WS_UNROLL(8)
    for (int k = 0; k < kMostBodies; ++k) {
      if (k >= most) continue;
      in_lanes<N>([&](int i) WS_INLINED {
        const double x = momenta.x[k][i], y = momenta.y[k][i], z = momenta.z[k][i];
        const double along = bx[i] * x + by[i] * y + bz[i] * z;
        const double q = momenta.e[k][i], shift = q + 1 / (1 + gamma[i]) * along;
        momenta.e[k][i] = scale[i] * (gamma[i] * q + along);
        momenta.x[k][i] = scale[i] * (x + bx[i] * shift);
        momenta.y[k][i] = scale[i] * (y + by[i] * shift);
        momenta.z[k][i] = scale[i] * (z + bz[i] * shift);
      });
    }
  }

  /// Scales the momenta by x so that the energies of the massive bodies have the same sum. The
  /// weight is
  ///   x^(2n-3) prod (k_i / E_i) w / sum (k_i^2 / E_i)   (Kleiss, Stirling, Ellis).
  /// By Minkowski's inequality x is at most sqrt(1 - (sum m / w)^2), and the weight is at most
  /// x^(2n-3): docs/generators/algorithms/rambo.md.
  template <int N>
  WS_INLINE void give_masses(const int* bodies, const float* energies, Momenta<N>& momenta) const {
    const int most = most_of<N>(bodies);
    double largest[N], scale[N];
    in_lanes<N>([&](int i) WS_INLINED {
      double masses = 0;
      WS_UNROLL(8)
      for (int k = 0; k < kMostBodies; ++k) masses += k < bodies[i] ? mass_[k] : 0.0;
      const double energy = double{energies[i]};
      largest[i] = math::sqrt((1 - masses / energy) * (1 + masses / energy));
      scale[i] = largest[i];
    });
#if WS_DEVICE_CODE
#pragma unroll 1  // unrolling the inner loop over bodies is enough
#endif
    for (int step = 0; step < kNewtonSteps; ++step) {
      double sum[N], slope[N] = {};
      for (int i = 0; i < N; ++i) sum[i] = -double{energies[i]};
      WS_UNROLL(8)
      for (int k = 0; k < kMostBodies; ++k) {
        if (k >= most) continue;
        const double mass2 = mass_[k] * mass_[k];
        in_lanes<N>([&](int i) WS_INLINED {
          const bool there = k < bodies[i];
          const double q = momenta.e[k][i], p = scale[i] * q, e = math::sqrt(p * p + mass2);
          sum[i] += there ? e : 0.0;
          slope[i] += there && e > 0 ? p / e * q : 0.0;
        });
      }
      for (int i = 0; i < N; ++i) scale[i] -= sum[i] / slope[i];
    }
    double product[N], bound[N], motion[N] = {};
    for (int i = 0; i < N; ++i) {
      scale[i] = scale[i] < largest[i] ? scale[i] : largest[i];
      product[i] = bound[i] = 1;
    }
    WS_UNROLL(8)
    for (int k = 0; k < kMostBodies; ++k) {
      if (k >= most) continue;
      const double mass2 = mass_[k] * mass_[k];
      in_lanes<N>([&](int i) WS_INLINED {
        const bool there = k < bodies[i];
        const double p = scale[i] * momenta.e[k][i], e = math::sqrt(p * p + mass2);
        const double speed = e > 0 ? p / e : 1.0;
        product[i] *= there ? speed : 1.0;
        motion[i] += there ? p * speed : 0.0;
        if (k >= 2) {
          product[i] *= there ? scale[i] * scale[i] : 1.0;
          bound[i] *= there ? largest[i] * largest[i] : 1.0;
        }
        momenta.e[k][i] = e;
        momenta.x[k][i] *= scale[i];
        momenta.y[k][i] *= scale[i];
        momenta.z[k][i] *= scale[i];
      });
    }
    for (int i = 0; i < N; ++i) {
      momenta.weight[i] =
          static_cast<float>(scale[i] * product[i] * double{energies[i]} / motion[i]);
      momenta.bound[i] = static_cast<float>(largest[i] * bound[i]);
    }
  }

  int low_, high_;
  float energy_low_, energy_high_;
  double per_unit_;
  bool record_, massive_, rejects_;
  int beams_ = 0, beam_[2] = {};
  double mass_[kMostBodies] = {};
  DecayChain decays_;
  int items_ = 0;
};

}  // namespace wellspring
