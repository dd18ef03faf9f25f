#include "generators/events/tracks.h"

#include "core/error.h"
#include "core/text/text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

namespace wellspring {
namespace {

constexpr const char* kAcs = "a variant of the ACTS generic detector";

/// In f32, u (ratio^e - 1) + 1 with e = 1 - pt_power keeps only
/// about a fraction e of the 24 bits of u.
constexpr double kLeastExponent = 0.01;

double exponent_of(const Tracks::Params& params) {
  const double exponent = 1 - params.pt_power;
  return std::abs(exponent) < 1e-6 ? 0 : exponent;
}

/// Total area of the active layers, mm^2.
double area_of(const Tracker& tracker) {
  double area = 0;
  for (int i = 0; i < tracker.cylinders; ++i) {
    const TrackerSurface& s = tracker.cylinder[i];
    if (s.volume[0] != 0) area += 4 * std::numbers::pi * s.place * s.high;
  }
  for (int i = 0; i < tracker.discs; ++i) {
    const TrackerSurface& s = tracker.disc[i];
    area += 2 * std::numbers::pi * (s.high * s.high - s.low * s.low);
  }
  return area;
}

/// About one thread per particle of an average event, plus some for layers with noise.
int members_for(const Tracks::Params& params) {
  constexpr int kFewest = 4;
  const auto usual = static_cast<unsigned>(params.tracks_low + params.tracks_high) / 2;
  return std::clamp(static_cast<int>(std::bit_ceil(usual)), kFewest, Tracks::kMostMembers);
}

/// Area of a cylinder, or of the ring at one end of the detector, mm^2.
double area_of(const TrackerSurface& surface, bool cylinder) {
  return cylinder ? 4 * std::numbers::pi * surface.place * surface.high
                  : std::numbers::pi * (surface.high - surface.low) * (surface.high + surface.low);
}

}  // namespace

const ParamTable<Tracks::Params>& Tracks::table() {
  constexpr auto kScatters = [](const Params& p) { return p.scattering == Scattering::highland; };
  static const auto rows =
      ParamTable<Params>("tracks")
          .choice(
              "columns", &Params::columns,
              {{"position", Columns::position}, {"hits", Columns::hits}, {"truth", Columns::truth}},
              "columns of a hit. position: x, y, z; hits: also volume and layer; truth: all "
              "TrackML columns, not for training")
          .integer("tracks_low", &Params::tracks_low, {1, kMostTracks}, "",
                   "lowest number of particles; each number is an equally likely class")
          .integer("tracks_high", &Params::tracks_high, {1, kMostTracks}, "",
                   "highest number of particles")
          .integer("vertices", &Params::vertices, {1, kMostVertices}, "",
                   "number of vertices; each particle starts at a random one")
          .real("vertex_z", &Params::vertex_z, {0, 100}, "mm",
                "standard deviation of vertices along the beam", "TrackML: about 55")
          .real("vertex_xy", &Params::vertex_xy, {0, 1}, "mm",
                "standard deviation of vertices in each transverse direction")
          .real("pt_low", &Params::pt_low, {0.05, 1000}, "GeV", "lowest transverse momentum")
          .real("pt_high", &Params::pt_high, {0.05, 1000}, "GeV", "highest transverse momentum")
          .real("pt_power", &Params::pt_power, {0, 8}, "",
                "n in the density pt^-n; 0: uniform, 1: uniform in log pt; other values within "
                "0.01 of 1 are refused")
          .real("eta_max", &Params::eta_max, {0, 4}, "",
                "pseudorapidity is uniform between -eta_max and eta_max")
          .real("phi_max", &Params::phi_max, {0, std::numbers::pi}, "rad",
                "azimuth is uniform between -phi_max and phi_max")
          .real("mass", &Params::mass, {0, 10}, "GeV",
                "mass of every particle, used for scattering; charges are +1 or -1, equally likely",
                "charged pion: Particle Data Group")
          .only_where(kScatters, "scattering: highland")
          .real("field", &Params::field, {0, 4}, "T", "magnetic field, along z everywhere")
          .choice("scattering", &Params::scattering,
                  {{"highland", Scattering::highland}, {"off", Scattering::off}},
                  "multiple scattering at every surface", "Particle Data Group 2024, eq. 34.16")
          .real("pixel_thickness", &Params::pixel_thickness, {0, 0.2}, "",
                "thickness of a pixel layer, in radiation lengths", "1.15 mm of silicon")
          .only_where(kScatters, "scattering: highland")
          .real("strip_thickness", &Params::strip_thickness, {0, 0.2}, "",
                "thickness of a strip layer, in radiation lengths", "1.25 mm of silicon")
          .only_where(kScatters, "scattering: highland")
          .real("pixel_along", &Params::pixel_along, {0, 50}, "mm",
                "resolution of pixels in r phi (standard deviation)", "50 um / sqrt 12")
          .real("pixel_across", &Params::pixel_across, {0, 50}, "mm",
                "resolution of pixels in z (barrel) or r (discs)", "56.25 um / sqrt 12")
          .real("short_along", &Params::short_along, {0, 50}, "mm",
                "resolution of short strips in r phi", std::string("80 um / sqrt 12, ") + kAcs)
          .real("short_across", &Params::short_across, {0, 50}, "mm",
                "resolution of short strips in z or r", std::string("1.2 mm / sqrt 12, ") + kAcs)
          .real("long_along", &Params::long_along, {0, 50}, "mm",
                "resolution of long strips in r phi", std::string("120 um / sqrt 12, ") + kAcs)
          .real("long_across", &Params::long_across, {0, 50}, "mm",
                "resolution of long strips in z or r", std::string("10.8 mm / sqrt 12, ") + kAcs)
          .real("efficiency", &Params::efficiency, {0, 1}, "",
                "probability that a crossing is measured, independent for each")
          .real("noise", &Params::noise, {0, 100000}, "",
                "mean number of noise hits: Poisson, uniform over the area of all layers")
          .real("unit", &Params::unit, {1e-3, 1e4}, "mm", "unit of positions in x")
          .integer("items", &Params::items, {1, kMostItems}, "", "maximum number of hits")
          .preset("trackml",
                  {{"columns", "truth"},
                   {"tracks_low", "10000"},
                   {"tracks_high", "10000"},
                   {"vertices", "200"},
                   {"pt_low", "0.15"},
                   {"pt_high", "100"},
                   {"pt_power", "3"},
                   {"eta_max", "3"},
                   {"noise", "15000"},
                   {"items", "131072"}},
                  "about as many particles and hits as an event of the TrackML challenge")
          .preset("coarse",
                  {{"columns", "position"}, {"tracks_low", "1"},    {"tracks_high", "1"},
                   {"pt_power", "2"},       {"pt_high", "1000"},    {"eta_max", "0.5"},
                   {"phi_max", "0.25"},     {"vertex_z", "0"},      {"vertex_xy", "0"},
                   {"scattering", "off"},   {"pixel_along", "10"},  {"pixel_across", "10"},
                   {"short_along", "10"},   {"short_across", "10"}, {"long_along", "10"},
                   {"long_across", "10"},   {"efficiency", "1"},    {"noise", "0"},
                   {"unit", "250"},         {"items", "10"}},
                  "one track in the barrel, measured to 10 mm, uniform in q / pt: the optimal fit "
                  "is known");
  return rows;
}

Tracker Tracks::tracker_of(const Params& params) {
  return generic_tracker({params.pixel_along, params.pixel_across, params.short_along,
                          params.short_across, params.long_along, params.long_across,
                          params.pixel_thickness, params.strip_thickness});
}

SampleInfo Tracks::describe(const Params& params) {
  SampleInfo info;
  info.name = "tracks";
  info.summary = "Hits of charged particles in a tracking detector; class: number of particles";
  info.reference =
      "ACTS generic detector and TrackML: S. Amrouche et al., arXiv:1904.06778; V. Highland, Nucl. "
      "Instrum. Meth. 129 (1975) 497";
  for (int n = params.tracks_low; n <= params.tracks_high && n - params.tracks_low < kMostClasses;
       ++n) {
    info.classes.push_back(std::to_string(n) + (n == 1 ? " track" : " tracks"));
  }
  const std::string mm = params.unit == 1 ? "mm" : shortest(params.unit) + " mm";
  info.features = {{"x", mm}, {"y", mm}, {"z", mm}};
  if (params.columns != Columns::position)
    info.features.insert(info.features.end(), {{"volume_id", ""}, {"layer_id", ""}});
  if (params.columns == Columns::truth) {
    info.features.insert(info.features.end(), {{"particle_id", ""},
                                               {"tx", mm},
                                               {"ty", mm},
                                               {"tz", mm},
                                               {"tpx", "GeV"},
                                               {"tpy", "GeV"},
                                               {"tpz", "GeV"},
                                               {"weight", ""},
                                               {"vx", mm},
                                               {"vy", mm},
                                               {"vz", mm},
                                               {"px", "GeV"},
                                               {"py", "GeV"},
                                               {"pz", "GeV"},
                                               {"q", ""}});
  }
  const auto most_noise_hits =
      std::ceil(params.noise == 0 ? 0
                                  : params.noise + 9 * std::sqrt(params.noise * kNoiseLayers) +
                                        40 * kNoiseLayers);
  const auto low = static_cast<float>(params.pt_low), high = static_cast<float>(params.pt_high);
  const auto eta = static_cast<float>(params.eta_max);
  const double phi = std::min(params.phi_max, std::numbers::pi);
  const auto vertex = static_cast<float>(math::kNormalReach * params.vertex_z);
  const double sine = phi < std::numbers::pi / 2 ? std::sin(phi) : 1;
  constexpr double kSlack = 1e-6;  // for rounding errors of sines and cosines
  info.latents = {
      {"tracks", "number of particles", "", static_cast<float>(params.tracks_low),
       static_cast<float>(params.tracks_high)},
      rarely_reached({"hits", "number of hits, including those not kept", "", 0,
                      static_cast<float>(kTrackerSurfaces * params.tracks_high + most_noise_hits)}),
      rarely_reached(
          {"noise_hits", "number of noise hits", "", 0, static_cast<float>(most_noise_hits)}),
      {"charge_over_pt", "charge over transverse momentum of the first particle", "1/GeV", -1 / low,
       1 / low},
      {"pt", "transverse momentum of the first particle", "GeV", low, high},
      {"eta", "pseudorapidity of the first particle", "", -eta, eta},
      {"cos_phi", "cosine of the first particle's azimuth at the vertex", "",
       static_cast<float>(std::cos(phi) - kSlack), 1},
      {"sin_phi", "", "", static_cast<float>(-sine - kSlack), static_cast<float>(sine + kSlack)},
      rarely_reached({"vertex_z", "z of the first particle's vertex", "mm", -vertex, vertex}),
  };
  info.latents[kSinPhi].help = "sine of the first particle's azimuth at the vertex";
  const double error =
      math::kNormalReach * std::max({params.pixel_along, params.pixel_across, params.short_along,
                                     params.short_across, params.long_along, params.long_across});
  double reach = (3000 + 2 * error) / params.unit;
  if (params.columns != Columns::position) reach = std::max(reach, 18.0);
  if (params.columns == Columns::truth) {
    reach = std::max({reach, 1.001 * params.pt_high * std::cosh(params.eta_max),
                      static_cast<double>(params.tracks_high)});
  }
  info.high = static_cast<float>(reach);
  info.low = -info.high;
  // A path crosses at most every cylinder and one ring of each of 12 planes. A particle has two
  // blocks of its own, which are drawn again for its truth; the event has one block. A team with
  // several members draws all hits twice: once to count them, and once to write them.
  constexpr int kPlanes = 12, kDead = 2, kMeasure = kPlanes + kMostCylinders - kDead;
  const int own = params.columns == Columns::truth ? 4 : 2;
  const int crossings = params.scattering == Scattering::off ? kMeasure : 2 * kMeasure + kDead;
  info.draws = {.scene = 3 + (own + crossings) * std::int64_t{params.tracks_high} +
                         static_cast<std::int64_t>(most_noise_hits) +
                         (params.noise == 0 ? 0 : kNoiseLayers)};
  return info;
}

Tracks::Tracks(const Params& params)
    : tracker_(tracker_of(params)),
      laws_{params.field, 1 / params.unit, static_cast<float>(params.mass),
            static_cast<float>(params.efficiency), params.scattering != Scattering::off},
      pt_low_(static_cast<float>(params.pt_low)),
      pt_high_(static_cast<float>(params.pt_high)),
      pt_exponent_(static_cast<float>(exponent_of(params))),
      eta_max_(static_cast<float>(params.eta_max)),
      phi_turns_(static_cast<float>(std::min(params.phi_max / (2 * std::numbers::pi), 0.5))),
      vertex_z_(static_cast<float>(params.vertex_z)),
      vertex_xy_(static_cast<float>(params.vertex_xy)),
      tracks_low_(params.tracks_low),
      tracks_high_(params.tracks_high),
      items_(params.items),
      features_(static_cast<int>(describe(params).features.size())),
      members_(members_for(params)),
      vertices_(static_cast<std::uint32_t>(params.vertices)),
      columns_(params.columns) {
  table().expect_ordered(params, {"tracks", "pt"});
  const double exponent = exponent_of(params);
  if (exponent != 0 && std::abs(exponent) < kLeastExponent - 1e-9) {
    fail(ErrorKind::config,
         {"tracks: pt_power " + shortest(params.pt_power) + " is too close to 1",
          "within 0.01 of 1, single precision loses all digits",
          std::string("set it to 1, or to ") + (exponent > 0 ? "0.99 or less" : "1.01 or more")});
  }
  const double density = params.noise / area_of(tracker_);
  for (int layer = 0; layer < kNoiseLayers; ++layer) {
    const bool cylinder = layer < kMostCylinders;
    const TrackerSurface& surface =
        cylinder ? tracker_.cylinder[layer] : tracker_.disc[(layer - kMostCylinders) % kMostDiscs];
    noise_mean_[layer] = surface.volume[1] == 0 ? 0 : density * area_of(surface, cylinder);
  }
  const double ratio = std::log(params.pt_high / params.pt_low);
  pt_span_ = static_cast<float>(exponent == 0 ? ratio : std::expm1(exponent * ratio));
  if (params.tracks_high - params.tracks_low >= kMostClasses) {
    fail(ErrorKind::config,
         {"tracks: " + std::to_string(params.tracks_high - params.tracks_low + 1) +
              " numbers of particles between tracks_low and tracks_high",
          "each is a class; the maximum is " + std::to_string(kMostClasses),
          "raise tracks_low to " + std::to_string(params.tracks_high - kMostClasses + 1) +
              ", or lower tracks_high"});
  }
}

}  // namespace wellspring
