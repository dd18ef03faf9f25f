// Longer than 500 lines: one functor, whose parts share the arrays of a jet.
// Generator `lund_shower`: jets of an angular-ordered soft-collinear toy shower at fixed coupling:
// quarks, gluons, and decays of W bosons and top quarks. Created through the registry; host and
// device.
//
// A parton of transverse momentum p radiates gluons into its primary Lund plane, ln(1/theta)
// against ln(1/z). The emissions are a Poisson process with density 2 alpha_s C / pi, C = C_F = 4/3
// for quarks and C_A = 3 for gluons, over the triangle theta < Theta, z < 1, kt = z theta p >
// kt_cut. The triangle's area is L^2 / 2 with L = ln(p Theta / kt_cut). So
//
//     emissions       Poisson, mean 2 alpha_s C / pi L^2 / 2; none with probability exp(-mean)
//     full cascade    a gluon radiates in the same way, from its own momentum and below its own
//                     angle: its L is ln(kt / kt_cut), and a gluon has cosh(L sqrt(2 alpha_s C_A /
//                     pi)) partons on average
//
// Both statements are exact, because kt uses the partons' momenta before they radiate ("nominal").
//   B. Andersson, G. Gustafson, L. Lonnblad, U. Pettersson, Z. Phys. C43 (1989) 625
//   R. K. Ellis, W. J. Stirling, B. Webber, QCD and Collider Physics (1996), chapter 5
//
// Recoil: at each splitting, in order of decreasing angle, the gluon takes the share z of the
// emitter's current momentum. Both move apart to the distance theta in the plane of pseudorapidity
// and azimuth, so that the sum of their transverse momenta and their pt-weighted mean position are
// conserved. Constituents are massless; the jet's mass comes from their distances. W and top decay
// by exact two-body decays, which are uniform in the rest frame and conserve momentum. Each product
// radiates as above; its largest angle is at most its distance to the nearest other product.
#pragma once

#include "core/config/params.h"
#include "generators/events/event_record.h"
#include "generators/events/ginkgo_shower.h"
#include "generators/events/jet_views.h"
#include "generators/events/lund_plane.h"
#include "generators/sample_info.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/forms.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/simd.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct LundShower {
  static constexpr int kGlobals = 4;
  enum class Species : std::uint8_t { quark, gluon, w, top };
  enum class Cascade : std::uint8_t { primary, full };
  enum class Columns : std::uint8_t { momenta, lund, kinematics, record };

  struct Params : jets::ViewParams {
    std::vector<std::string> classes = {"quark", "gluon", "W", "top"};
    double alpha_s = 0.12;
    Cascade cascade = Cascade::full;
    double pt_low = 500, pt_high = 500;
    double eta_max = 1;
    double radius = 0.8;
    double kt_cut = 1;
    double w_mass = 80.377, top_mass = 172.69;
    double w_width = 0, top_width = 0;
    double cone = 0;
    double soft = 0, soft_pt = 1;
    Columns columns = Columns::momenta;
    double unit = 1;
    int items = 60;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);

  enum Latent : std::uint8_t {
    kPt,
    kEta,
    kPhi,
    kLogKt,
    kLogInverseAngle,
    kLogInverseZ,
    kEmissions,
    kConstituents,
    kUnfinished,
    kOutside,
    kLatents,
  };

  /// Throws config errors.
  explicit LundShower(const Params& params);

  SampleLayout layout() const { return layout_; }
  static constexpr forms::Events kForm = {.bound = {256, 3}};  ///< without it, registers spill

  /// Constituents in order of decreasing transverse momentum.
  template <class Run>
  WS_HD void make(Run& run) const {
    constexpr int N = Run::kEvents;
    float turned[N];
    const auto scene = run.blocks(Purpose::scene, 0), kind = run.blocks(Purpose::label, 0);
    in_lanes<N>([&](int i) WS_INLINED {
      auto truth = run.truth(i);
      turned[i] = math::fma(unit_float(scene.word[2][i]), math::kTau, -math::kPi);
      truth.label =
          static_cast<std::int32_t>(below(kind.word[0][i], static_cast<std::uint32_t>(classes_)));
      truth.latents[kPt] = math::fma(unit_float(scene.word[0][i]), pt_range_, pt_low_);
      truth.latents[kEta] = math::fma(2 * unit_float(scene.word[1][i]), eta_max_, -eta_max_);
      truth.latents[kPhi] = turned[i];
    });

    Prongs<N> prongs;
    begin(run, prongs);
    run.each([&](int i, auto& row, auto& truth) WS_INLINED {
      Jet jet;
      prongs.copy(i, jet);
      jet.axis = truth.latents[kEta];
      jet.density = prongs.species[i] == Species::gluon ? gluon_density_ : quark_density_;
      radiate<N>(run.rng(i), jet, truth);
      if (soft_ > 0) add_soft(run.rng(i), jet);
      if (cone_squared_ > 0) cut(jet);
      truth.latents[kConstituents] = static_cast<float>(jet.count);
      truth.latents[kUnfinished] = static_cast<float>(jet.unfinished);
      if (output_ == jets::Output::constituents) {
        write<N>(turned[i], jet, prongs, i, row);
      } else {
        show(jet, row, truth);
      }
    });
  }

 private:
  static constexpr std::uint8_t kNoProng = 255;

  /// Partons with azimuths relative to the jet. For a parton that may radiate, `room` is L, `angle`
  /// is ln(1 / Theta) for its initial angle Theta, and `softer` is ln(1 / z) of its own emission.
  struct Jet {
    float pt[lund::kMostPartons], eta[lund::kMostPartons], phi[lund::kMostPartons];
    float room[lund::kMostPartons], angle[lund::kMostPartons], softer[lund::kMostPartons];
    std::int8_t depth[lund::kMostPartons];     ///< number of emissions since its prong; soft: -1
    std::uint8_t emitter[lund::kMostPartons];  ///< index of its emitter; later of its prong
    int count = 0, prongs = 0, unfinished = 0;
    float axis = 0;     ///< pseudorapidity of the initial particle, at azimuth 0
    float density = 0;  ///< emission density of the prongs
  };

  struct Momentum {
    float e, x, y, z;
  };
  WS_INLINE static Momentum momentum(float pt, float eta, float phi) {
    const float up = math::exp(eta), down = 1 / up;
    const math::SinCos turn = math::sincos(phi);
    return {0.5f * pt * (up + down), pt * turn.cosine, pt * turn.sine, 0.5f * pt * (up - down)};
  }

  WS_INLINE Species species_of(std::int32_t label) const {
    Species species = species_[0];
    WS_UNROLL(4)  // constant indices: no copy to local memory on a GPU
    for (int i = 1; i < lund::kMostClasses; ++i) {
      if (i == label) species = species_[i];
    }
    return species;
  }

  /// Uniform on the sphere of radius p.
  WS_INLINE static ginkgo::Vector3 direction(std::uint32_t height, std::uint32_t turn, float p) {
    const float u = unit_float(height);
    const float sine = 2.0f * math::sqrt(u * (1.0f - u));
    const math::SinCos around = math::sincos_turns(unit_float(turn));
    return {p * (sine * around.cosine), p * (sine * around.sine), p * (2.0f * u - 1.0f)};
  }

  /// Initial partons of N jets: the first `count` of each; the other entries are ignored.
  template <int N>
  struct Prongs {
    static constexpr int kMost = lund::kMostProngs;
    Species species[N];
    alignas(N * sizeof(float)) std::int32_t count[N];
    float pt[kMost][N], eta[kMost][N], phi[kMost][N];
    float nearest[kMost][N];  ///< squared distance to the nearest prong, or radius^2
    float room[kMost][N], angle[kMost][N];
    float w_mass[N], top_mass[N];

    WS_INLINE void copy(int i, Jet& jet) const {
      WS_UNROLL(3)
      for (int p = 0; p < kMost; ++p) {
        jet.pt[p] = pt[p][i];
        jet.eta[p] = eta[p][i];
        jet.phi[p] = phi[p][i];
        jet.room[p] = room[p][i];
        jet.angle[p] = angle[p][i];
        jet.softer[p] = 0;
        jet.depth[p] = 0;
      }
      jet.count = jet.prongs = count[i];
    }
  };

  /// Sets the initial parton, or the decay products of a W or top, for all jets in lockstep.
  template <class Run, int N>
  WS_INLINE void begin(Run& run, Prongs<N>& prongs) const {
    bool decays = false;
    for (int i = 0; i < N; ++i) {
      auto truth = run.truth(i);
      prongs.w_mass[i] = w_line_.mass;
      prongs.top_mass[i] = top_line_.mass;
      prongs.species[i] = species_of(truth.label);
      const bool top = prongs.species[i] == Species::top, w = prongs.species[i] == Species::w;
      prongs.count[i] = top ? 3 : (w ? 2 : 1);
      decays = decays || top || w;
      for (int p = 0; p < lund::kMostProngs; ++p) {
        prongs.pt[p][i] = truth.latents[kPt];
        prongs.eta[p][i] = truth.latents[kEta];
        prongs.phi[p][i] = 0;
        prongs.nearest[p][i] = radius_ * radius_;
      }
    }
    if (decays) {
      if (w_line_.range > 0 || top_line_.range > 0) {
        const auto masses = run.blocks(Purpose::scene, 2);
        in_lanes<N>([&](int i) WS_INLINED {
          prongs.w_mass[i] = w_line_.draw(masses.word[0][i]);
          prongs.top_mass[i] = top_line_.draw(masses.word[1][i]);
        });
      }
      const auto random = run.blocks(Purpose::scene, 1);
      in_lanes<N>([&](int i) WS_INLINED { decay(random.of(i), i, prongs); });
    }
    in_lanes<N>([&](int i) WS_INLINED {
      WS_UNROLL(3)
      for (int p = 0; p < lund::kMostProngs; ++p) {
        const float log_angle = 0.5f * math::log(prongs.nearest[p][i]);
        prongs.angle[p][i] = -log_angle;
        prongs.room[p][i] = math::log(prongs.pt[p][i]) + log_angle - log_kt_cut_;
      }
    });
  }

  /// Replaces the decaying particle of jet i with its products; other jets are unchanged.
  template <int N>
  WS_INLINE void decay(const Philox4& random, int i, Prongs<N>& prongs) const {
    const bool is_top = prongs.count[i] == 3, decays = prongs.count[i] > 1;
    const float pt = prongs.pt[0][i], eta = prongs.eta[0][i];
    const ginkgo::Vector3 whole = {pt, 0, momentum(pt, eta, 0).z};
    const float w_mass = prongs.w_mass[i], top_mass = prongs.top_mass[i];
    const float share = w_mass / top_mass;
    const float p = 0.5f * top_mass * (1 - share) * (1 + share);
    const ginkgo::Parton of_top =
        ginkgo::boosted({w_mass * w_mass, direction(random.word[2], random.word[3], p)},
                        {top_mass * top_mass, whole}, top_mass);
    const ginkgo::Parton w = {w_mass * w_mass, is_top ? of_top.p : whole};
    const ginkgo::Vector3 b = ginkgo::along(whole, -1, w.p);
    const ginkgo::Parton massless = {0, direction(random.word[0], random.word[1], 0.5f * w_mass)};
    const ginkgo::Vector3 first = ginkgo::boosted(massless, w, w_mass).p;
    const ginkgo::Vector3 second = ginkgo::along(w.p, -1, first);
    const ginkgo::Vector3 own[] = {is_top ? b : first, is_top ? first : second, second};
    jets::Place place[lund::kMostProngs];
    WS_UNROLL(3)
    for (int k = 0; k < lund::kMostProngs; ++k) {
      place[k] = jets::place_of(own[k].x, own[k].y, own[k].z, 0);
      prongs.pt[k][i] = decays ? place[k].pt : pt;
      prongs.eta[k][i] = decays ? place[k].eta : eta;
      prongs.phi[k][i] = decays ? place[k].phi : 0.0f;
    }
    const auto between = [&place](int k, int l) WS_INLINED {
      return jets::distance_squared(place[k].eta - place[l].eta,
                                    jets::wrapped(place[k].phi - place[l].phi));
    };
    const float all = prongs.nearest[0][i], two = math::min(all, between(0, 1));
    const float b_second = between(0, 2), both = between(1, 2);  // top: prong 0 is the b
    prongs.nearest[0][i] = is_top ? math::min(two, b_second) : (decays ? two : all);
    prongs.nearest[1][i] = is_top ? math::min(two, both) : (decays ? two : all);
    prongs.nearest[2][i] = is_top ? math::min(math::min(all, b_second), both) : all;
  }

  /// Random numbers of N emissions, one block each. SIMD code computes them before they are used.
  template <int N>
  struct Draws {
    float log_area[N], share[N], turn[N];

    WS_INLINE void fill(const SampleRng& rng, std::uint32_t first_block) {
      const auto random = consecutive_blocks<N>(rng, Purpose::texture, first_block);
      in_lanes<N>([&](int i) WS_INLINED {
        log_area[i] = math::log(unit_float_open(random.word[0][i]));
        share[i] = unit_float_open(random.word[1][i]);
        turn[i] = unit_float(random.word[2][i]);
      });
    }
  };

  /// Generates all emissions, parton by parton in order of creation. This step sets only their Lund
  /// coordinates; split() then computes momenta from `softer`, `angle` and the azimuth about the
  /// emitter, which eta holds until then.
  template <int N, class Truth>
  WS_INLINE void radiate(const SampleRng& rng, Jet& jet, Truth& truth) const {
    Draws<N> draws;
    std::uint32_t block = 0;
    float highest = 0, angle = 0, softer = 0;
    int emissions = 0;
    for (int i = 0; i < jet.count; ++i) {
      if (!(jet.room[i] > 0)) continue;
      const bool primary = i < jet.prongs;
      lund::Plane plane(jet.room[i], primary ? jet.density : gluon_density_);
      for (;;) {
        const auto drawn = static_cast<int>(block % N);
        if (drawn == 0) draws.fill(rng, block);
        ++block;
        const lund::Point point = plane.next(draws.log_area[drawn], draws.share[drawn]);
        if (!point.found) break;
        if (jet.count == lund::kMostPartons) {
          ++jet.unfinished;
          break;
        }
        const float room = jet.room[i] - point.down - point.softer;  // ln(kt / kt_cut)
        const int k = jet.count++;
        jet.emitter[k] = static_cast<std::uint8_t>(i);
        jet.depth[k] = static_cast<std::uint8_t>(jet.depth[i] + 1);
        jet.room[k] = full_ ? room : 0.0f;
        jet.angle[k] = jet.angle[i] + point.down;
        jet.softer[k] = point.softer;
        jet.eta[k] = draws.turn[drawn];
        if (!primary) continue;
        if (emissions++ > 0 && !(room > highest)) continue;
        highest = room;
        angle = jet.angle[k];
        softer = point.softer;
      }
    }
    split(jet);
    for (int k = 0; k < jet.count; ++k)
      jet.emitter[k] = k < jet.prongs ? static_cast<std::uint8_t>(k) : jet.emitter[jet.emitter[k]];
    truth.latents[kLogKt] = log_kt_cut_ + math::max(highest, 0.0f);
    truth.latents[kLogInverseAngle] = angle;
    truth.latents[kLogInverseZ] = softer;
    truth.latents[kEmissions] = static_cast<float>(emissions);
  }

  /// Applies the splittings in order. Each emission gets the share z of the momentum and moves to
  /// the distance theta.
  WS_INLINE static void split(Jet& jet) {
    in_lanes(jet.count - jet.prongs, [&](int i) WS_INLINED {
      const int k = jet.prongs + i;
      const float theta = math::exp(-jet.angle[k]);
      const math::SinCos around = math::sincos_turns(jet.eta[k]);
      jet.pt[k] = math::exp(-jet.softer[k]);  // z
      jet.eta[k] = theta * around.cosine;
      jet.phi[k] = theta * around.sine;
    });
    for (int k = jet.prongs; k < jet.count; ++k) {
      const int i = jet.emitter[k];
      const float z = jet.pt[k], deta = jet.eta[k], dphi = jet.phi[k];
      jet.pt[k] = z * jet.pt[i];
      jet.eta[k] = math::fma(1 - z, deta, jet.eta[i]);
      jet.phi[k] = math::fma(1 - z, dphi, jet.phi[i]);
      jet.pt[i] -= jet.pt[k];
      jet.eta[i] = math::fma(-z, deta, jet.eta[i]);
      jet.phi[i] = math::fma(-z, dphi, jet.phi[i]);
    }
  }

  /// Adds soft particles: a Poisson process, uniform in the disc of `radius` about the initial
  /// particle, with exponential transverse momenta. They are not ordered or part of the shower.
  WS_INLINE void add_soft(const SampleRng& rng, Jet& jet) const {
    float passed = 0;
    for (std::uint32_t n = 0; jet.count < lund::kMostPartons; ++n) {
      const Philox4 random = rng.block(Purpose::noise, n);
      passed -= math::log(unit_float_open(random.word[0]));
      if (!(passed < soft_)) return;
      const float distance = radius_ * math::sqrt(unit_float_open(random.word[2]));
      const math::SinCos around = math::sincos_turns(unit_float(random.word[3]));
      const int k = jet.count++;
      constexpr float kBelowOne = 1 - 0x1p-24f;  // keeps pt above 0
      jet.pt[k] = soft_pt_ * -math::log(kBelowOne * unit_float_open(random.word[1]));
      jet.eta[k] = jet.axis + distance * around.cosine;
      jet.phi[k] = distance * around.sine;
      jet.angle[k] = -math::log(distance);
      jet.softer[k] = 0;
      jet.depth[k] = -1;
      jet.emitter[k] = kNoProng;
    }
  }

  /// Drops all constituents outside the cone, but keeps the hardest one.
  WS_INLINE void cut(Jet& jet) const {
    int hardest = 0, kept = 0;
    for (int k = 1; k < jet.count; ++k) hardest = jet.pt[k] > jet.pt[hardest] ? k : hardest;
    for (int k = 0; k < jet.count; ++k) {
      const float away = jets::distance_squared(jet.eta[k] - jet.axis, jets::wrapped(jet.phi[k]));
      if (k != hardest && away > cone_squared_) continue;
      jet.pt[kept] = jet.pt[k];
      jet.eta[kept] = jet.eta[k];
      jet.phi[kept] = jet.phi[k];
      jet.angle[kept] = jet.angle[k];
      jet.softer[kept] = jet.softer[k];
      jet.depth[kept] = jet.depth[k];
      jet.emitter[kept] = jet.emitter[k];
      ++kept;
    }
    jet.count = kept;
  }

  /// Writes constituents; overwrites the jet's coordinates and `room` with four-momenta.
  template <int N, class Row>
  WS_INLINE void write(float phi, Jet& jet, const Prongs<N>& prongs, int lane, Row& row) const {
    std::uint8_t order[lund::kMostPartons];  // by decreasing pt
    jets::in_falling_order<N>(
        jet.pt, jet.count, [&](int k, int place) { order[place] = static_cast<std::uint8_t>(k); });
    if (columns_ == Columns::kinematics) return write_kinematics(phi, jet, order, row);
    const bool record = columns_ == Columns::record;
    const int parents = record ? write_parents(phi, prongs, lane, row) : 0;
    in_lanes(jet.count, [&](int k) WS_INLINED {
      const Momentum p = momentum(jet.pt[k], jet.eta[k], jet.phi[k] + phi);
      jet.room[k] = p.e;
      jet.pt[k] = p.x;
      jet.eta[k] = p.y;
      jet.phi[k] = p.z;
    });
    jets::Sum sum;
    for (int i = 0; i < jet.count; ++i) {
      const int k = order[i];
      sum.add(jet.room[k], jet.pt[k], jet.eta[k], jet.phi[k]);
      if (record) {
        const int prong = jet.emitter[k];
        const int pdg =
            jet.depth[k] == 0 ? pdg_of(prongs.species[lane], prong) : (prong == kNoProng ? 22 : 21);
        // Prongs are the last parents.
        const int mother = prong == kNoProng ? 1 : parents - jet.prongs + prong + 1;
        record::write(row, parents + i, jet.room[k] * per_unit_, jet.pt[k] * per_unit_,
                      jet.eta[k] * per_unit_, jet.phi[k] * per_unit_,
                      {0, pdg, record::Status::final, mother});
        continue;
      }
      const float e = jet.room[k] * per_unit_, x = jet.pt[k] * per_unit_;
      const float y = jet.eta[k] * per_unit_, z = jet.phi[k] * per_unit_;
      if (columns_ == Columns::momenta) {
        row.set_item(i, {e, x, y, z});
      } else {
        row.set_item(i,
                     {e, x, y, z, jet.angle[k], jet.softer[k], static_cast<float>(jet.depth[k])});
      }
    }
    // An unfinished parton would have radiated, so at least one parton is missing.
    row.set_count(parents + jet.count, jet.unfinished);
    row.set_global(0, sum.e * per_unit_);
    row.set_global(1, sum.x * per_unit_);
    row.set_global(2, sum.y * per_unit_);
    row.set_global(3, sum.z * per_unit_);
  }

  /// PDG number of a prong; the flavours of light quarks are not modelled.
  WS_INLINE static int pdg_of(Species species, int prong) {
    if (species == Species::quark) return 1;
    if (species == Species::gluon) return 21;
    if (species == Species::top && prong == 0) return 5;
    return (species == Species::top ? prong - 1 : prong) == 0 ? 2 : -1;
  }

  /// Writes the initial particle, the W of a top, and the decay products; returns their number. If
  /// nothing decays, the initial particle counts as the prong.
  template <int N, class Row>
  WS_INLINE int write_parents(float phi, const Prongs<N>& prongs, int lane, Row& row) const {
    using record::Status;
    const Species species = prongs.species[lane];
    const auto put = [&](int item, const Momentum& p, const record::Tag& tag) WS_INLINED {
      record::write(row, item, p.e * per_unit_, p.x * per_unit_, p.y * per_unit_, p.z * per_unit_,
                    tag);
    };
    const bool top = species == Species::top;
    const int count = prongs.count[lane];
    const int first = count == 1 ? 0 : (top ? 2 : 1);
    Momentum whole{}, w{};
    WS_UNROLL(3)
    for (int k = 0; k < lund::kMostProngs; ++k) {
      if (k >= count) continue;
      const Momentum p =
          momentum(prongs.pt[k][lane], prongs.eta[k][lane], prongs.phi[k][lane] + phi);
      whole = {whole.e + p.e, whole.x + p.x, whole.y + p.y, whole.z + p.z};
      if (k > 0) w = {w.e + p.e, w.x + p.x, w.y + p.y, w.z + p.z};
      if (count > 1)
        put(first + k, p, {0, pdg_of(species, k), Status::decayed, top && k > 0 ? 2 : 1});
    }
    const float mass = count == 1 ? 0 : (top ? prongs.top_mass[lane] : prongs.w_mass[lane]);
    const int pdg = count == 1 ? pdg_of(species, 0) : (top ? 6 : 24);
    put(0, whole, {mass * per_unit_, pdg, Status::incoming, 0});
    if (top) put(1, w, {prongs.w_mass[lane] * per_unit_, 24, Status::decayed, 1});
    return first + count;
  }

  /// Writes pt, eta, phi and mass. The jet's mass is a sum of small terms, so it is accurate: with
  /// S = sum pt, A = sum pt (cosh eta - 1), B = sum pt (1 - cos phi), C = sum pt sin phi and D =
  /// sum pt sinh eta relative to the axis, m^2 = (A + B)(2 S + A - B) - C^2 - D^2.
  template <class Row>
  WS_INLINE void write_kinematics(float phi, const Jet& jet, const std::uint8_t* order,
                                  Row& row) const {
    double s = 0, a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < jet.count; ++i) {
      const int k = order[i];
      const double pt = double{jet.pt[k]}, up = double{math::exp(jet.eta[k] - jet.axis)};
      const math::SinCos half = math::sincos(0.5f * jet.phi[k]);
      // The cosine follows from the sine in f64, so that a single constituent has no mass.
      const double sine = double{half.sine}, rest = 1 - sine * sine;
      const double root = math::sqrt(rest > 0 ? rest : 0);
      const double cosine = half.cosine < 0 ? -root : root;
      s += pt;
      a += pt * (up - 1) * (up - 1) / (2 * up);
      b += pt * 2 * sine * sine;
      c += pt * 2 * sine * cosine;
      d += pt * (up - 1) * (up + 1) / (2 * up);
      row.set_item(i, {jet.pt[k] * per_unit_, jet.eta[k], jets::wrapped(jet.phi[k] + phi), 0});
    }
    row.set_count(jet.count, jet.unfinished);
    const double square = (a + b) * (2 * s + a - b) - c * c - d * d;
    const double pt = math::sqrt((s - b) * (s - b) + c * c);
    // The rapidity, unlike eta, can be added to the rapidity of the axis.
    const auto transverse = static_cast<float>(math::sqrt(pt * pt + (square > 0 ? square : 0)));
    const float up = math::exp(jet.axis + jets::eta_of(transverse, static_cast<float>(d)));
    const float eta = jets::eta_of(static_cast<float>(pt), 0.5f * transverse * (up - 1 / up));
    const float turn = math::atan2(static_cast<float>(c), static_cast<float>(s - b));
    row.set_global(0, static_cast<float>(pt) * per_unit_);
    row.set_global(1, eta);
    row.set_global(2, jets::wrapped(turn + phi));
    row.set_global(3, (square > 0 ? static_cast<float>(math::sqrt(square)) : 0) * per_unit_);
  }

  template <class Row, class Truth>
  WS_INLINE void show(Jet& jet, Row& row, Truth& truth) const {
    jets::Cloud cloud{jet.pt, jet.eta, jet.phi, jet.room, jet.angle, jet.softer, jet.count};
    if (output_ == jets::Output::image) {
      truth.latents[kOutside] = jets::draw_image(cloud, picture_, row);
      return;
    }
    jets::Sum sum;
    for (int i = 0; i < jet.count; ++i) {
      const Momentum p = momentum(jet.pt[i], jet.eta[i], jet.phi[i]);
      sum.add(p.e, p.x, p.y, p.z);
    }
    float numbers[jets::kNumbers];
    jets::measure(cloud, sum, per_unit_, numbers);
    row.set_features(0, numbers);
  }

  Species species_[lund::kMostClasses] = {};
  int classes_ = 0;
  float quark_density_, gluon_density_;  ///< emission density in the Lund plane
  float pt_low_, pt_range_, eta_max_, radius_, log_kt_cut_;
  float cone_squared_, soft_, soft_pt_;
  lund::Line w_line_, top_line_;
  float per_unit_;
  bool full_;
  Columns columns_;
  jets::Output output_;
  jets::Picture picture_;
  SampleLayout layout_;
};

}  // namespace wellspring
