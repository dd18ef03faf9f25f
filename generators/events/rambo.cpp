// Generator `rambo`: parameter table, description and validation. Host only.
#include "generators/events/rambo.h"

#include "core/error.h"
#include "core/text/text.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace wellspring {
namespace {

bool any_mass(const Rambo::Params& params) {
  const auto end = params.masses.begin() +
                   std::min<std::ptrdiff_t>(params.bodies_high,
                                            static_cast<std::ptrdiff_t>(params.masses.size()));
  return std::any_of(params.masses.begin(), end, [](double mass) { return mass > 0; });
}

}  // namespace

const ParamTable<Rambo::Params>& Rambo::table() {
  constexpr auto kRecords = [](const Params& p) { return p.columns == Columns::record; };
  static const auto rows =
      ParamTable<Params>("rambo")
          .integer("bodies_low", &Params::bodies_low, {2, kMostBodies}, "",
                   "lowest number of bodies; each number is an equally likely class")
          .integer("bodies_high", &Params::bodies_high, {2, kMostBodies}, "",
                   "highest number of bodies")
          .real("energy_low", &Params::energy_low, {1e-3, 1e6}, "GeV",
                "lowest centre-of-mass energy")
          .real("energy_high", &Params::energy_high, {1e-3, 1e6}, "GeV",
                "highest centre-of-mass energy; uniform between the two")
          .real_list("masses", &Params::masses, {0, 1e6}, "GeV",
                     "masses of the first bodies; bodies beyond the list are massless")
          .text_list("decays", &Params::decays,
                     "decays, written as mother's mass -> masses of two or three products in "
                     "GeV: 172.5 -> 80.377 + 4.78; applies to bodies and products; each is "
                     "uniform in its phase space")
          .choice("weights", &Params::weights,
                  {{"keep", Weights::keep}, {"unweight", Weights::unweight}},
                  "for massive bodies. keep: events are weighted, and the mean weight is the "
                  "ratio of the massive to the massless phase-space volume; unweight: rejection, "
                  "all weights are 1; all masses 0: weights are 1 either way")
          .only_where([](const Params& p) { return !p.masses.empty(); }, "masses")
          .real("unit", &Params::unit, {1e-6, 1e6}, "GeV", "unit of x")
          .choice("columns", &Params::columns,
                  {{"momenta", Columns::momenta}, {"record", Columns::record}},
                  std::string("momenta: of the final particles; ") + record::kHelp)
          .integer_list("ids", &Params::ids, {-record::kLargestId, record::kLargestId}, "",
                        "PDG numbers of the bodies")
          .only_where(kRecords, "columns: record")
          .text_list("decay_ids", &Params::decay_ids,
                     "PDG numbers of the products of each decay, written as 5 + 24; a mother with "
                     "a negative number decays to the antiparticles")
          .only_where(kRecords, "columns: record")
          .integer_list("beam_ids", &Params::beam_ids, {-record::kLargestId, record::kLargestId},
                        "", "PDG numbers of two massless beams along z, or of one particle at rest")
          .only_where(kRecords, "columns: record")
          .preset("top_pair",
                  {{"bodies_low", "2"},
                   {"bodies_high", "2"},
                   {"masses", "[172.5, 172.5]"},
                   {"energy_low", "500"},
                   {"energy_high", "500"},
                   {"ids", "[6, -6]"}},
                  "two top quarks at 500 GeV; 172.5 GeV is the usual top mass of LHC simulations")
          .preset("top_pair_decays",
                  {{"bodies_low", "2"},
                   {"bodies_high", "2"},
                   {"masses", "[172.5, 172.5]"},
                   {"energy_low", "500"},
                   {"energy_high", "500"},
                   {"decays", "[172.5 -> 4.78 + 80.377, 80.377 -> 0 + 0]"},
                   {"ids", "[6, -6]"},
                   {"decay_ids", "[5 + 24, 2 + -1]"}},
                  "two top quarks at 500 GeV, each decaying to b W and then b q q'; b and W: "
                  "Particle Data "
                  "Group 2022; 172.5 GeV is the usual top mass of LHC simulations")
          .preset("tau_pair",
                  {{"bodies_low", "2"},
                   {"bodies_high", "2"},
                   {"masses", "[1.77686, 1.77686]"},
                   {"energy_low", "91.1876"},
                   {"energy_high", "91.1876"},
                   {"decays", "[1.77686 -> 0.105658 + 0 + 0]"},
                   {"ids", "[15, -15]"},
                   {"decay_ids", "[13 + -14 + 16]"}},
                  "two taus at the Z mass, each decaying to a muon and two neutrinos; masses: "
                  "Particle Data Group")
          .preset("d_to_k_pi_pi",
                  {{"bodies_low", "3"},
                   {"bodies_high", "3"},
                   {"masses", "[0.493677, 0.13957, 0.13957]"},
                   {"energy_low", "1.86966"},
                   {"energy_high", "1.86966"},
                   {"weights", "unweight"},
                   {"ids", "[-321, 211, 211]"},
                   {"beam_ids", "[411]"}},
                  "D+ to K- pi+ pi+, uniform in the Dalitz plot; masses: Particle Data Group");
  return rows;
}

SampleInfo Rambo::describe(const Params& params) {
  SampleInfo info;
  info.name = "rambo";
  info.summary = "n bodies uniform in phase space, massless or massive; class: n";
  info.reference = "Kleiss, Stirling, Ellis, Comput. Phys. Commun. 40 (1986) 359";
  for (int n = params.bodies_low; n <= params.bodies_high; ++n)
    info.classes.push_back(std::to_string(n) + " bodies");
  const std::string unit = params.unit == 1 ? "GeV" : shortest(params.unit) + " GeV";
  const bool record = params.columns == Columns::record;
  info.features = record::columns(unit);
  if (!record) info.features.resize(4);
  info.latents = {
      {"energy", "centre-of-mass energy", "GeV", static_cast<float>(params.energy_low),
       static_cast<float>(params.energy_high)},
      {"bodies", "number of bodies", "", static_cast<float>(params.bodies_low),
       static_cast<float>(params.bodies_high)},
      rarely_reached({"log_weight",
                      "logarithm of the event's weight before rejection, at least -80; 0 if all "
                      "masses are 0",
                      "", any_mass(params) ? kLowestLogWeight : 0, 0}),
  };
  info.high = static_cast<float>(params.energy_high / params.unit);
  if (record) info.high = std::max(info.high, static_cast<float>(record::kLargestId));
  info.low = -info.high;
  const bool rejects = params.weights == Weights::unweight && any_mass(params);
  // Blocks for class and energy, then one per body or one per try, then the decays.
  const DecayChain chain("rambo", params.masses, params.bodies_high, params.decays);
  info.draws = {.scene = 1 + chain.blocks() +
                         std::int64_t{params.bodies_high + (rejects ? 1 : 0)} *
                             (rejects ? kMostTries : 1)};
  return info;
}

Rambo::Rambo(const Params& params)
    : low_(params.bodies_low),
      high_(params.bodies_high),
      energy_low_(static_cast<float>(params.energy_low)),
      energy_high_(static_cast<float>(params.energy_high)),
      per_unit_(1 / params.unit),
      record_(params.columns == Columns::record),
      massive_(any_mass(params)),
      rejects_(massive_ && params.weights == Weights::unweight) {
  table().expect_ordered(params, {"bodies", "energy"});
  if (params.masses.size() > static_cast<std::size_t>(params.bodies_high)) {
    const std::string bodies = std::to_string(params.bodies_high);
    fail(ErrorKind::config,
         {"rambo: masses has " + std::to_string(params.masses.size()) + " values",
          "bodies_high is " + bodies, "give at most " + bodies + " masses"});
  }
  decays_ = DecayChain("rambo", params.masses, high_, params.decays);
  items_ = decays_.finals(high_);
  if (record_) begin_record(params);
  double sum = 0;
  for (std::size_t i = 0; i < params.masses.size(); ++i) {
    mass_[i] = params.masses[i];
    sum += params.masses[i];
  }
  if (sum > kLargestShare * params.energy_low) {
    fail(ErrorKind::config,
         {"rambo: the masses add up to " + shortest(sum) + " GeV, energy_low is " +
              shortest(params.energy_low) + " GeV",
          "at least 1 % of the energy must be left as kinetic energy",
          "raise energy_low to " + shortest(sum / kLargestShare) + " or more, or lower masses"});
  }
}

void Rambo::begin_record(const Params& params) {
  beams_ = static_cast<int>(params.beam_ids.size());
  if (beams_ < 1 || beams_ > 2) {
    fail(ErrorKind::config, {"rambo: beam_ids has " + std::to_string(beams_) + " values",
                             "an event begins with two beams or with one particle at rest",
                             "give one or two PDG numbers"});
  }
  for (int i = 0; i < beams_; ++i) beam_[i] = params.beam_ids[static_cast<std::size_t>(i)];
  decays_.identify("rambo", high_, params.ids, params.decay_ids);
  items_ = beams_ + decays_.particles(high_);
}

}  // namespace wellspring
