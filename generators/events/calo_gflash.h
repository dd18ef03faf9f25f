// Generator `calo_gflash`: showers in a cylindrical calorimeter by the GFLASH parameterisation. A
// feature is the energy of a cell; the class is the particle. Created through the registry; host
// and device.
//
// A shower is a list of slices, parts of a layer's depth. A gamma law gives the energy of each
// slice, and a two-component profile at the slice's centre gives the lateral distribution
// (gflash.h). The mode determines how the energy of a slice is distributed among cells:
//
//   gflash       as published: each slice has its own number of spots of equal energy
//   gflash_lite  all spots of a shower have the same energy; the slice of each spot is random
//   mean         the expected share of each cell
//
// Energies are integers in units of 2^-40 of the particle's energy. Sums therefore do not depend on
// the order of addition, and the energy outside the cells is exact. Sampling fluctuations, the
// constant term, noise and the threshold are then applied to each cell.
#pragma once

#include "core/config/params.h"
#include "generators/events/calo_geometry.h"
#include "generators/events/calo_media.h"
#include "generators/events/calo_spots.h"
#include "generators/events/gflash.h"
#include "generators/sample_info.h"
#include "kernels/batch/sample.h"
#include "kernels/emission/forms.h"
#include "kernels/random/gamma.h"
#include "kernels/random/math.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/launch_bound.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

struct CaloGflash {
  enum class Mode : std::uint8_t { gflash, gflash_lite, mean };
  enum class Geometry : std::uint8_t { cylinder, ds1_photon, ds1_pion, ds2, ds3 };
  enum class Structure : std::uint8_t { homogeneous, sampling };
  enum class Particle : std::uint8_t { electron, photon, pion };
  enum class Unit : std::uint8_t { mev, gev };

  struct Params {
    std::vector<std::string> particles = {"electron"};
    Mode mode = Mode::gflash;
    std::vector<double> energies;
    double energy_low = 1, energy_high = 100;
    Structure medium = Structure::homogeneous;
    gflash::Material material = gflash::Material::pbwo4, active = gflash::Material::silicon;
    double passive_mm = 1.4, active_mm = 0.3;
    Geometry geometry = Geometry::cylinder;
    int layers = 12;
    double layer_depth = 2, front = 0;
    int rings = 3;
    double ring_width = 10;
    int sectors = 1;
    double slice = 1;
    double spot_resolution = 0.11;
    double sampling_term = 0, constant_term = 0, noise = 0, threshold = 0;
    Unit unit = Unit::mev;
    double hadron_shape = 0.6165, hadron_shape_slope = 0.3183;
    double hadron_em_rate = 0.2198, hadron_rate = 0.9099, hadron_rate_slope = -0.0237;
    double hadron_k = 0.82, hadron_scale = 1, hadron_em_sigma = 0.1;
    double hadron_response = 0.7, hadron_radius = 0.2, hadron_spots = 20;
  };
  static const ParamTable<Params>& table();
  static SampleInfo describe(const Params& params);

  /// Medium and cells for these parameters. Throws config errors.
  static gflash::Medium medium_of(const Params& params);
  static Calorimeter calorimeter_of(const Params& params);

  enum Latent : std::uint8_t {
    kEnergy,
    kShowerMax,
    kAlpha,
    kStart,
    kEmFraction,
    kInvisible,
    kLeakage,
    kSpots,
    kLatents,
  };
  static constexpr int kMostParticles = 3, kMostEnergies = 16;
  /// Energy units per shower.
  static constexpr float kWhole = 0x1p+40f;
  /// First random block of the sampling fluctuations; spots use lower blocks.
  static constexpr std::uint32_t kFirstSamplingBlock = 1u << 31;

  /// Throws config errors.
  explicit CaloGflash(const Params& params);

  using EventCell = std::uint64_t;
  WS_HD std::int64_t cells() const { return calorimeter_.cells; }
  SampleLayout layout() const { return SampleLayout::event(calorimeter_.cells); }
  static constexpr forms::EventTeams kForm = {
      .bound = {256, 3}, .cells = true};  ///< a fourth block would spill registers
  int members() const { return kForm.bound.threads; }
  std::size_t scratch_bytes() const {
    return sizeof(Calorimeter) + sizeof(Shared) + 16 +
           static_cast<std::size_t>(parts_ * calorimeter_.slices) * sizeof(CaloSlice);
  }

  template <class Team, class Row>
  WS_HD void make(Team& team, const SampleKey& key, Row& row, Truth<kLatents>& truth,
                  EventCell* cells) const {
    CaloSlice* const slices =
        team.template scratch<CaloSlice>(static_cast<std::size_t>(parts_ * calorimeter_.slices));
    Shared& shared = *team.template scratch<Shared>(1);
    const Calorimeter& calorimeter = copy(team);
    if (team.rank() == 0) {
      shared.deposited = 0;
      shared.spots = 0;
      draw(key.rng, shared.shower);
    }
    for (int c = team.rank(); c < calorimeter_.cells; c += team.size()) cells[c] = 0;
    team.sync();
    const Shower& shower = shared.shower;
    for (int i = team.rank(); i < parts_ * calorimeter.slices; i += team.size()) {
      slices[i] = slice(calorimeter, shower, i / calorimeter.slices, i % calorimeter.slices);
    }
    team.sync();
    if (mode_ == Mode::mean) {
      expect(team, calorimeter, slices, cells);
    } else {
      if (team.rank() == 0) shared.spots = count_spots(shower, slices, calorimeter.slices);
      team.sync();
      if (mode_ == Mode::gflash) {
        scatter_spots(team, key.rng, calorimeter, shared.spots, slices, cells);
      } else {
        scatter_equal_spots(team, key.rng, calorimeter, shared.spots,
                            units(shower.share[0]) + units(shower.share[1]), slices,
                            parts_ * calorimeter.slices, cells);
      }
    }
    team.sync();
    read_out(team, key.rng, calorimeter, shared, cells, row);
    team.sync();
    if (team.rank() == 0) tell(shared, truth);
  }

 private:
  /// Drawn parameters of a shower. Depths in radiation lengths.
  struct Shower {
    float energy, log_energy;  ///< GeV
    float start;               ///< depth of the shower's start
    float t, alpha;            ///< longitudinal energy profile; for a pion, alpha of its EM part
    float rate[2];             ///< rates of the gamma laws in depth: electromagnetic, hadronic
    float tau;                 ///< per radiation length
    float spot_alpha, spot_rate;
    float spots[2];           ///< mean numbers of spots: electromagnetic, hadronic
    float share[2];           ///< visible energy, in energy units: electromagnetic, hadronic
    float em_log_energy;      ///< ln of the electromagnetic energy in GeV
    float em_fraction, gain;  ///< gain: the constant term's factor
    std::int32_t particle;    ///< class index
  };

  struct Shared {
    std::uint64_t deposited;  ///< energy units deposited in cells
    std::uint32_t spots;
    Shower shower;
  };

  WS_INLINE static std::uint64_t units(float share) { return static_cast<std::uint64_t>(share); }

  template <class Team>
  WS_INLINE const Calorimeter& copy(Team& team) const {
    static_assert(sizeof(Calorimeter) % sizeof(std::uint32_t) == 0);
    auto* const own = team.template scratch<Calorimeter>(1);
    const auto* const from = reinterpret_cast<const std::uint32_t*>(&calorimeter_);
    auto* const to = reinterpret_cast<std::uint32_t*>(own);
    constexpr int kWords = sizeof(Calorimeter) / sizeof(std::uint32_t);
    for (int i = team.rank(); i < kWords; i += team.size()) to[i] = from[i];
    return *own;  // valid after the next barrier
  }

  /// Writes directly into scratch memory: a whole shower does not fit into registers.
  WS_INLINE void draw(const SampleRng& rng, Shower& shower) const {
    const Philox4 kind = rng.block(Purpose::label, 0);
    const Philox4 scene = rng.block(Purpose::scene, 0), more = rng.block(Purpose::scene, 1);
    shower.particle =
        static_cast<std::int32_t>(below(kind.word[0], static_cast<std::uint32_t>(particles_)));
    Particle particle = particle_[0];
    float energy = 0;
    WS_UNROLL(16)  // constant indices: no copy to local memory on a GPU
    for (int i = 0; i < kMostParticles; ++i) {
      if (i == shower.particle) particle = particle_[i];
    }
    if (energies_ > 0) {
      const auto which =
          static_cast<int>(below(scene.word[0], static_cast<std::uint32_t>(energies_)));
      WS_UNROLL(16)
      for (int i = 0; i < kMostEnergies; ++i) energy = i == which ? energy_[i] : energy;
    } else {
      energy = math::exp(math::fma(unit_float(scene.word[0]), log_energy_range_, log_energy_low_));
      energy = math::clamp(energy, energy_[0], energy_[1]);
    }
    shower.energy = energy;
    shower.log_energy = math::log(energy);
    const math::NormalPair z = math::box_muller(scene.word[1], scene.word[2]);
    const math::NormalPair others = math::box_muller(more.word[0], more.word[1]);
    const float exponential = -math::log(unit_float_open(scene.word[3]));
    shower.gain = math::max(math::fma(constant_term_, others.first, 1.0f), 0.0f);
    if (particle == Particle::pion) {
      draw_hadronic(shower, exponential, others.second);
    } else {
      shower.start = particle == Particle::photon ? exponential * (9.0f / 7) : 0;
      draw_electromagnetic(shower, z);
    }
  }

  WS_INLINE void draw_electromagnetic(Shower& shower, const math::NormalPair& z) const {
    const float l = math::log(shower.energy / medium_.critical_energy);
    const gflash::Fluctuation law = gflash::fluctuation(medium_, l);
    const float along = math::sqrt(0.5f + 0.5f * law.correlation) * z.first;
    const float across = math::sqrt(0.5f - 0.5f * law.correlation) * z.second;
    shower.t =
        math::max(math::exp(math::fma(law.sigma_t, along + across, law.log_t)), gflash::kLeastT);
    shower.alpha = math::clamp(math::exp(math::fma(law.sigma_alpha, along - across, law.log_alpha)),
                               gflash::kLeastAlpha, math::kMostGammaShape);
    shower.rate[0] = (shower.alpha - 1) / shower.t;
    const float mean = gflash::mean_alpha(medium_, l);
    shower.tau = (shower.alpha - 1) / (shower.t * shower.alpha) * (mean / (mean - 1));
    const gflash::Spots spots = gflash::spots(medium_, shower.energy, spot_resolution_);
    shower.spots[0] = spots.count;
    shower.spot_alpha = math::max(shower.alpha * spots.alpha_ratio, gflash::kLeastAlpha);
    shower.spot_rate = (shower.spot_alpha - 1) / (shower.t * spots.t_ratio);
    shower.share[0] = kWhole;
    shower.em_fraction = 1;
    shower.em_log_energy = shower.log_energy;
    shower.rate[1] = shower.spots[1] = shower.share[1] = 0;
  }

  WS_INLINE void draw_hadronic(Shower& shower, float exponential, float normal) const {
    const Hadronic& h = hadronic_;
    const float lambda = medium_.interaction_length / medium_.radiation_length;
    shower.start = exponential * lambda;
    const float mean = 1 - math::pow(shower.energy / h.scale, h.k - 1);
    shower.em_fraction = math::clamp(math::fma(h.em_sigma, normal, mean), 0, 1);
    const float hadrons = 1 - shower.em_fraction;
    shower.alpha = math::fma(h.shape_slope, shower.log_energy, h.shape);
    shower.rate[0] = h.em_rate;
    shower.rate[1] = math::fma(h.rate_slope, shower.log_energy, h.rate) / lambda;
    shower.t = math::max(shower.alpha - 1, 0) / h.em_rate;
    shower.tau = h.em_rate / shower.alpha;
    const float em_energy = math::max(shower.em_fraction * shower.energy, kLeastEmEnergy);
    const gflash::Spots spots = gflash::spots(medium_, em_energy, spot_resolution_);
    shower.spots[0] = spots.count;
    shower.spots[1] = h.spots * (hadrons * shower.energy);
    shower.spot_alpha = shower.alpha;
    shower.spot_rate = h.em_rate;
    shower.share[0] = kWhole * shower.em_fraction;
    shower.share[1] = kWhole * (hadrons * h.response);
    shower.em_log_energy = math::log(em_energy);
  }

  /// Slice `i` of the electromagnetic (part 0) or hadronic (part 1) component.
  WS_INLINE CaloSlice slice(const Calorimeter& calorimeter, const Shower& shower, int part,
                            int i) const {
    int l = 0;
    while (l + 1 < calorimeter.layers && i >= calorimeter.layer[l + 1].first_slice) ++l;
    const CaloLayer& layer = calorimeter.layer[l];
    const auto at = static_cast<float>(i - layer.first_slice);
    const float step = (layer.back - layer.front) / static_cast<float>(layer.slices);
    const float front = math::max(math::fma(at, step, layer.front) - shower.start, 0);
    const float back = math::max(math::fma(at + 1, step, layer.front) - shower.start, 0);

    CaloSlice slice;
    slice.layer = l;
    const float spot_shape = part == 0 ? shower.spot_alpha : shower.alpha;
    const float spot_rate = part == 0 ? shower.spot_rate : shower.rate[part];
    std::int64_t energy = 0;  // cumulative: the boundary between two slices is rounded only once
    float inside = 0;         // fraction of spots
    for (int side = 0; side < 2; ++side) {
      const float depth = side == 0 ? front : back;
      const float share = math::lower_gamma(shower.alpha, shower.rate[part] * depth);
      energy = static_cast<std::int64_t>(shower.share[part] * share) - energy;
      if (mode_ == Mode::gflash) inside = math::lower_gamma(spot_shape, spot_rate * depth) - inside;
    }
    slice.unit = energy > 0 ? static_cast<std::uint64_t>(energy) : 0;
    slice.more = 0;
    slice.spots = 0;
    slice.upto = 0;
    if (mode_ == Mode::gflash && energy > 0) {
      slice.spots = static_cast<std::uint32_t>(
          math::max(math::floor(math::fma(shower.spots[part], inside, 0.5f)), 1.0f));
      slice.more = static_cast<std::uint32_t>(slice.unit % slice.spots);
      slice.unit /= slice.spots;
    }
    if (part == 0) {
      const float tau = 0.5f * (front + back) * shower.tau;
      const gflash::Lateral law = gflash::lateral(medium_, tau, shower.em_log_energy);
      const float core = law.core * medium_.moliere_radius;
      const float tail = law.tail * medium_.moliere_radius;
      slice.core_squared = core * core;
      slice.tail_squared = tail * tail;
      slice.core_share = law.core_share;
    } else {
      const float radius = hadronic_.radius * medium_.interaction_length;
      slice.core_squared = slice.tail_squared = radius * radius;
      slice.core_share = 1;
    }
    return slice;
  }

  /// Called by one member: sets the end of each slice, in spots; returns the number of spots.
  WS_INLINE std::uint32_t count_spots(const Shower& shower, CaloSlice* slices, int in_part) const {
    std::uint64_t upto = 0;
    for (int i = 0; i < parts_ * in_part; ++i) {
      upto += mode_ == Mode::gflash ? slices[i].spots : slices[i].unit;
      slices[i].upto = upto;
    }
    if (mode_ == Mode::gflash) return static_cast<std::uint32_t>(upto);
    const float spots = math::floor(shower.spots[0] + shower.spots[1] + 0.5f);
    return static_cast<std::uint32_t>(math::max(spots, 1.0f));
  }

  /// Fraction of a component between two squared radii; `squared` is its R^2.
  WS_INLINE static float between(float inner, float outer, float squared) {
    return squared * (outer - inner) / ((inner + squared) * (outer + squared));
  }

  /// Called by all members: adds up the mean energy of each cell.
  template <class Team>
  WS_INLINE void expect(Team& team, const Calorimeter& calorimeter, const CaloSlice* slices,
                        EventCell* cells) const {
    int l = 0;
    for (int q = team.rank(); q < calorimeter.rings; q += team.size()) {
      while (l + 1 < calorimeter.layers && q >= calorimeter.layer[l + 1].first_ring) ++l;
      const CaloLayer& layer = calorimeter.layer[l];
      const int ring = q - layer.first_ring;
      const float inner = calorimeter.edge_squared[layer.first_edge + ring];
      const float outer = calorimeter.edge_squared[layer.first_edge + ring + 1];
      float energy = 0;
      for (int part = 0; part < parts_; ++part) {
        for (int i = 0; i < layer.slices; ++i) {
          const CaloSlice& slice = slices[part * calorimeter.slices + layer.first_slice + i];
          const float core = between(inner, outer, slice.core_squared);
          const float tail = between(inner, outer, slice.tail_squared);
          energy = math::fma(static_cast<float>(slice.unit),
                             math::lerp(tail, core, slice.core_share), energy);
        }
      }
      const auto cell = static_cast<std::uint64_t>(energy / static_cast<float>(layer.sectors));
      for (int sector = 0; sector < layer.sectors; ++sector) {
        cells[layer.first_cell + sector * layer.rings + ring] = cell;
      }
    }
  }

  /// Called by all members: applies detector response and read-out.
  template <class Team, class Row>
  WS_INLINE void read_out(Team& team, const SampleRng& rng, const Calorimeter& calorimeter,
                          Shared& shared, const EventCell* cells, Row& row) const {
    const Shower& shower = shared.shower;
    const float mev = shower.energy * (1000 / kWhole);  // MeV per unit
    const int quarter = (calorimeter.cells + 3) / 4;
    std::uint64_t deposited = 0;
    for (int g = team.rank(); g < quarter; g += team.size()) {
      math::NormalPair first = {}, second = {};
      if (noise_ > 0) {
        const Philox4 block = rng.block(Purpose::noise, static_cast<std::uint32_t>(g));
        first = math::box_muller(block.word[0], block.word[1]);
        second = math::box_muller(block.word[2], block.word[3]);
      }
      for (int k = 0, c = g; k < 4 && c < calorimeter.cells; ++k, c += quarter) {
        const math::NormalPair pair = k < 2 ? first : second;
        const float noise = k % 2 == 0 ? pair.first : pair.second;
        deposited += cells[c];
        float energy = static_cast<float>(cells[c]) * mev;
        if (sampling_scale_ > 0 && cells[c] > 0) {
          energy = sampling_scale_ * draw_gamma(rng, Purpose::texture,
                                                kFirstSamplingBlock + static_cast<std::uint32_t>(c),
                                                static_cast<std::uint32_t>(calorimeter.cells),
                                                energy / sampling_scale_);
        }
        energy = math::fma(noise_, noise, energy * shower.gain);
        row.set(c, energy < threshold_ ? 0.0f : energy * per_mev_);
      }
    }
    team.atomic_add(&shared.deposited, deposited);
  }

  WS_INLINE void tell(const Shared& shared, Truth<kLatents>& truth) const {
    const Shower& shower = shared.shower;
    const float whole = shower.energy * (1000 * per_mev_);
    const std::uint64_t visible = units(shower.share[0]) + units(shower.share[1]);
    truth.label = shower.particle;
    truth.latents[kEnergy] = whole;
    truth.latents[kShowerMax] = shower.t;
    truth.latents[kAlpha] = shower.alpha;
    truth.latents[kStart] = shower.start;
    truth.latents[kEmFraction] = shower.em_fraction;
    truth.latents[kInvisible] = whole * (1 - (shower.share[0] + shower.share[1]) / kWhole);
    // In mode `mean`, the cells' shares are rounded, so their sum may slightly exceed `visible`.
    const std::uint64_t deposited = shared.deposited < visible ? shared.deposited : visible;
    truth.latents[kLeakage] = static_cast<float>(visible - deposited) / kWhole * whole;
    truth.latents[kSpots] = static_cast<float>(shared.spots);
  }

  static constexpr float kLeastEmEnergy = 0.05f;  ///< GeV; also used for lower energies

  struct Hadronic {
    float shape, shape_slope, em_rate, rate, rate_slope;
    float k, scale, em_sigma, response, radius, spots;
  };

  Calorimeter calorimeter_;
  gflash::Medium medium_;
  Hadronic hadronic_;
  Mode mode_;
  int particles_ = 0, parts_ = 1, energies_ = 0;
  Particle particle_[kMostParticles] = {};
  float energy_[kMostEnergies] = {};  ///< GeV; the two bounds of a continuous spectrum
  float log_energy_low_ = 0, log_energy_range_ = 0;
  float spot_resolution_, constant_term_;
  float sampling_scale_;  ///< MeV: scale of the gamma law; 0: no fluctuations
  float noise_;           ///< MeV
  float threshold_;       ///< MeV; -infinity: no threshold
  float per_mev_;         ///< unit of x
};

}  // namespace wellspring
