#include "generators/events/nu_telescope.h"

#include "core/text/text.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

namespace wellspring {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr const char* kToy = "chosen for this generator";
constexpr const char* kAmanda =
    "AMANDA: J. Ahrens et al., Nucl. Instrum. Meth. A 524 (2004) 169, ice model H2";
constexpr const char* kIndex = "constants of the IceCube software; unverified";

struct Interval {
  double low, high;
};
Interval operator*(const Interval& a, const Interval& b) {
  return {std::min({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}),
          std::max({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high})};
}
/// Range of the cosine over an interval of angles.
Interval cosines(double low, double high) {
  Interval range = {std::min(std::cos(low), std::cos(high)),
                    std::max(std::cos(low), std::cos(high))};
  for (double half = std::ceil(low / kPi); half * kPi <= high; ++half)
    (std::fmod(half, 2) == 0 ? range.high : range.low) = std::fmod(half, 2) == 0 ? 1 : -1;
  return range;
}

telescope::Array array_of(const NuTelescope::Params& params) {
  return telescope::triangular_array(params.strings, params.modules, params.string_spacing,
                                     params.module_spacing);
}

/// Mean number of noise pulses per module.
double noise_mean(const NuTelescope::Params& params) {
  return params.noise_rate * 1e-9 * (params.window_high - params.window_low);
}
double most_noise(const NuTelescope::Params& params) {
  const double mean = noise_mean(params) * params.modules * params.strings;
  return mean == 0 ? 0
                   : std::ceil(mean + 9 * std::sqrt(mean * params.strings) + 40.0 * params.strings);
}

/// Upper limit of the distance from a module to any vertex or track, in m.
double farthest(const telescope::Array& array, const NuTelescope::Params& params) {
  double across = 0;
  for (int s = 0; s < array.strings; ++s)
    across = std::max(across, std::hypot(double{array.x[s]}, double{array.y[s]}));
  const double up = 0.5 * (params.modules - 1) * params.module_spacing;
  return std::hypot(across + params.vertex_radius, up + params.vertex_height);
}

/// Largest distance, up to `distance`, at which a module expects light, in m.
double reach_of_light(double distance, const NuTelescope::Params& params) {
  const telescope::Optics optics = NuTelescope::optics_of(params);
  double reach = 0;
  for (const bool track : {true, false}) {
    telescope::Event event{};
    event.hypothesis = track ? telescope::Hypothesis::track : telescope::Hypothesis::cascade;
    telescope::light_up(optics, static_cast<float>(params.energy_high), event);
    double low = 0, high = distance;
    while (high - low > 0.1) {
      const double middle = 0.5 * (low + high);
      const auto photons = [&](double d) {
        return telescope::expected_photons(optics, event, {static_cast<float>(d), 0, 1, 1});
      };
      (photons(middle) < 0.99f * telescope::kFewest ? high : low) = middle;
    }
    reach = std::max(reach, high);
  }
  return reach;
}

/// Upper limit of the absolute time of any pulse, in ns.
double latest(double distance, const NuTelescope::Params& params) {
  const telescope::Optics optics = NuTelescope::optics_of(params);
  const double light = reach_of_light(distance, params);
  const double shape = (0.8395 * light + 11.7) / params.lambda + 1;
  // draw_gamma's d (1 + z / sqrt(9 d))^3 at the largest z.
  const double gamma =
      shape * std::pow(1 + math::kNormalReach / std::sqrt(9 * std::max(shape, 0.66)), 3);
  const double way = distance * double{optics.per_c} +
                     light * double{std::max(optics.track_slope, optics.cascade_slope)};
  const double last =
      params.start + way + gamma / double{optics.rho} + math::kNormalReach * params.jitter;
  return 1.001 * (std::max({last, std::abs(params.window_low), std::abs(params.window_high)}) + 1);
}

std::vector<ValueInfo> features_of(const NuTelescope::Params& params) {
  const std::string m = params.unit == 1 ? "m" : shortest(params.unit) + " m";
  const std::string ns = params.time_unit == 1 ? "ns" : shortest(params.time_unit) + " ns";
  if (params.output == NuTelescope::Output::features) {
    return {{"log_pulses", ""},  {"log_coincident", ""}, {"log_modules", ""}, {"log_charge", ""},
            {"mean_x", m},       {"mean_y", m},          {"mean_z", m},       {"mean_time", ns},
            {"spread_x", m},     {"spread_y", m},        {"spread_z", m},     {"spread_time", ns},
            {"velocity_x", "c"}, {"velocity_y", "c"},    {"velocity_z", "c"}};
  }
  std::vector<ValueInfo> features = {{"x", m},     {"y", m},           {"z", m},
                                     {"time", ns}, {"charge", "p.e."}, {"auxiliary", ""}};
  if (params.output == NuTelescope::Output::truth) {
    features.insert(features.end(),
                    {{"sensor_id", ""}, {"geometric_time", ns}, {"delay", ns}, {"light", ""}});
  }
  return features;
}

std::vector<LatentInfo> latents_of(const NuTelescope::Params& params) {
  constexpr double kSlack = 1e-6;  // for cosines and their rounding to f32
  const Interval cosine = cosines(params.zenith_low, params.zenith_high);
  const Interval sine = cosines(params.zenith_low - kPi / 2, params.zenith_high - kPi / 2);
  const Interval x = sine * cosines(params.azimuth_low, params.azimuth_high);
  const Interval y = sine * cosines(params.azimuth_low - kPi / 2, params.azimuth_high - kPi / 2);
  const auto range = [](LatentInfo info, const Interval& of, double slack) {
    info.low = static_cast<float>(of.low - slack);
    info.high = static_cast<float>(of.high + slack);
    return info;
  };
  const auto angle = [&](LatentInfo info, double low, double high) {
    return range(std::move(info), {low, high}, 2 * kSlack);
  };
  const auto length = [](LatentInfo info, double most) {
    info.high = static_cast<float>(most * (1 + kSlack));
    info.low = -info.high;
    return info;
  };
  const auto number = [](LatentInfo info, double most) {
    info.high = static_cast<float>(most);
    return info;
  };
  const double sensors = params.strings * params.modules;
  const bool track = params.hypotheses == NuTelescope::Hypotheses::track;
  const bool cascade = params.hypotheses == NuTelescope::Hypotheses::cascade;
  LatentInfo energy{"energy", "energy of the muon at its vertex, or of the cascade", "GeV",
                    static_cast<float>(params.energy_low), static_cast<float>(params.energy_high)};
  return {
      {"hypothesis", "0: cascade, 1: track", "", track ? 1.0f : 0.0f, cascade ? 0.0f : 1.0f},
      range({"direction_x", "unit vector towards the origin of the particle, x", "", 0, 1}, x,
            kSlack),
      range({"direction_y", "unit vector towards the origin of the particle, y", "", 0, 1}, y,
            kSlack),
      range({"direction_z",
             "unit vector towards the origin of the particle, z; cosine of the zenith angle", "", 0,
             1},
            cosine, kSlack),
      angle({"azimuth", "azimuth of the particle's origin, from x towards y", "rad", 0, 1},
            params.azimuth_low, params.azimuth_high),
      // The arccosine of a rounded cosine near +-1 has an error of sqrt(2 2^-24).
      range(rarely_reached({"zenith", "zenith angle of the particle's origin", "rad", 0, 1}),
            {params.zenith_low, params.zenith_high},
            params.zenith_low == params.zenith_high ? 4e-4 : 4e-6),
      length({"vertex_x", "position of the cascade, or a point on the track, x", "m", 0, 1},
             params.vertex_radius),
      length({"vertex_y", "position of the cascade, or a point on the track, y", "m", 0, 1},
             params.vertex_radius),
      length(
          {"vertex_z",
           "position of the cascade, or a point on the track, z; up from the centre of the array",
           "m", 0, 1},
          params.vertex_height),
      energy,
      range({"log_energy", "log10(energy / GeV)", "", 0, 1},
            {std::log10(params.energy_low), std::log10(params.energy_high)}, 4 * kSlack),
      length({"start", "time at the vertex", "ns", 0, 1}, params.start),
      number(rarely_reached({"hits", "number of pulses, including those not kept", "", 0, 1}),
             sensors * params.saturation + most_noise(params)),
      number(rarely_reached({"noise_hits", "number of noise pulses", "", 0, 1}),
             most_noise(params)),
      number(rarely_reached({"hit_modules", "modules with a pulse", "", 0, 1}), sensors),
      number(rarely_reached({"saturated", "modules at the photon limit `saturation`", "", 0, 1}),
             sensors),
  };
}

}  // namespace

const ParamTable<NuTelescope::Params>& NuTelescope::table() {
  constexpr auto kCascades = [](const Params& p) { return p.hypotheses != Hypotheses::track; };
  static const auto rows =
      ParamTable<Params>("nu_telescope")
          .choice("output", &Params::output,
                  {{"pulses", Output::pulses},
                   {"truth", Output::truth},
                   {"features", Output::features}},
                  "pulses: a set of x, y, z, time, charge, auxiliary; truth: also the module and "
                  "the parts of the time, not for training; features: 15 numbers per event")
          .choice("hypotheses", &Params::hypotheses,
                  {{"both", Hypotheses::both},
                   {"track", Hypotheses::track},
                   {"cascade", Hypotheses::cascade}},
                  "both: two classes, equally likely")
          .integer("strings", &Params::strings, {1, telescope::kMostStrings}, "",
                   "number of strings; they occupy the innermost sites of a triangular lattice",
                   "IceCube: 78, plus 8")
          .integer("modules", &Params::modules, {1, telescope::kMostModules}, "",
                   "modules per string", "IceCube")
          .real("string_spacing", &Params::string_spacing, {1, 1000}, "m",
                "distance between neighbouring strings", "IceCube: about 125")
          .real("module_spacing", &Params::module_spacing, {1, 100}, "m",
                "distance between neighbouring modules of a string",
                "IceCube: 17, from 1450 to 2450 m deep")
          .real("zenith_low", &Params::zenith_low, {0, kPi}, "rad",
                "smallest zenith angle of the particle's origin; uniform in its cosine")
          .real("zenith_high", &Params::zenith_high, {0, kPi}, "rad", "largest zenith angle")
          .real("azimuth_low", &Params::azimuth_low, {0, 2 * kPi}, "rad",
                "smallest azimuth; uniform between the two")
          .real("azimuth_high", &Params::azimuth_high, {0, 2 * kPi}, "rad", "largest azimuth")
          .real("vertex_radius", &Params::vertex_radius, {0, 5000}, "m",
                "radius of the vertical cylinder in which vertices or track points are uniform")
          .real("vertex_height", &Params::vertex_height, {0, 5000}, "m",
                "half-height of that cylinder")
          .real("energy_low", &Params::energy_low, {0.1, 1e8}, "GeV", "lowest energy; log-uniform")
          .real("energy_high", &Params::energy_high, {0.1, 1e8}, "GeV", "highest energy")
          .real("start", &Params::start, {0, 1e5}, "ns",
                "the time at the vertex is uniform between -start and start")
          .real("phase_index", &Params::phase_index, {1.05, 2}, "",
                "phase refractive index; sets the Cherenkov angle", kIndex)
          .real("group_index", &Params::group_index, {1.05, 3}, "",
                "group refractive index; sets the speed of light pulses", kIndex)
          .real("tau", &Params::tau, {1, 1e6}, "ns",
                "scattering time of Pandel's delay distribution", kAmanda)
          .real("lambda", &Params::lambda, {1, 1e4}, "m",
                "scattering length of Pandel's delay distribution", kAmanda)
          .real("lambda_a", &Params::lambda_a, {1, 1e5}, "m",
                "absorption length of Pandel's delay distribution", kAmanda)
          .real("jitter", &Params::jitter, {0, 1e4}, "ns",
                "resolution (standard deviation) of measured times",
                "fits of AMANDA and IceCube: 3 to 15")
          .real("light", &Params::light, {0, 1e7}, "1/m", "photons per metre of a bare muon track",
                "about 3e4 from 300 to 500 nm")
          .real("track_gain", &Params::track_gain, {0, 1}, "1/GeV",
                "light from energy losses, per GeV of muon energy, relative to a bare track",
                "5.3 m/GeV times losses of 3.3e-4 per metre; unverified")
          .only_where([](const Params& p) { return p.hypotheses != Hypotheses::cascade; },
                      "hypotheses: both or track")
          .real("cascade_length", &Params::cascade_length, {0, 100}, "m/GeV",
                "length of bare track that emits as much light as a 1 GeV cascade", "unverified")
          .only_where(kCascades, "hypotheses: both or cascade")
          .real("cascade_forward", &Params::cascade_forward, {0, 1}, "",
                "a in a cascade's emission, 1 + a cos(angle to its direction)", kToy)
          .only_where(kCascades, "hypotheses: both or cascade")
          .real("area", &Params::area, {0, 1}, "m^2",
                "effective area of a module (area times efficiency), averaged over directions",
                kToy)
          .real("attenuation", &Params::attenuation, {1, 1000}, "m",
                "attenuation length of light, from scattering and absorption", kToy)
          .real("acceptance", &Params::acceptance, {0, 1}, "",
                "b in a module's acceptance, 1 + b cos(angle of light to the vertical)", kToy)
          .integer("saturation", &Params::saturation, {1, static_cast<int>(kMostPhotons)}, "",
                   "maximum number of photons per module")
          .real("charge_width", &Params::charge_width, {0, 2}, "p.e.",
                "standard deviation of the charge per photon; mean 1, minimum 0.05", "about 0.3")
          .real("noise_rate", &Params::noise_rate, {0, 1e5}, "Hz", "noise rate per module",
                "IceCube: 500 to 800; unverified")
          .real("window_low", &Params::window_low, {-1e5, 1e5}, "ns", "start of the noise window")
          .real("window_high", &Params::window_high, {-1e5, 1e5}, "ns", "end of the noise window")
          .real("coincidence", &Params::coincidence, {0, 1e5}, "ns",
                "a pulse is auxiliary unless one of the four nearest modules on its string has its "
                "first pulse within this time of its own module's first pulse",
                "IceCube's local coincidence")
          .real("unit", &Params::unit, {1e-3, 1e5}, "m", "unit of positions in x")
          .real("time_unit", &Params::time_unit, {1e-3, 1e6}, "ns", "unit of times in x")
          .integer("items", &Params::items, {1, kMostItems}, "",
                   "maximum number of pulses; if there are more, a random subset is kept, with "
                   "equal probability for each pulse")
          .only_where([](const Params& p) { return p.output != Output::features; },
                      "output: pulses or truth")
          .preset("icecube",
                  {{"output", "truth"},
                   {"energy_high", "1e6"},
                   {"saturation", "256"},
                   {"items", "16384"}},
                  "events up to 1 PeV with the columns of the HDF5 layout `icecube`")
          .preset("one_angle",
                  {{"strings", "8"},         {"modules", "16"},      {"string_spacing", "60"},
                   {"module_spacing", "20"}, {"azimuth_low", "0"},   {"azimuth_high", "0"},
                   {"vertex_radius", "0"},   {"vertex_height", "0"}, {"energy_low", "100"},
                   {"energy_high", "100"},   {"start", "0"},         {"area", "0.001"},
                   {"jitter", "100"},        {"noise_rate", "5000"}, {"window_low", "-1500"},
                   {"window_high", "2500"},  {"saturation", "1024"}, {"unit", "100"},
                   {"time_unit", "500"},     {"items", "64"}},
                  "a small array in which only hypothesis and zenith are unknown, so the best "
                  "possible results are known");
  return rows;
}

telescope::Optics NuTelescope::optics_of(const Params& params) {
  return telescope::optics_of({params.phase_index, params.group_index, params.tau, params.lambda,
                               params.lambda_a, params.attenuation, params.light, params.track_gain,
                               params.cascade_length, params.cascade_forward, params.area,
                               params.acceptance});
}

SampleInfo NuTelescope::describe(const Params& params) {
  SampleInfo info;
  info.name = "nu_telescope";
  info.version = 2;
  info.summary = "Pulses of a neutrino telescope; class: track or cascade";
  info.reference =
      "Muon tracks in ice: J. Ahrens et al. (AMANDA), Nucl. Instrum. Meth. A 524 (2004) 169; P. "
      "Price, K. Woschnagg, Astropart. Phys. 15 (2001) 97";
  if (params.hypotheses != Hypotheses::track) info.classes.push_back("cascade");
  if (params.hypotheses != Hypotheses::cascade) info.classes.push_back("track");
  info.features = features_of(params);
  info.latents = latents_of(params);

  const telescope::Array array = array_of(params);
  const double distance = farthest(array, params), time = latest(distance, params);
  double reach = std::max({distance / params.unit, time / params.time_unit,
                           1 + math::kNormalReach * params.charge_width});
  if (params.output == Output::features) reach = std::max(reach, 20.0);  // for the logarithms
  const double sensors = params.strings * params.modules;
  if (params.output == Output::truth) reach = std::max(reach, sensors);
  info.high = static_cast<float>(reach);
  info.low = -info.high;
  // Photons and noise are drawn twice: first to find the earliest time in each module, then to
  // write them. Noise is also counted first, with one extra gap per string. draw_gamma rejects at
  // most 5 % of first tries; 6 % plus 9 standard deviations are allowed here. Second tries may also
  // be rejected. The term 40 covers idle lanes.
  const double photons = params.light == 0 || params.area == 0 ? 0 : sensors * params.saturation;
  const double rejected = 0.06 * photons + 9 * std::sqrt(0.06 * photons);
  const double blocks = photons == 0 ? 0 : std::ceil(2 * (photons + (photons + 2 * rejected) + 40));
  const std::int64_t noise =
      params.noise_rate == 0 ? 0
                             : 3 * static_cast<std::int64_t>(most_noise(params)) + params.strings;
  info.draws = {.scene = 3 + std::int64_t{params.strings} * ((params.modules + 3) / 4) +
                         static_cast<std::int64_t>(photons / 4 + sensors + blocks) + noise};
  return info;
}

NuTelescope::NuTelescope(const Params& params)
    : array_(array_of(params)),
      optics_(optics_of(params)),
      noise_mean_(noise_mean(params)),
      cosine_low_(static_cast<float>(std::cos(params.zenith_high))),
      cosine_span_(static_cast<float>(std::cos(params.zenith_low) - std::cos(params.zenith_high))),
      azimuth_low_(static_cast<float>(params.azimuth_low / (2 * kPi))),
      azimuth_span_(static_cast<float>((params.azimuth_high - params.azimuth_low) / (2 * kPi))),
      vertex_radius_(static_cast<float>(params.vertex_radius)),
      vertex_height_(static_cast<float>(params.vertex_height)),
      energy_low_(static_cast<float>(params.energy_low)),
      energy_high_(static_cast<float>(params.energy_high)),
      log_low_(static_cast<float>(std::log(params.energy_low))),
      log_span_(static_cast<float>(std::log(params.energy_high / params.energy_low))),
      start_(static_cast<float>(params.start)),
      jitter_(static_cast<float>(params.jitter)),
      charge_width_(static_cast<float>(params.charge_width)),
      window_low_(static_cast<float>(params.window_low)),
      window_span_(static_cast<float>(params.window_high - params.window_low)),
      coincidence_(static_cast<float>(params.coincidence)),
      per_unit_(static_cast<float>(1 / params.unit)),
      per_time_unit_(static_cast<float>(1 / params.time_unit)),
      saturation_(static_cast<std::uint32_t>(params.saturation)),
      items_(params.items),
      features_(static_cast<int>(features_of(params).size())),
      output_(params.output),
      hypotheses_(params.hypotheses) {
  table().expect_ordered(params, {"zenith", "azimuth", "energy", "window"});
}

}  // namespace wellspring
