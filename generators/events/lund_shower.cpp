#include "generators/events/lund_shower.h"

#include "core/error.h"
#include "core/text/text.h"
#include "generators/class_list.h"
#include "generators/events/jet_view_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace wellspring {
namespace {

const std::vector<std::pair<std::string, LundShower::Species>> kSpecies = {
    {"quark", LundShower::Species::quark},
    {"gluon", LundShower::Species::gluon},
    {"W", LundShower::Species::w},
    {"top", LundShower::Species::top}};

constexpr const char* kPdg = "Particle Data Group 2022";

bool has(const LundShower::Params& params, const std::string& name) {
  return std::ranges::count(params.classes, name) > 0;
}

double heaviest(const LundShower::Params& params) {
  constexpr double kWidths = lund::Line::kWidths;
  return std::max(has(params, "W") ? params.w_mass + kWidths * params.w_width : 0,
                  has(params, "top") ? params.top_mass + kWidths * params.top_width : 0);
}

lund::Line line_of(double mass, double width) {
  const auto f32 = [](double x) { return static_cast<float>(x); };
  lund::Line line{f32(mass), f32(mass * mass), f32(mass * width), 0, 0};
  if (width <= 0) return line;
  const auto turns = [&](double at) {
    return std::atan((at * at - mass * mass) / (mass * width)) / (2 * std::numbers::pi);
  };
  const double low = turns(mass - lund::Line::kWidths * width);
  line.low = f32(low);
  line.range = f32(turns(mass + lund::Line::kWidths * width) - low);
  return line;
}

/// Emission density in the Lund plane.
double density(double alpha_s, double colour_factor) {
  return 2 * alpha_s * colour_factor / std::numbers::pi;
}

void expect_classes(const LundShower::Params& params) {
  std::vector<std::string> known;
  for (const auto& [name, species] : kSpecies) known.push_back(name);
  expect_class_list("lund_shower", "classes", params.classes, known);
}

void expect_scales(const LundShower::Params& params) {
  LundShower::table().expect_ordered(params, {"pt"});
  if (params.pt_low * params.radius <= params.kt_cut) {
    fail(ErrorKind::config,
         {fmt::format("lund_shower: pt_low * radius = {} GeV does not exceed kt_cut = {} GeV",
                      shortest(params.pt_low * params.radius), shortest(params.kt_cut)),
          "the Lund plane is empty",
          "raise pt_low or lower kt_cut; to switch radiation off, set alpha_s=0"});
  }
  constexpr double kWidths = lund::Line::kWidths;
  const double lightest_w = params.w_mass - kWidths * params.w_width;
  const double lightest_top = params.top_mass - kWidths * params.top_width;
  if (lightest_w <= 0 || lightest_top <= params.w_mass + kWidths * params.w_width) {
    const bool w = lightest_w <= 0;
    if ((w && has(params, "W") && params.w_width > 0) ||
        (has(params, "top") && (params.w_width > 0 || params.top_width > 0)))
      fail(ErrorKind::config,
           {fmt::format("lund_shower: w_width is {} GeV, top_width is {} GeV",
                        shortest(params.w_width), shortest(params.top_width)),
            "masses vary by up to 15 widths, and a top must stay heavier than its W",
            "choose smaller widths; Particle Data Group: 2.085 and 1.42"});
  }
  if (has(params, "top") && params.w_mass >= params.top_mass) {
    fail(ErrorKind::config,
         {fmt::format("lund_shower: w_mass is {} GeV, top_mass is {} GeV", shortest(params.w_mass),
                      shortest(params.top_mass)),
          "a top decays into a W and a massless b", "choose a top_mass above w_mass"});
  }
}

/// Probabilities that a quark and a gluon emit a given number of gluons; their ratio is
/// exp(score).
struct Atom {
  double score, quark, gluon;
};

/// All atoms. The range of jet momenta is divided into equal parts, each represented by its centre.
/// `beyond`: probability of more than `most` emissions from a gluon at the highest momentum.
std::vector<Atom> atoms(const LundShower::Params& params, int most, double& beyond) {
  const int parts = params.pt_low < params.pt_high ? 200 : 1;
  const double rho_quark = density(params.alpha_s, lund::kQuarkFactor);
  const double rho_gluon = density(params.alpha_s, lund::kGluonFactor);
  std::vector<Atom> all;
  for (int i = 0; i < parts; ++i) {
    const double pt = params.pt_low + (params.pt_high - params.pt_low) * (i + 0.5) / parts;
    const double room = std::log(pt * params.radius / params.kt_cut);
    const double quark = rho_quark * room * room / 2, gluon = rho_gluon * room * room / 2;
    beyond = 1;
    for (int n = 0; n <= most; ++n) {
      const double of_quark = std::exp(n * std::log(quark) - quark - std::lgamma(n + 1));
      const double of_gluon = std::exp(n * std::log(gluon) - gluon - std::lgamma(n + 1));
      beyond -= of_gluon;
      all.push_back(
          {std::log(quark / gluon) * n + gluon - quark, of_quark / parts, of_gluon / parts});
    }
  }
  return all;
}

/// The first item of a record reveals the class. Otherwise quarks against gluons, for primary
/// emissions only. Emissions from both fill the plane uniformly, so their number is a sufficient
/// statistic (J. Neyman, E. Pearson 1933).
std::vector<BestResult> best_results(const LundShower::Params& params) {
  if (params.columns == LundShower::Columns::record && jets::shows_constituents(params)) {
    if (params.classes.size() != 2) return {{"accuracy", 1}};
    return {{"accuracy", 1}, {"area under the curve", 1}};
  }
  if (params.soft > 0 || params.cone > 0) return {};
  const bool counted = params.output != jets::Output::image;
  if (!counted || params.cascade != LundShower::Cascade::primary || params.alpha_s <= 0 ||
      params.classes.size() != 2 || !has(params, "quark") || !has(params, "gluon"))
    return {};
  const int most =
      (params.output == jets::Output::features ? lund::kMostPartons : params.items) - 1;
  double beyond = 0;
  std::vector<Atom> all = atoms(params, most, beyond);
  if (beyond > 1e-6) return {};  // the set may be too small for all emissions
  std::ranges::sort(all, {}, &Atom::score);
  double accuracy = 0, area = 0, gluons = 0;
  for (std::size_t i = 0; i < all.size();) {
    double quark = 0, gluon = 0;
    for (const double score = all[i].score; i < all.size() && all[i].score == score; ++i) {
      quark += all[i].quark;
      gluon += all[i].gluon;
    }
    accuracy += 0.5 * std::max(quark, gluon);
    area += quark * (gluons + 0.5 * gluon);
    gluons += gluon;
  }
  return {{"accuracy", accuracy}, {"area under the curve", area}};
}

ParamTable<LundShower::Params> own_rows() {
  using Params = LundShower::Params;
  return ParamTable<Params>("lund_shower")
      .text_list("classes", &Params::classes,
                 "initial particles, one class each: one or more of quark, gluon, W, top")
      .real("alpha_s", &Params::alpha_s, {0, 1}, "", "fixed strong coupling; 0: no radiation",
            "0.118 at the mass of the Z")
      .choice("cascade", &Params::cascade,
              {{"primary", LundShower::Cascade::primary}, {"full", LundShower::Cascade::full}},
              "primary: only the prongs radiate; full: emitted gluons also do, at smaller angles")
      .real("pt_low", &Params::pt_low, {1, 1e5}, "GeV", "lowest transverse momentum of a jet")
      .real("pt_high", &Params::pt_high, {1, 1e5}, "GeV",
            "highest transverse momentum; uniform between the two")
      .real("eta_max", &Params::eta_max, {0, 5}, "",
            "jets are uniform in pseudorapidity from -eta_max to eta_max")
      .real("radius", &Params::radius, {0.01, 1}, "", "largest angle of an emission")
      .real("kt_cut", &Params::kt_cut, {1e-3, 1e4}, "GeV",
            "minimum transverse momentum of an emission relative to its emitter")
      .real("w_mass", &Params::w_mass, {1, 1000}, "GeV", "mass of the W boson", kPdg)
      .real("top_mass", &Params::top_mass, {1, 1000}, "GeV", "mass of the top quark", kPdg)
      .real("w_width", &Params::w_width, {0, 50}, "GeV",
            "width of the W: a Breit-Wigner line of its mass, up to 15 widths away; 0: always "
            "w_mass; 2.085 is measured",
            kPdg)
      .real("top_width", &Params::top_width, {0, 50}, "GeV",
            "width of the top; 0: always top_mass; 1.42 is measured", kPdg)
      .real("cone", &Params::cone, {0, 10}, "",
            "largest distance of a constituent from the initial particle in eta and phi; the "
            "hardest constituent is always kept; 0: no limit")
      .real("soft", &Params::soft, {0, 100}, "",
            "mean number of soft particles, uniform within radius, as from an underlying event")
      .real("soft_pt", &Params::soft_pt, {1e-3, 1e3}, "GeV",
            "mean transverse momentum of soft particles, which is exponential")
      .choice("columns", &Params::columns,
              {{"momenta", LundShower::Columns::momenta},
               {"lund", LundShower::Columns::lund},
               {"kinematics", LundShower::Columns::kinematics},
               {"record", LundShower::Columns::record}},
              std::string("columns of constituents: momenta; lund: also the emission's position in "
                          "the Lund plane; kinematics: pt, eta, phi, m; ") +
                  record::kHelp)
      .only_where(jets::shows_constituents<Params>, "output: constituents")
      .real("unit", &Params::unit, {1e-3, 1e4}, "GeV", "unit of momenta in x and globals")
      .integer(
          "items", &Params::items, {3, lund::kMostPartons}, "",
          "maximum number of constituents; the ones with the highest transverse momentum are kept")
      .only_where(jets::shows_constituents<Params>, "output: constituents");
}

}  // namespace

const ParamTable<LundShower::Params>& LundShower::table() {
  static const auto rows = [] {
    auto table = own_rows();
    jets::add_view_rows(table);
    table.preset("jetnet30",
                 {{"classes", "[gluon, quark, top, W]"},
                  {"pt_low", "800"},
                  {"pt_high", "1200"},
                  {"w_width", "2.085"},
                  {"top_width", "1.42"},
                  {"cone", "0.8"},
                  {"soft", "24"},
                  {"items", "30"}},
                 "TeV jets and their 30 hardest constituents, by this toy shower; kinematics of R. "
                 "Kansal et al., JetNet (2021)");
    return table;
  }();
  return rows;
}

namespace {

/// Items of a record before the constituents: top, W and three quarks.
constexpr int kMostParents = 5;

int width_of(LundShower::Columns columns) {
  if (columns == LundShower::Columns::record) return record::kColumns;
  return columns == LundShower::Columns::lund ? 7 : 4;
}

void describe_columns(const LundShower::Params& params, SampleInfo& info) {
  const std::string unit = info.features.front().unit;
  if (params.columns == LundShower::Columns::record) info.features = record::columns(unit);
  if (params.columns == LundShower::Columns::kinematics) {
    info.features = {{"pt", unit}, {"eta", ""}, {"phi", "rad"}, {"m", unit}};
    info.globals = {{"jet_pt", unit}, {"jet_eta", ""}, {"jet_phi", "rad"}, {"jet_m", unit}};
  }
  if (params.columns == LundShower::Columns::record ||
      params.columns == LundShower::Columns::kinematics) {
    info.high = std::max(info.high, static_cast<float>(lund::kMostPartons + kMostParents));
    info.low = -info.high;
  }
}

}  // namespace

SampleInfo LundShower::describe(const Params& params) {
  SampleInfo info;
  info.name = "lund_shower";
  info.summary =
      "Jets of an angular-ordered toy shower from quarks, gluons and decays of W and top";
  info.reference = "B. Andersson et al., Z. Phys. C43 (1989) 625: the Lund plane";
  info.classes = params.classes;
  const double mass = heaviest(params);
  // A decay product has at most the transverse mass as its pt; the slack covers rounding.
  const double most_pt = 1.001 * std::hypot(params.pt_high, mass);
  const auto log_of = [](double x) { return static_cast<float>(std::log(x)); };
  const double farthest = std::log(most_pt / params.kt_cut);
  constexpr auto kMost = static_cast<float>(lund::kMostPartons);
  constexpr auto kPi = math::kPi;
  info.latents = {
      {"pt", "transverse momentum of the initial particle", "GeV",
       static_cast<float>(params.pt_low), static_cast<float>(params.pt_high)},
      {"eta", "pseudorapidity of the initial particle", "", static_cast<float>(-params.eta_max),
       static_cast<float>(params.eta_max)},
      {"phi", "azimuth of the initial particle", "rad", -kPi, kPi},
      rarely_reached(
          {"log_kt",
           "ln(kt / GeV) of the prongs' hardest emission; ln(kt_cut / GeV) without emissions", "",
           log_of(0.999 * params.kt_cut), log_of(most_pt * params.radius)}),
      rarely_reached({"log_inverse_angle",
                      "ln(1 / theta) of the hardest emission; 0 without emissions", "", 0,
                      static_cast<float>(farthest)}),
      rarely_reached({"log_inverse_z", "ln(1 / z) of the hardest emission; 0 without emissions", "",
                      0, static_cast<float>(farthest)}),
      rarely_reached({"emissions", "number of emissions from the prongs", "", 0, kMost}),
      rarely_reached(
          {"constituents", "constituents of the shower, including those not kept", "", 1, kMost}),
      rarely_reached({"unfinished",
                      "partons that stopped radiating at the maximum of 128 constituents", "", 0,
                      kMost})};
  // An exponential deviate from 24 random bits is below 17.
  const double soft = params.soft > 0 ? 17 * lund::kMostPartons * params.soft_pt : 0;
  const double energy = 1.001 * std::hypot(params.pt_high * std::cosh(params.eta_max), mass) +
                        soft * std::cosh(params.eta_max + params.radius);
  jets::describe_view(params, params.unit, energy, info);
  if (params.output == jets::Output::constituents && params.columns == Columns::lund) {
    info.features.insert(info.features.end(),
                         {{"log_inverse_angle", ""}, {"log_inverse_z", ""}, {"depth", ""}});
    info.high = std::max({info.high, static_cast<float>(farthest), kMost});
  }
  if (params.output == jets::Output::constituents) describe_columns(params, info);
  // Blocks for class, jet, masses and decays; then one block per emission
  // and one to end each parton's emissions.
  info.draws = {.scene = 3 + 2 * std::int64_t{lund::kMostPartons}};
  if (params.w_width > 0 || params.top_width > 0) ++info.draws.scene;
  if (params.soft > 0) info.draws.scene += lund::kMostPartons;
  info.best = best_results(params);
  return info;
}

LundShower::LundShower(const Params& params)
    : quark_density_(static_cast<float>(density(params.alpha_s, lund::kQuarkFactor))),
      gluon_density_(static_cast<float>(density(params.alpha_s, lund::kGluonFactor))),
      pt_low_(static_cast<float>(params.pt_low)),
      pt_range_(static_cast<float>(params.pt_high - params.pt_low)),
      eta_max_(static_cast<float>(params.eta_max)),
      radius_(static_cast<float>(params.radius)),
      log_kt_cut_(static_cast<float>(std::log(params.kt_cut))),
      cone_squared_(static_cast<float>(params.cone * params.cone)),
      soft_(static_cast<float>(params.soft)),
      soft_pt_(static_cast<float>(params.soft_pt)),
      w_line_(line_of(params.w_mass, params.w_width)),
      top_line_(line_of(params.top_mass, params.top_width)),
      per_unit_(static_cast<float>(1 / params.unit)),
      full_(params.cascade == Cascade::full),
      columns_(params.columns),
      output_(params.output),
      picture_(jets::picture_of(params, params.unit)),
      layout_(jets::view_layout(
          params, params.items + (params.columns == Columns::record ? kMostParents : 0),
          width_of(params.columns), kGlobals)) {
  expect_classes(params);
  expect_scales(params);
  for (const std::string& name : params.classes) {
    species_[classes_++] =
        std::ranges::find(kSpecies, name, [](const auto& entry) { return entry.first; })->second;
  }
}

}  // namespace wellspring
