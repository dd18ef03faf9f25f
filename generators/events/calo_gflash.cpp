#include "generators/events/calo_gflash.h"

#include "core/error.h"
#include "core/text/text.h"
#include "generators/class_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace wellspring {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Highest energy, GeV. The formulas were fitted up to about 100 GeV, but extrapolate smoothly.
constexpr double kHighestEnergy = 1e4;
/// Lowest energy divided by critical energy.
constexpr double kLeastRatio = 10;
/// Exceeds the largest normal deviate of kernels/random/math.h, sqrt(48 ln 2) = 5.768.
constexpr double kFarthestNormal = 5.77;
/// Largest exponential deviate: ln 2^24.
constexpr double kLongest = 16.64;

const std::vector<std::pair<std::string, CaloGflash::Particle>> kParticles = {
    {"electron", CaloGflash::Particle::electron},
    {"photon", CaloGflash::Particle::photon},
    {"pion", CaloGflash::Particle::pion}};

bool has_pion(const CaloGflash::Params& params) {
  return std::ranges::count(params.particles, "pion") > 0;
}
bool has_other(const CaloGflash::Params& params) {
  return std::ranges::count_if(params.particles, [](const auto& p) { return p != "pion"; }) > 0;
}

struct Range {
  double low, high;
};

Range energies_of(const CaloGflash::Params& params) {
  if (params.energies.empty()) return {params.energy_low, params.energy_high};
  const auto [low, high] = std::ranges::minmax(params.energies);
  return {low, high};
}

/// Lowest energy (GeV) at which mean T and alpha describe a shower.
double lowest_electromagnetic(const gflash::Medium& medium) {
  double l = std::log(kLeastRatio);
  while (gflash::mean_t(medium, static_cast<float>(l)) < gflash::kLeastT ||
         gflash::mean_alpha(medium, static_cast<float>(l)) < 1.2f) {
    l += 0.01;
  }
  return medium.critical_energy * std::exp(l);
}

double hadron_shape(const CaloGflash::Params& params, double energy) {
  return params.hadron_shape + params.hadron_shape_slope * std::log(energy);
}
double hadron_rate(const CaloGflash::Params& params, double energy) {
  return params.hadron_rate + params.hadron_rate_slope * std::log(energy);
}
bool is_hadronic(const CaloGflash::Params& params, double energy) {
  const double shape = hadron_shape(params, energy);
  return shape >= 0.1 && shape <= 100 && hadron_rate(params, energy) >= 0.01;
}

void expect_energies(const CaloGflash::Params& params, const gflash::Medium& medium) {
  if (params.energies.empty()) CaloGflash::table().expect_ordered(params, {"energy"});
  const Range asked = energies_of(params);
  const auto refuse = [&](const std::string& what, double low, double high) {
    fail(ErrorKind::config,
         {fmt::format("calo_gflash: energies range from {} to {} GeV", shortest(asked.low),
                      shortest(asked.high)),
          fmt::format("{} are modelled from {:.5g} to {:.5g} GeV in this medium", what, low, high),
          asked.low < low ? fmt::format("choose energies of at least {:.5g} GeV", low)
                          : fmt::format("choose energies of at most {:.5g} GeV", high)});
  };
  if (has_other(params)) {
    const double low = lowest_electromagnetic(medium);
    if (asked.low < low || asked.high > kHighestEnergy) {
      refuse("electromagnetic showers", low * 1.0005, kHighestEnergy);  // allows for rounded output
    }
  }
  if (has_pion(params) && !(is_hadronic(params, asked.low) && is_hadronic(params, asked.high) &&
                            asked.high <= kHighestEnergy)) {
    double low = kHighestEnergy, high = 1e-3;
    for (double e = 1e-3; e <= kHighestEnergy; e *= 1.001) {
      if (!is_hadronic(params, e)) continue;
      low = std::min(low, e);
      high = std::max(high, e);
    }
    refuse("pion showers with these constants", low, high * 1.001);
  }
}

void expect_particles(const CaloGflash::Params& params) {
  std::vector<std::string> known;
  for (const auto& [name, particle] : kParticles) known.push_back(name);
  expect_class_list("calo_gflash", "particles", params.particles, known);
}

/// The largest possible energy in a cell, MeV.
double most_in_a_cell(const CaloGflash::Params& params) {
  double most = energies_of(params).high * 1000;
  if (params.sampling_term > 0) {
    const double scale = 1000 * params.sampling_term * params.sampling_term;
    const double d = most / scale + 1;
    most = scale * d * std::pow(1 + kFarthestNormal / std::sqrt(9 * (d - 1.0 / 3)), 3);
  }
  return 1.001 *
         (most * (1 + kFarthestNormal * params.constant_term) + kFarthestNormal * params.noise);
}

const char* const kPaper = "G. Grindhammer, S. Peters, hep-ex/0001020";
const char* const kBock = "R. Bock et al., NIM 186 (1981) 533, as quoted; unverified";
const char* const kWigmans = "R. Wigmans, Calorimetry (2000), section 2.3";

constexpr const char* kChallenge = "CaloChallenge 2022, arXiv:2410.21611";
const std::string kDs1Energies =
    "[0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768, 65.536, 131.072, 262.144, 524.288, "
    "1048.576, 2097.152, 4194.304]";

Settings ds1(const std::string& geometry, const std::string& particle) {
  return {{"geometry", geometry},  {"particles", "[" + particle + "]"},
          {"medium", "sampling"},  {"material", "Pb"},
          {"passive_mm", "1.53"},  {"active", "LAr"},
          {"active_mm", "4.2"},    {"energies", kDs1Energies},
          {"sampling_term", "0.1"}};
}
Settings ds23(const std::string& geometry) {
  return {{"geometry", geometry},   {"particles", "[electron]"}, {"medium", "sampling"},
          {"material", "W"},        {"passive_mm", "1.4"},       {"active", "Si"},
          {"active_mm", "0.3"},     {"energy_low", "1"},         {"energy_high", "1000"},
          {"threshold", "0.01515"}, {"sampling_term", "0.166"}};
}

}  // namespace

const ParamTable<CaloGflash::Params>& CaloGflash::table() {
  constexpr auto kContinuous = [](const Params& p) { return p.energies.empty(); };
  constexpr auto kSandwich = [](const Params& p) { return p.medium == Structure::sampling; };
  constexpr auto kSandwichSpots = [](const Params& p) {
    return p.medium == Structure::sampling && p.mode != Mode::mean;
  };
  constexpr auto kFree = [](const Params& p) { return p.geometry == Geometry::cylinder; };
  constexpr auto kPions = [](const Params& p) { return has_pion(p); };
  constexpr auto kPionSpots = [](const Params& p) { return has_pion(p) && p.mode != Mode::mean; };
  static const auto rows =
      ParamTable<Params>("calo_gflash")
          .text_list("particles", &Params::particles,
                     "incident particles, one class each: one or more of electron, photon, pion")
          .choice(
              "mode", &Params::mode,
              {{"gflash", Mode::gflash}, {"gflash_lite", Mode::gflash_lite}, {"mean", Mode::mean}},
              "gflash: a spot's energy depends on its depth; gflash_lite: all spots have equal "
              "energy; mean: expected energy of each cell",
              kPaper)
          .real_list("energies", &Params::energies, {1e-3, kHighestEnergy}, "GeV",
                     "equally likely energies, at most 16; []: log-uniform energies")
          .real("energy_low", &Params::energy_low, {1e-3, kHighestEnergy}, "GeV", "lowest energy")
          .only_where(kContinuous, "energies: []")
          .real("energy_high", &Params::energy_high, {1e-3, kHighestEnergy}, "GeV",
                "highest energy; log-uniform between the two")
          .only_where(kContinuous, "energies: []")
          .choice("medium", &Params::medium,
                  {{"homogeneous", Structure::homogeneous}, {"sampling", Structure::sampling}},
                  "homogeneous: one material; sampling: a sandwich of thin layers of two materials")
          .choice("material", &Params::material, gflash::materials(),
                  "the material, or the passive material of a sandwich")
          .choice("active", &Params::active, gflash::materials(), "active material of a sandwich")
          .only_where(kSandwich, "medium: sampling")
          .real("passive_mm", &Params::passive_mm, {0.01, 1000}, "mm",
                "thickness of the passive layers of a sandwich")
          .only_where(kSandwich, "medium: sampling")
          .real("active_mm", &Params::active_mm, {0.01, 1000}, "mm",
                "thickness of the active layers of a sandwich")
          .only_where(kSandwich, "medium: sampling")
          .choice("geometry", &Params::geometry,
                  {{"cylinder", Geometry::cylinder},
                   {"ds1-photon", Geometry::ds1_photon},
                   {"ds1-pion", Geometry::ds1_pion},
                   {"ds2", Geometry::ds2},
                   {"ds3", Geometry::ds3}},
                  "cells: a cylinder defined by the keys below, or a CaloChallenge geometry",
                  kChallenge)
          .integer("layers", &Params::layers, {1, kMostCaloLayers}, "", "number of layers")
          .only_where(kFree, "geometry: cylinder")
          .real("layer_depth", &Params::layer_depth, {0.01, 100}, "radiation lengths",
                "depth of each layer")
          .only_where(kFree, "geometry: cylinder")
          .real("front", &Params::front, {0, 20}, "radiation lengths",
                "depth of dead material before the first layer; its energy counts as leakage")
          .only_where(kFree, "geometry: cylinder")
          .integer("rings", &Params::rings, {1, kMostCaloEdges - 1}, "", "rings per layer")
          .only_where(kFree, "geometry: cylinder")
          .real("ring_width", &Params::ring_width, {0.01, 1000}, "mm", "width of each ring")
          .only_where(kFree, "geometry: cylinder")
          .integer("sectors", &Params::sectors, {1, 1024}, "", "azimuthal sectors per ring")
          .only_where(kFree, "geometry: cylinder")
          .real("slice", &Params::slice, {0.05, 10}, "radiation lengths",
                "maximum thickness of a slice, a part of a layer with a single lateral profile")
          .real("spot_resolution", &Params::spot_resolution, {0.01, 1}, "GeV^0.5",
                "relative resolution of a sandwich at 1 GeV; sets the number of spots", kPaper)
          .only_where(kSandwichSpots, "medium: sampling and mode: gflash or gflash_lite")
          .real("sampling_term", &Params::sampling_term, {0, 2}, "GeV^0.5",
                "stochastic term a of sigma / E = a / sqrt(E); 0: none")
          .real("constant_term", &Params::constant_term, {0, 0.5}, "",
                "relative spread of a gain factor that all cells of a shower share")
          .real("noise", &Params::noise, {0, 1e5}, "MeV", "standard deviation per cell")
          .real("threshold", &Params::threshold, {0, 1e6}, "MeV",
                "cells with less energy read 0; 0: no threshold")
          .choice("unit", &Params::unit, {{"MeV", Unit::mev}, {"GeV", Unit::gev}},
                  "unit of x and of all latent energies")
          .real("hadron_shape", &Params::hadron_shape, {0.01, 10}, "",
                "shape parameter of both profiles of a pion at 1 GeV", kBock)
          .only_where(kPions, "particles including pion")
          .real("hadron_shape_slope", &Params::hadron_shape_slope, {0, 2}, "",
                "change of hadron_shape with ln E", kBock)
          .only_where(kPions, "particles including pion")
          .real("hadron_em_rate", &Params::hadron_em_rate, {0.01, 2}, "1 / radiation length",
                "rate of a pion's electromagnetic profile", kBock)
          .only_where(kPions, "particles including pion")
          .real("hadron_rate", &Params::hadron_rate, {0.01, 10}, "1 / interaction length",
                "rate of a pion's hadronic profile at 1 GeV", kBock)
          .only_where(kPions, "particles including pion")
          .real("hadron_rate_slope", &Params::hadron_rate_slope, {-1, 1}, "",
                "change of hadron_rate with ln E", kBock)
          .only_where(kPions, "particles including pion")
          .real("hadron_k", &Params::hadron_k, {0.5, 0.99}, "",
                "k in the mean electromagnetic fraction, 1 - (E / E0)^(k - 1)", kWigmans)
          .only_where(kPions, "particles including pion")
          .real("hadron_scale", &Params::hadron_scale, {0.01, 100}, "GeV",
                "E0 in the mean electromagnetic fraction", kWigmans)
          .only_where(kPions, "particles including pion")
          .real("hadron_em_sigma", &Params::hadron_em_sigma, {0, 1}, "",
                "spread of the electromagnetic fraction, clamped to [0, 1]")
          .only_where(kPions, "particles including pion")
          .real("hadron_response", &Params::hadron_response, {0.01, 1}, "",
                "h / e: visible share of the hadronic energy")
          .only_where(kPions, "particles including pion")
          .real("hadron_radius", &Params::hadron_radius, {0.001, 5}, "interaction lengths",
                "radius that contains half of the hadronic energy")
          .only_where(kPions, "particles including pion")
          .real("hadron_spots", &Params::hadron_spots, {0.01, 1e4}, "1 / GeV",
                "hadronic spots per GeV")
          .only_where(kPionSpots, "particles including pion and mode: gflash or gflash_lite")
          .preset(
              "ds1-photon", ds1("ds1-photon", "photon"),
              "CaloChallenge data set 1, photons: rings, sectors, energies; Pb in liquid argon; "
              "sampling_term: ATLAS, NIM A568 (2006) 601")
          .preset("ds1-pion", ds1("ds1-pion", "pion"),
                  "CaloChallenge data set 1, charged pions; Pb in liquid argon, as ds1-photon")
          .preset(
              "ds2", ds23("ds2"),
              "CaloChallenge data set 2: 90 layers of 1.4 mm W and 0.3 mm Si, read out in pairs; "
              "sampling_term: CALICE Si-W, arXiv:0811.2354")
          .preset("ds3", ds23("ds3"), "CaloChallenge data set 3: as ds2, with finer cells");
  return rows;
}

gflash::Medium CaloGflash::medium_of(const Params& params) {
  return params.medium == Structure::homogeneous
             ? gflash::homogeneous(params.material)
             : gflash::sandwich(params.material, params.passive_mm, params.active,
                                params.active_mm);
}

Calorimeter CaloGflash::calorimeter_of(const Params& params) {
  const gflash::Medium medium = medium_of(params);
  switch (params.geometry) {
    case Geometry::ds1_photon:
      return build_calorimeter(ds1_photon_layers(medium), params.slice);
    case Geometry::ds1_pion:
      return build_calorimeter(ds1_pion_layers(medium), params.slice);
    case Geometry::ds2:
      return build_calorimeter(ds2_layers(medium), params.slice);
    case Geometry::ds3:
      return build_calorimeter(ds3_layers(medium), params.slice);
    case Geometry::cylinder:
      break;
  }
  std::vector<CaloLayerSpec> layers;
  for (int i = 0; i < params.layers; ++i) {
    const double front = params.front + i * params.layer_depth;
    layers.push_back({front, front + params.layer_depth,
                      equal_rings(params.rings, params.ring_width), params.sectors});
  }
  return build_calorimeter(layers, params.slice);
}

SampleInfo CaloGflash::describe(const Params& params) {
  const gflash::Medium medium = medium_of(params);
  const Calorimeter calorimeter = calorimeter_of(params);
  const Range energies = energies_of(params);
  const double per_mev = params.unit == Unit::mev ? 1 : 1e-3;
  const std::string unit = params.unit == Unit::mev ? "MeV" : "GeV";
  SampleInfo info;
  info.name = "calo_gflash";
  info.summary = "Showers in a cylindrical calorimeter, cell by cell; class: particle";
  info.reference = "G. Grindhammer, S. Peters, hep-ex/0001020 (GFLASH)";
  info.classes = params.particles;
  for (int l = 0; l < calorimeter.layers; ++l) {
    const CaloLayer& layer = calorimeter.layer[l];
    for (int sector = 0; sector < layer.sectors; ++sector) {
      for (int ring = 0; ring < layer.rings; ++ring) {
        info.features.push_back({fmt::format("layer{}_sector{}_ring{}", l, sector, ring), unit});
      }
    }
  }

  // Parameters grow with energy while their spread falls, so the bounds are maxima over a grid.
  double most_t = 0, most_alpha = 0, spots = 0, start = 0, least_em = 1;
  for (int i = 0; i <= 100; ++i) {
    const double energy = energies.low * std::pow(energies.high / energies.low, i / 100.0);
    if (has_other(params)) {
      const auto law = gflash::fluctuation(
          medium, static_cast<float>(std::log(energy / medium.critical_energy)));
      most_t = std::max(most_t, std::exp(law.log_t + kFarthestNormal * law.sigma_t));
      most_alpha =
          std::max(most_alpha, std::exp(law.log_alpha + kFarthestNormal * law.sigma_alpha));
    }
    if (has_pion(params)) {
      const double shape = hadron_shape(params, energy);
      most_t = std::max(most_t, (shape - 1) / params.hadron_em_rate);
      most_alpha = std::max(most_alpha, shape);
    }
  }
  const auto high = static_cast<float>(energies.high);
  const auto resolution = static_cast<float>(params.spot_resolution);
  const int parts = has_pion(params) ? 2 : 1;
  if (params.mode != Mode::mean) {
    // The number of spots in each slice is rounded, and is at least one.
    spots = double{gflash::spots(medium, high, resolution).count} + parts * calorimeter.slices + 1;
    if (has_pion(params)) spots += params.hadron_spots * energies.high;
  }
  if (std::ranges::count(params.particles, "photon") > 0) start = kLongest * 9 / 7;
  if (has_pion(params)) {
    start = std::max<double>(start, kLongest * medium.interaction_length / medium.radiation_length);
    least_em = 0;
  }
  const auto whole = static_cast<float>(1.001 * energies.high * 1000 * per_mev);
  const auto lowest = static_cast<float>(0.999 * energies.low * 1000 * per_mev);
  const double hidden = least_em == 0 ? 1 - params.hadron_response : 0;
  info.latents = {
      {"energy", "energy of the particle", unit, lowest, whole},
      rarely_reached(
          {"shower_max",
           "T, depth of the (electromagnetic) profile's maximum after the shower's start",
           "radiation lengths", has_pion(params) ? 0.0f : 1.0f,
           static_cast<float>(1.001 * most_t)}),
      rarely_reached(
          {"alpha", "shape parameter of the (electromagnetic) profile", "",
           has_pion(params) ? 0.0f : gflash::kLeastAlpha,
           static_cast<float>(std::min(1.001 * most_alpha, double{math::kMostGammaShape}))}),
      {"start", "depth of the shower's start", "radiation lengths", 0, static_cast<float>(start)},
      {"em_fraction", "electromagnetic share of the energy", "", static_cast<float>(least_em), 1},
      {"invisible", "invisible hadronic energy", unit, 0, static_cast<float>(hidden * whole)},
      rarely_reached({"leakage", "energy outside all cells, before read-out", unit, 0, whole}),
      rarely_reached({"spots", "energy spots, including those outside all cells", "", 0,
                      static_cast<float>(spots)})};

  const double most = most_in_a_cell(params) * per_mev;
  info.high = static_cast<float>(most);
  info.low =
      params.threshold > 0 ? 0 : static_cast<float>(-kFarthestNormal * params.noise * per_mev);
  info.draws.scene = 3 + static_cast<std::int64_t>(spots);
  if (params.sampling_term > 0) info.draws.scene += std::int64_t{kGammaTries} * calorimeter.cells;
  if (params.noise > 0) info.draws.scene += (calorimeter.cells + 3) / 4;
  return info;
}

CaloGflash::CaloGflash(const Params& params)
    : calorimeter_(calorimeter_of(params)),
      medium_(medium_of(params)),
      hadronic_{static_cast<float>(params.hadron_shape),
                static_cast<float>(params.hadron_shape_slope),
                static_cast<float>(params.hadron_em_rate),
                static_cast<float>(params.hadron_rate),
                static_cast<float>(params.hadron_rate_slope),
                static_cast<float>(params.hadron_k),
                static_cast<float>(params.hadron_scale),
                static_cast<float>(params.hadron_em_sigma),
                static_cast<float>(params.hadron_response),
                static_cast<float>(params.hadron_radius),
                static_cast<float>(params.hadron_spots)},
      mode_(params.mode),
      particles_(static_cast<int>(params.particles.size())),
      parts_(has_pion(params) ? 2 : 1),
      energies_(static_cast<int>(params.energies.size())),
      spot_resolution_(static_cast<float>(params.spot_resolution)),
      constant_term_(static_cast<float>(params.constant_term)),
      sampling_scale_(static_cast<float>(1000 * params.sampling_term * params.sampling_term)),
      noise_(static_cast<float>(params.noise)),
      threshold_(params.threshold > 0 ? static_cast<float>(params.threshold)
                                      : -std::numeric_limits<float>::infinity()),
      per_mev_(params.unit == Unit::mev ? 1.0f : 1e-3f) {
  expect_particles(params);
  for (int i = 0; i < particles_; ++i) {
    for (const auto& [name, particle] : kParticles) {
      if (name == params.particles[static_cast<std::size_t>(i)]) particle_[i] = particle;
    }
  }
  if (params.energies.size() > kMostEnergies) {
    fail(ErrorKind::config,
         {fmt::format("calo_gflash: energies has {} values", params.energies.size()),
          "the maximum is 16", "give at most 16, or energy_low and energy_high"});
  }
  expect_energies(params, medium_);
  const Range energies = energies_of(params);
  if (params.threshold >= energies.low * 1000) {
    fail(ErrorKind::config,
         {fmt::format("calo_gflash: threshold is {} MeV", shortest(params.threshold)),
          fmt::format("even a cell with the full energy of {} GeV is below it",
                      shortest(energies.low)),
          fmt::format("choose less than {} MeV", shortest(energies.low * 1000))});
  }
  for (int i = 0; i < energies_; ++i) {
    energy_[i] = static_cast<float>(params.energies[static_cast<std::size_t>(i)]);
  }
  if (energies_ == 0) {
    energy_[0] = static_cast<float>(energies.low);
    energy_[1] = static_cast<float>(energies.high);
    log_energy_low_ = static_cast<float>(std::log(energies.low));
    log_energy_range_ = static_cast<float>(std::log(energies.high / energies.low));
  }
}

}  // namespace wellspring
