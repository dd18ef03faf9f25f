// Generator `tracks`: hits of charged particles in a tracking detector, as sets; the class is the
// number of particles. Helices from the beam line through cylinders and discs (tracker.h), small
// kicks by multiple scattering at each, measurements with errors and losses, hits of noise. With
// the truth of TrackML beside each hit, where it is asked for. Host and device.
//
// A particle is followed as long as it moves away from the axis and by less than half a turn: no
// loopers. It keeps its momentum: no energy is lost.
#pragma once

#include "core/params.h"
#include "generators/events/helix.h"
#include "generators/events/team_sums.h"
#include "generators/events/tracker.h"
#include "generators/sample_info.h"
#include "kernels/emission/sample.h"
#include "kernels/math.h"
#include "kernels/philox.h"
#include "kernels/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

struct Tracks {
  enum class Columns : std::uint8_t { position, hits, truth };
  enum class Scattering : std::uint8_t { off, highland };

  static constexpr int kMostTracks = 16384, kMostClasses = 256, kMostItems = 131072;
  static constexpr int kMostVertices = 1024;
  static constexpr int kSurfaces = kMostCylinders + kMostDiscs;
  /// Layers that measure: barrels, discs at +z, discs at -z; and dead cylinders, without noise.
  static constexpr int kNoiseLayers = kMostCylinders + 2 * kMostDiscs;
  static constexpr std::uint32_t kMostNoise = 1u << 16;    ///< of one layer
  static constexpr std::uint32_t kFirstVertex = 1u << 20;  ///< block of purpose scene
  static constexpr int kMostMembers = 256;                 ///< of a team
  static constexpr bool kSharesWarps = true;
  /// Of the angle to the surface: what grazes it crosses 20 times its thickness at most.
  static constexpr double kLeastCosine = 0.05;
  /// A particle of fewer hits counts for nothing in `weight`, as in TrackML.
  static constexpr std::uint32_t kFewestHits = 4;

  struct Params {
    Columns columns = Columns::hits;
    int tracks_low = 1, tracks_high = 10;
    int vertices = 1;
    double vertex_z = 55, vertex_xy = 0.01;
    double pt_low = 0.5, pt_high = 10, pt_power = 1;
    double eta_max = 2.5, phi_max = 3.14159265358979312;
    double mass = 0.13957;
    double field = 2;
    Scattering scattering = Scattering::highland;
    double pixel_thickness = 0.012, strip_thickness = 0.013;
    double pixel_along = 0.0144, pixel_across = 0.0162;
    double short_along = 0.0231, short_across = 0.346;
    double long_along = 0.0346, long_across = 3.12;
    double efficiency = 0.98;
    double noise = 10;
    double unit = 1;
    int items = 256;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);
  static Tracker tracker_of(const Params& params);

  enum Latent : std::uint8_t {
    kTracks,
    kHits,
    kNoiseHits,
    kChargeOverPt,
    kPt,
    kEta,
    kCosPhi,
    kSinPhi,
    kVertexZ,
    kLatents,
  };
  enum Feature : std::uint8_t {
    kX,
    kY,
    kZ,
    kVolume,
    kLayer,
    kParticle,
    kTrueX,
    kTrueY,
    kTrueZ,
    kTruePx,
    kTruePy,
    kTruePz,
    kWeight,
    kVertexX,
    kVertexY,
    kVertexZOfHit,
    kPx,
    kPy,
    kPz,
    kCharge,
    kFeatures,
  };

  /// Errors: config.
  explicit Tracks(const Params& params);

  SampleLayout layout() const { return SampleLayout::set(items_, features_); }
  int members() const { return members_; }
  /// Where the hits of each particle, then of the noise of each layer, begin; and their end.
  using EventCell = std::uint32_t;
  WS_HD std::int64_t cells() const { return tracks_high_ + kNoiseLayers + 1; }
  std::size_t scratch_bytes() const {
    return sizeof(Tracker) + sizeof(Shared) + kMostMembers * sizeof(std::uint32_t) + 16;
  }

  template <class Team, class Row>
  WS_HD void make(Team& team, const SampleKey& key, Row& row, Truth<kLatents>& truth,
                  EventCell* cells) const {
    auto& tracker = *team.template scratch<Tracker>(1);
    copy_together(team, &tracker_, &tracker);  // whole after the barrier below
    Shared& shared = *team.template scratch<Shared>(1);
    auto* const sums = team.template scratch<std::uint32_t>(kMostMembers);
    if (team.rank() == 0) {
      const auto classes = static_cast<std::uint32_t>(tracks_high_ - tracks_low_ + 1);
      shared.tracks =
          static_cast<int>(below(key.rng.block(Purpose::scene, 0).word[0], classes)) + tracks_low_;
    }
    team.sync();
    const int tracks = shared.tracks, parts = tracks + kNoiseLayers;
    if constexpr (LoneTeam<Team>) {  // each part begins where the one before ends
      cells[0] = 0;
      for (int i = 0; i < parts; ++i)
        cells[i + 1] = cells[i] + write(key.rng, tracker, tracks, i, cells[i], row);
    } else {
      for (int i = team.rank(); i < parts; i += team.size())
        cells[i] = each_hit(key.rng, tracker, tracks, i, [](const Hit&) {});
      add_up(team, cells, parts, sums);
      for (int i = team.rank(); i < parts; i += team.size())
        write(key.rng, tracker, tracks, i, cells[i], row);
    }
    team.sync();
    if (columns_ == Columns::truth) weigh(team, tracks, cells, row);
    const std::uint32_t hits = cells[parts];
    row.set_count(static_cast<int>(hits));
    if (team.rank() == 0) {
      const Particle first = particle(key.rng, 0);
      truth.label = tracks - tracks_low_;
      truth.latents[kTracks] = static_cast<float>(tracks);
      truth.latents[kHits] = static_cast<float>(hits);
      truth.latents[kNoiseHits] = static_cast<float>(hits - cells[tracks]);
      truth.latents[kChargeOverPt] = first.charge / first.pt;
      truth.latents[kPt] = first.pt;
      truth.latents[kEta] = first.eta;
      truth.latents[kCosPhi] = first.direction.cosine;
      truth.latents[kSinPhi] = first.direction.sine;
      truth.latents[kVertexZ] = first.z;
    }
    team.sync();  // cells are another event's next
  }

 private:
  struct Shared {
    int tracks;
  };

  /// Lengths in mm, momenta in GeV.
  struct Particle {
    float pt, eta, charge;
    math::SinCos direction;
    float sinh_eta, p;
    float x, y, z;
  };

  /// A measurement, and where and how the particle crossed.
  struct Hit {
    double x, y, z;
    double true_x, true_y, true_z;
    double px, py, pz;
    std::int32_t volume, layer;
  };

  WS_INLINE Particle particle(const SampleRng& rng, int number) const {
    const Philox4 random = rng.block(Purpose::scene, 1 + static_cast<std::uint32_t>(number));
    Particle made{};
    const float u = unit_float(random.word[0]);
    // By the inverse of the distribution function of pt^-n: flat in pt^(1-n), or in log pt.
    const float ratio = pt_exponent_ == 0 ? math::exp(u * pt_span_)
                                          : math::pow(math::fma(u, pt_span_, 1), 1 / pt_exponent_);
    made.pt = math::clamp(pt_low_ * ratio, pt_low_, pt_high_);
    made.eta = eta_max_ * math::fma(2, unit_float(random.word[1]), -1);
    made.direction = math::sincos_turns(phi_turns_ * math::fma(2, unit_float(random.word[2]), -1));
    made.charge = (random.word[3] >> 31) == 0 ? 1.0f : -1.0f;
    const float e = math::exp(math::abs(made.eta));
    const float size = 0.5f * (e - 1 / e);
    made.sinh_eta = made.eta < 0 ? -size : size;
    made.p = made.pt * math::sqrt(math::fma(size, size, 1));
    const std::uint32_t vertex = below(random.word[3] << 1, vertices_);
    const Philox4 place = rng.block(Purpose::scene, kFirstVertex + vertex);
    const math::NormalPair across = math::box_muller(place.word[0], place.word[1]);
    made.x = vertex_xy_ * across.first;
    made.y = vertex_xy_ * across.second;
    made.z = vertex_z_ * math::box_muller(place.word[2], place.word[3]).first;
    return made;
  }

  /// Calls `take(hit)` for each hit of particle `i`, or of the noise of layer i - tracks, in order;
  /// returns how many.
  template <class Take>
  WS_INLINE std::uint32_t each_hit(const SampleRng& rng, const Tracker& tracker, int tracks, int i,
                                   const Take& take) const {
    return i < tracks ? follow(rng, tracker, i, particle(rng, i), take)
                      : noise_hits(rng, tracker, i - tracks, take);
  }

  template <class Take>
  WS_INLINE std::uint32_t follow(const SampleRng& rng, const Tracker& tracker, int number,
                                 const Particle& particle, const Take& take) const {
    const double x = double{particle.direction.cosine}, y = double{particle.direction.sine};
    const double norm = math::sqrt(x * x + y * y);
    const double bend = -double{particle.charge} * helix::kBend * field_ / double{particle.p};
    helix::State at{particle.x, particle.y, particle.z, x / norm, y / norm, particle.sinh_eta, 0};
    at.k = bend * math::sqrt(1 + at.cot * at.cot);
    const int side = at.cot < 0 ? 0 : 1;
    const float mass = mass_ / particle.p;
    const float beta = 1 / math::sqrt(math::fma(mass, mass, 1));
    std::uint32_t hits = 0;
    int cylinder = 0, disc = 0;
    while (true) {
      const helix::Chord out = cylinder < tracker.cylinders
                                   ? helix::to_cylinder(at, tracker.cylinder[cylinder].place)
                                   : helix::kNowhere;
      const double plane = disc < tracker.discs ? tracker.disc[disc].place : 0;
      const helix::Chord along =
          disc < tracker.discs ? helix::to_plane(at, side == 0 ? -plane : plane) : helix::kNowhere;
      if (!out.reached && !along.reached) break;
      const bool at_cylinder = out.reached && !(along.reached && along.arc < out.arc);
      const TrackerSurface& surface = at_cylinder ? tracker.cylinder[cylinder] : tracker.disc[disc];
      const int place = at_cylinder ? cylinder : kMostCylinders + disc;
      ++(at_cylinder ? cylinder : disc);
      const helix::State there = helix::moved(at, at_cylinder ? out : along);
      const double r = math::sqrt(there.x * there.x + there.y * there.y);
      const double outwards = (there.x * there.ux + there.y * there.uy) / r;
      if (!(outwards > 0)) break;
      const double reach = at_cylinder ? (there.z < 0 ? -there.z : there.z) : r;
      if (reach < surface.low || reach > surface.high) continue;
      at = there;
      // Rings of one plane lie beside each other.
      while (!at_cylinder && disc < tracker.discs && tracker.disc[disc].place == surface.place)
        ++disc;
      const auto draw = static_cast<std::uint32_t>(2 * (kSurfaces * number + place));
      if (surface.volume[side] != 0) {
        const Philox4 random = rng.block(Purpose::noise, draw + 1);
        if (unit_float(random.word[2]) < efficiency_) {
          take(measured(at, surface, side, at_cylinder, r, random, particle.p));
          ++hits;
        }
      }
      if (scattering_ == Scattering::off) continue;
      const Philox4 random = rng.block(Purpose::noise, draw);
      const math::NormalPair normal = math::box_muller(random.word[0], random.word[1]);
      const double s = helix::sine_to_axis(at), c = s * (at.cot < 0 ? -at.cot : at.cot);
      const double cosine = at_cylinder ? s * outwards : c;
      const auto thickness = static_cast<float>(double{surface.thickness} /
                                                (cosine > kLeastCosine ? cosine : kLeastCosine));
      const float width = helix::highland(particle.p, beta, thickness);
      at = helix::scattered(at, bend, width * normal.first, width * normal.second);
      if (!(at.x * at.ux + at.y * at.uy > 0)) break;
    }
    return hits;
  }

  /// On the surface: off along the circle, and along the axis or the radius.
  WS_INLINE Hit measured(const helix::State& at, const TrackerSurface& surface, int side,
                         bool at_cylinder, double r, const Philox4& random, float p) const {
    const math::NormalPair error = math::box_muller(random.word[0], random.word[1]);
    const double along = double{surface.along * error.first};
    const double across = double{surface.across * error.second};
    Hit hit;
    const double turn = along / r;
    if (at_cylinder) {  // along the tangent, then straight back to the cylinder
      const double norm = math::sqrt(1 + turn * turn);
      hit.x = (at.x - turn * at.y) / norm;
      hit.y = (at.y + turn * at.x) / norm;
      hit.z = at.z + across;
    } else {
      const double stretch = 1 + across / r;
      hit.x = stretch * at.x - turn * at.y;
      hit.y = stretch * at.y + turn * at.x;
      hit.z = at.z;
    }
    hit.true_x = at.x;
    hit.true_y = at.y;
    hit.true_z = at.z;
    const double across_z = double{p} * helix::sine_to_axis(at);
    hit.px = across_z * at.ux;
    hit.py = across_z * at.uy;
    hit.pz = across_z * at.cot;
    hit.volume = surface.volume[side];
    hit.layer = surface.layer[side];
    return hit;
  }

  /// A Poisson process in the angle: the gaps between hits are exponential numbers.
  template <class Take>
  WS_INLINE std::uint32_t noise_hits(const SampleRng& rng, const Tracker& tracker, int layer,
                                     const Take& take) const {
    const bool at_cylinder = layer < kMostCylinders;
    const int disc = at_cylinder ? 0 : (layer - kMostCylinders) % kMostDiscs;
    const int side = layer < kMostCylinders + kMostDiscs ? 1 : 0;
    const TrackerSurface& surface = at_cylinder ? tracker.cylinder[layer] : tracker.disc[disc];
    if (surface.volume[side] == 0 || noise_density_ == 0) return 0;
    const double mean = noise_density_ * area(surface, at_cylinder);
    double sum = 0;
    std::uint32_t hits = 0;
    for (; hits < kMostNoise; ++hits) {
      const Philox4 random =
          rng.block(Purpose::texture, static_cast<std::uint32_t>(layer) * kMostNoise + hits);
      sum += double{-math::log(unit_float_open(random.word[0]))};
      if (!(sum < mean)) break;
      const math::SinCos phi = math::sincos_turns(static_cast<float>(sum / mean));
      const double u = double{unit_float(random.word[1])};
      const double low = surface.low * surface.low, high = surface.high * surface.high;
      const double r = at_cylinder ? surface.place : math::sqrt(low + u * (high - low));
      Hit hit{};
      hit.true_x = hit.x = r * double{phi.cosine};
      hit.true_y = hit.y = r * double{phi.sine};
      hit.true_z = hit.z = at_cylinder ? surface.high * (2 * u - 1)
                           : side == 0 ? -surface.place
                                       : surface.place;
      hit.volume = surface.volume[side];
      hit.layer = surface.layer[side];
      take(hit);
    }
    return hits;
  }

  /// mm^2
  WS_INLINE static double area(const TrackerSurface& surface, bool at_cylinder) {
    constexpr double kPi = 0x1.921fb54442d18p+1;
    return at_cylinder ? 4 * kPi * surface.place * surface.high
                       : kPi * (surface.high - surface.low) * (surface.high + surface.low);
  }

  /// Writes the hits of part `i` from item `first` on; returns how many.
  template <class Row>
  WS_INLINE std::uint32_t write(const SampleRng& rng, const Tracker& tracker, int tracks, int i,
                                std::uint32_t first, Row& row) const {
    Particle origin{};
    if (columns_ == Columns::truth && i < tracks) origin = particle(rng, i);
    auto item = static_cast<int>(first);
    return each_hit(rng, tracker, tracks, i, [&](const Hit& hit) {
      const auto length = [&](int feature, double mm) {
        row.set(item, feature, static_cast<float>(mm * per_unit_));
      };
      length(kX, hit.x);
      length(kY, hit.y);
      length(kZ, hit.z);
      if (columns_ != Columns::position) {
        row.set(item, kVolume, static_cast<float>(hit.volume));
        row.set(item, kLayer, static_cast<float>(hit.layer));
      }
      if (columns_ == Columns::truth) {
        row.set(item, kParticle, i < tracks ? static_cast<float>(i + 1) : 0.0f);
        length(kTrueX, hit.true_x);
        length(kTrueY, hit.true_y);
        length(kTrueZ, hit.true_z);
        row.set(item, kTruePx, static_cast<float>(hit.px));
        row.set(item, kTruePy, static_cast<float>(hit.py));
        row.set(item, kTruePz, static_cast<float>(hit.pz));
        length(kVertexX, origin.x);
        length(kVertexY, origin.y);
        length(kVertexZOfHit, origin.z);
        row.set(item, kPx, origin.pt * origin.direction.cosine);
        row.set(item, kPy, origin.pt * origin.direction.sine);
        row.set(item, kPz, origin.pt * origin.sinh_eta);
        row.set(item, kCharge, origin.charge);
      }
      ++item;
    });
  }

  /// Equal shares of 1 for the hits of all particles that have enough of them.
  template <class Team, class Row>
  WS_INLINE void weigh(Team& team, int tracks, const EventCell* cells, Row& row) const {
    std::uint32_t counted = 0;
    for (int t = 0; t < tracks; ++t) {
      const std::uint32_t hits = cells[t + 1] - cells[t];
      counted += hits < kFewestHits ? 0 : hits;
    }
    const float share = counted == 0 ? 0 : 1 / static_cast<float>(counted);
    for (int i = team.rank(); i < tracks + kNoiseLayers; i += team.size()) {
      const bool counts = i < tracks && cells[i + 1] - cells[i] >= kFewestHits;
      for (std::uint32_t item = cells[i]; item < cells[i + 1]; ++item)
        row.set(static_cast<int>(item), kWeight, counts ? share : 0);
    }
  }

  Tracker tracker_;
  double field_, per_unit_, noise_density_;
  float pt_low_, pt_high_, pt_exponent_, pt_span_;
  float eta_max_, phi_turns_, mass_, vertex_z_, vertex_xy_, efficiency_;
  int tracks_low_, tracks_high_, items_, features_, members_;
  std::uint32_t vertices_;
  Columns columns_;
  Scattering scattering_;
};

}  // namespace wellspring
