// Generator `tracks`: hits of charged particles in a tracking detector, as sets; the class is the
// number of particles. Particles follow helices from the beam line through cylinders and discs
// (tracker.h), with multiple scattering at each. Hits have measurement errors, inefficiency and
// noise and, optionally, TrackML's truth per hit. Created through the registry; host and device.
//
// Particles are followed outwards for less than half a turn, so there are no loopers. They lose no
// energy.
#pragma once

#include "core/config/params.h"
#include "generators/events/team_sums.h"
#include "generators/events/track_ways.h"
#include "generators/events/tracker.h"
#include "generators/sample_info.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/forms.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/random/philox_run.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/team.h"

#include <cstddef>
#include <cstdint>

namespace wellspring {

struct Tracks {
  enum class Columns : std::uint8_t { position, hits, truth };
  enum class Scattering : std::uint8_t { off, highland };

  static constexpr int kMostTracks = 16384, kMostClasses = 256, kMostItems = 131072;
  static constexpr int kMostVertices = 1024;
  /// Cylinders (including dead ones, which have no noise), discs at +z, discs at -z.
  static constexpr int kNoiseLayers = kMostCylinders + 2 * kMostDiscs;
  static constexpr std::uint32_t kMostNoise = 1u << 16;    ///< per layer
  static constexpr std::uint32_t kFirstVertex = 1u << 20;  ///< random block of purpose scene
  static constexpr int kMostMembers = 256;                 ///< per team
  static constexpr forms::EventTeams kForm = {.cells = true, .shares_warps = true};
  static constexpr int kSideBySide = 8;  ///< particles that a single member propagates in SIMD
  /// As in TrackML, particles with fewer hits have `weight` 0.
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

  /// Throws config errors.
  explicit Tracks(const Params& params);

  SampleLayout layout() const { return SampleLayout::set(items_, features_); }
  int members() const { return members_; }
  /// Index of the first hit of each particle, then of each layer's noise, then the total.
  using EventCell = std::uint32_t;
  WS_HD std::int64_t cells() const { return tracks_high_ + kNoiseLayers + 1; }
  std::size_t scratch_bytes() const {
    return sizeof(Tracker) + sizeof(Shared) + kMostMembers * sizeof(std::uint32_t) + 16;
  }

  template <class Team, class Row>
  WS_HD void make(Team& team, const SampleKey& key, Row& row, Truth<kLatents>& truth,
                  EventCell* cells) const {
    auto& tracker = *team.template scratch<Tracker>(1);
    copy_together(team, &tracker_, &tracker);  // valid after the barrier below
    Shared& shared = *team.template scratch<Shared>(1);
    auto* const sums = team.template scratch<std::uint32_t>(kMostMembers);
    if (team.rank() == 0) {
      const auto classes = static_cast<std::uint32_t>(tracks_high_ - tracks_low_ + 1);
      shared.tracks =
          static_cast<int>(below(key.rng.block(Purpose::scene, 0).word[0], classes)) + tracks_low_;
    }
    team.sync();
    const int tracks = shared.tracks, parts = tracks + kNoiseLayers;
    if constexpr (LoneTeam<Team>) {  // each part starts where the previous one ends
      write_all(key.rng, tracker, tracks, cells, row);
    } else {
      for (int i = team.rank(); i < parts; i += team.size())
        cells[i] = each_hit(key.rng, tracker, tracks, i, [](const TrackHit&, const auto&) {});
      add_up(team, cells, parts, sums);
      for (int i = team.rank(); i < parts; i += team.size()) {
        auto item = static_cast<int>(cells[i]);
        each_hit(key.rng, tracker, tracks, i, [&](const TrackHit& hit, const TrackParticle& from) {
          write(hit, i < tracks ? i + 1 : 0, from, item++, row);
        });
      }
    }
    team.sync();
    if (columns_ == Columns::truth) weigh(team, tracks, cells, row);
    const std::uint32_t hits = cells[parts];
    row.set_count(static_cast<int>(hits));
    if (team.rank() == 0) {
      const TrackParticle first = particles<1>(key.rng, 0, 1).of(0);
      truth.label = tracks - tracks_low_;
      truth.latents[kTracks] = static_cast<float>(tracks);
      truth.latents[kHits] = static_cast<float>(hits);
      truth.latents[kNoiseHits] = static_cast<float>(hits - cells[tracks]);
      truth.latents[kChargeOverPt] = first.charge / first.pt;
      truth.latents[kPt] = first.pt;
      truth.latents[kEta] = first.eta;
      truth.latents[kCosPhi] = first.cosine;
      truth.latents[kSinPhi] = first.sine;
      truth.latents[kVertexZ] = first.z;
    }
    team.sync();  // the next event reuses the cells
  }

 private:
  struct Shared {
    int tracks;
  };

  /// Particles [first, min(first + N, past)).
  template <int N>
  WS_INLINE TrackParticles<N> particles(const SampleRng& rng, int first, int past) const {
    TrackParticles<N> made;
    std::int32_t wanted[N];
    std::uint32_t own[N], vertex[N];
    for (int i = 0; i < N; ++i) {
      wanted[i] = first + i < past ? 1 : 0;
      own[i] = static_cast<std::uint32_t>(1 + first + i);
    }
    const auto words = wanted_blocks<N>(rng, Purpose::scene, own, wanted);
    in_lanes<N>([&](int i) WS_INLINED {
      vertex[i] = kFirstVertex + below(words.word[3][i] << 1, vertices_);
    });
    const auto places = wanted_blocks<N>(rng, Purpose::scene, vertex, wanted);
    in_lanes<N>([&](int i) WS_INLINED { made.put(i, particle(words.of(i), places.of(i))); });
    return made;
  }

  WS_INLINE TrackParticle particle(const Philox4& random, const Philox4& place) const {
    TrackParticle made;
    const float u = unit_float(random.word[0]);
    // Inverse distribution function of pt^-n, which is uniform in pt^(1-n), or in log pt for n = 1.
    const float ratio = pt_exponent_ == 0 ? math::exp(u * pt_span_)
                                          : math::pow(math::fma(u, pt_span_, 1), 1 / pt_exponent_);
    made.pt = math::clamp(pt_low_ * ratio, pt_low_, pt_high_);
    made.eta = eta_max_ * math::fma(2, unit_float(random.word[1]), -1);
    const math::SinCos direction =
        math::sincos_turns(phi_turns_ * math::fma(2, unit_float(random.word[2]), -1));
    made.cosine = direction.cosine;
    made.sine = direction.sine;
    made.charge = (random.word[3] >> 31) == 0 ? 1.0f : -1.0f;
    const float e = math::exp(math::abs(made.eta));
    const float size = 0.5f * (e - 1 / e);
    made.sinh_eta = made.eta < 0 ? -size : size;
    made.p = made.pt * math::sqrt(math::fma(size, size, 1));
    const math::NormalPair across = math::box_muller(place.word[0], place.word[1]);
    made.x = vertex_xy_ * across.first;
    made.y = vertex_xy_ * across.second;
    made.z = vertex_z_ * math::box_muller(place.word[2], place.word[3]).first;
    return made;
  }

  /// Calls `take(hit, particle)` for each hit of particle `i` or, if i >= tracks, for the noise of
  /// layer i - tracks, in order; returns the number of hits.
  template <class Take>
  WS_INLINE std::uint32_t each_hit(const SampleRng& rng, const Tracker& tracker, int tracks, int i,
                                   const Take& take) const {
    std::uint32_t hits = 0;
    if (i < tracks) {
      const auto one = particles<1>(rng, i, tracks);
      TrackWays<1>(laws_, tracker, rng, one, i, tracks).follow([&](int, const TrackHit& hit) {
        take(hit, one.of(0));
        ++hits;
      });
    } else if (noise_mean_[i - tracks] > 0) {
      const Philox4 random = rng.block(Purpose::texture, noise_block(i - tracks));
      noise_hits(rng, tracker, i - tracks, random, [&](const TrackHit& hit) {
        take(hit, TrackParticle{});
        ++hits;
      });
    }
    return hits;
  }

  /// Called by one member: writes all parts; particles are in SIMD lanes.
  template <class Row>
  WS_INLINE void write_all(const SampleRng& rng, const Tracker& tracker, int tracks,
                           EventCell* cells, Row& row) const {
    constexpr int N = kSideBySide;
    int item = 0;
    for (int first = 0; first < tracks; first += N) {
      TrackHit hits[N][kTrackerSurfaces];
      int count[N] = {};
      const auto some = particles<N>(rng, first, tracks);
      TrackWays<N>(laws_, tracker, rng, some, first, tracks)
          .follow([&](int lane, const TrackHit& hit) { hits[lane][count[lane]++] = hit; });
      for (int lane = 0; lane < N && first + lane < tracks; ++lane) {
        cells[first + lane] = static_cast<EventCell>(item);
        for (int h = 0; h < count[lane]; ++h)
          write(hits[lane][h], first + lane + 1, some.of(lane), item++, row);
      }
    }
    // The first gap alone shows that most layers have no noise hit.
    for (int first = 0; first < kNoiseLayers; first += N) {
      std::int32_t wanted[N];
      std::uint32_t draw[N];
      alignas(N * sizeof(double)) double gap[N];
      for (int i = 0; i < N; ++i) {
        wanted[i] = first + i < kNoiseLayers && noise_mean_[first + i] > 0 ? 1 : 0;
        draw[i] = noise_block(first + i);
      }
      const auto blocks = wanted_blocks<N>(rng, Purpose::texture, draw, wanted);
      in_lanes<N>([&](int i) WS_INLINED { gap[i] = noise_gap(blocks.word[0][i]); });
      for (int i = 0; i < N && first + i < kNoiseLayers; ++i) {
        const int layer = first + i;
        cells[tracks + layer] = static_cast<EventCell>(item);
        if (!(gap[i] < noise_mean_[layer])) continue;
        noise_hits(rng, tracker, layer, blocks.of(i),
                   [&](const TrackHit& hit) { write(hit, 0, TrackParticle{}, item++, row); });
      }
    }
    cells[tracks + kNoiseLayers] = static_cast<EventCell>(item);
  }

  WS_INLINE float length(double mm) const { return static_cast<float>(mm * laws_.per_unit); }

  /// First random block of a layer's noise.
  WS_INLINE static std::uint32_t noise_block(int layer) {
    return static_cast<std::uint32_t>(layer) * kMostNoise;
  }
  /// Distance to the next noise hit, in units of the mean distance.
  WS_INLINE static double noise_gap(std::uint32_t word) {
    return double{-math::log(unit_float_open(word))};
  }

  /// Hits are a Poisson process in azimuth, with exponential gaps. `random`: first random block.
  template <class Take>
  WS_INLINE void noise_hits(const SampleRng& rng, const Tracker& tracker, int layer, Philox4 random,
                            const Take& take) const {
    const bool at_cylinder = layer < kMostCylinders;
    const int disc = at_cylinder ? 0 : (layer - kMostCylinders) % kMostDiscs;
    const int side = layer < kMostCylinders + kMostDiscs ? 1 : 0;
    const TrackerSurface& surface = at_cylinder ? tracker.cylinder[layer] : tracker.disc[disc];
    const double mean = noise_mean_[layer];
    double sum = 0;
    for (std::uint32_t k = 0; k < kMostNoise; ++k) {
      if (k > 0) random = rng.block(Purpose::texture, noise_block(layer) + k);
      sum += noise_gap(random.word[0]);
      if (!(sum < mean)) break;
      const math::SinCos phi = math::sincos_turns(static_cast<float>(sum / mean));
      const double u = double{unit_float(random.word[1])};
      const double low = surface.low * surface.low, high = surface.high * surface.high;
      const double r = at_cylinder ? surface.place : math::sqrt(low + u * (high - low));
      TrackHit hit{};
      hit.true_x = hit.x = length(r * double{phi.cosine});
      hit.true_y = hit.y = length(r * double{phi.sine});
      hit.true_z = hit.z = length(at_cylinder ? surface.high * (2 * u - 1)
                                  : side == 0 ? -surface.place
                                              : surface.place);
      hit.volume = surface.volume[side];
      hit.layer = surface.layer[side];
      take(hit);
    }
  }

  /// `particle`: its number, starting at 1; 0 for noise. `from`: its state at production.
  template <class Row>
  WS_INLINE void write(const TrackHit& hit, int particle, const TrackParticle& from, int item,
                       Row& row) const {
    if (columns_ == Columns::position) return row.set_item(item, {hit.x, hit.y, hit.z});
    const auto volume = static_cast<float>(hit.volume), layer = static_cast<float>(hit.layer);
    if (columns_ == Columns::hits) return row.set_item(item, {hit.x, hit.y, hit.z, volume, layer});
    row.set_item(item, {hit.x, hit.y, hit.z, volume, layer, static_cast<float>(particle),
                        hit.true_x, hit.true_y, hit.true_z, hit.px, hit.py, hit.pz});
    row.set_item(item,
                 {length(double{from.x}), length(double{from.y}), length(double{from.z}),
                  from.pt * from.cosine, from.pt * from.sine, from.pt * from.sinh_eta, from.charge},
                 kVertexX);
  }

  /// Sets `weight`. All hits of particles with at least kFewestHits hits have equal weights; the
  /// sum is 1.
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
  TrackLaws laws_;
  double noise_mean_[kNoiseLayers];  ///< mean hits per layer; 0 for dead layers
  float pt_low_, pt_high_, pt_exponent_, pt_span_;
  float eta_max_, phi_turns_, vertex_z_, vertex_xy_;
  int tracks_low_, tracks_high_, items_, features_, members_;
  std::uint32_t vertices_;
  Columns columns_;
};

}  // namespace wellspring
