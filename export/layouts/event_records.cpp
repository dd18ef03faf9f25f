#include "export/layouts/event_records.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/version.h"
#include "export/array_file.h"
#include "export/layouts/layouts.h"
#include "generators/events/event_record.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

struct Particle {
  int pdg, status, mother1, mother2;  ///< mothers: 1-based particle indices; 0: none
  double x, y, z, e, mass;            ///< GeV
};

/// GeV per momentum unit. All sources must have the columns of records, in the same unit.
double gev_of(const SampleReader& feed) {
  const std::vector<ValueInfo> columns = record::columns("");
  for (const SampleOrigin& origin : feed.origins()) {
    const SampleInfo& info = origin.info;
    const bool fits =
        info.layout.kind == SampleKind::set &&
        std::ranges::equal(info.features, columns, {}, &ValueInfo::name, &ValueInfo::name);
    const auto gev = fits ? layouts::gev_in(info.features.front().unit) : std::nullopt;
    if (!gev || info.features.front().unit != feed.origins().front().info.features.front().unit)
      fail(ErrorKind::config,
           {fmt::format("cannot write the samples of '{}' as events", origin.name),
            "LHE and HepMC files need particles with PDG numbers and mothers, in the same unit",
            "use ee_mumu, rambo or lund_shower with columns=record, or a name that ends in .npz"});
  }
  return *layouts::gev_in(feed.origins().front().info.features.front().unit);
}

std::vector<Particle> particles_of(std::span<const float> x, double gev) {
  std::vector<Particle> all;
  for (; !x.empty(); x = x.subspan(record::kColumns)) {
    const auto whole = [&](int column) {
      return static_cast<int>(std::lround(x[static_cast<std::size_t>(column)]));
    };
    all.push_back({whole(5), whole(6), whole(7), whole(8), x[1] * gev, x[2] * gev, x[3] * gev,
                   x[0] * gev, x[4] * gev});
  }
  return all;
}

/// Everything needed to make the samples again, without characters that XML reserves.
std::string identity_text(const SampleReader& feed) {
  nlohmann::ordered_json identity = feed.identity();
  identity["version"] = kVersion;
  std::string text;
  for (const char c : identity.dump()) {  // they occur only in strings
    const bool reserved = c == '<' || c == '>' || c == '&';
    text += reserved ? fmt::format("\\u{:04x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return text;
}

/// Cross sections of the classes, pb. Empty unless all samples come from one generator that knows
/// them and whose classes are equally likely.
std::vector<double> cross_sections_of(const SampleReader& feed) {
  const SampleInfo* const info = layouts::only_info(feed);
  return info != nullptr ? info->cross_sections : std::vector<double>();
}

/// Number of processes: the classes of all sources.
std::size_t processes_of(const SampleReader& feed) {
  std::size_t most = 1;
  for (const SampleOrigin& origin : feed.origins())
    most = std::max(most, origin.info.classes.size());
  return most;
}

std::string lhe_head(const SampleReader& feed, const std::vector<Particle>& first) {
  std::string text = "<LesHouchesEvents version=\"3.0\">\n<header>\n<wellspring>" +
                     identity_text(feed) + "</wellspring>\n</header>\n<init>\n";
  std::vector<Particle> beams;
  std::ranges::copy_if(first, std::back_inserter(beams),
                       [](const Particle& p) { return p.status == -1; });
  beams.resize(2, {});
  const std::size_t processes = processes_of(feed);
  // IDWTUP = 4: weighted events whose mean weight is the cross section in pb (XSECUP), or 1 if that
  // is not modelled.
  const std::vector<double> known = cross_sections_of(feed);
  text += fmt::format("{} {} {:.9e} {:.9e} 0 0 0 0 4 {}\n", beams[0].pdg, beams[1].pdg, beams[0].e,
                      beams[1].e, processes);
  for (std::size_t i = 0; i < processes; ++i) {
    const double section = known.empty() ? 1 : known[i];
    const double most = known.empty() ? 1 : section * static_cast<double>(known.size());
    text += fmt::format("{:.9e} {:.9e} {:.9e} {}\n", section, 0.0, most, i + 1);
  }
  return text + "</init>\n";
}

/// Colour flow is not recorded (0). SCALUP and couplings are unknown (-1), and so are spins (9).
void add_lhe(std::string& text, const std::vector<Particle>& particles, int process,
             double weight) {
  text += fmt::format("<event>\n{} {} {:.9e} {:.9e} {:.9e} {:.9e}\n", particles.size(), process,
                      weight, -1.0, -1.0, -1.0);
  for (const Particle& p : particles)
    text += fmt::format("{} {} {} {} 0 0 {:.9e} {:.9e} {:.9e} {:.9e} {:.9e} 0 9\n", p.pdg, p.status,
                        p.mother1, p.mother2, p.x, p.y, p.z, p.e, p.mass);
  text += "</event>\n";
}

constexpr const char* kLheEnd = "</LesHouchesEvents>\n";

std::string hepmc_head(const SampleReader& feed) {
  return fmt::format(
      "HepMC::Version 3.02.05\nHepMC::Asciiv3-START_EVENT_LISTING\nW Default\nT wellspring\\|{}\\|"
      "synthetic events\nA wellspring {}\n",
      kVersion, identity_text(feed));
}

/// The header of a HepMC event.
struct HepmcEvent {
  std::uint64_t number;
  int process;
  double weight;
  double cross_section;  ///< sum over all processes, pb; 0: not modelled
};

/// A vertex is a pair of mothers, written before its first daughter.
void add_hepmc(std::string& text, const std::vector<Particle>& particles, const HepmcEvent& event) {
  std::map<std::pair<int, int>, int> vertices;
  std::string lines;
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const Particle& p = particles[i];
    int vertex = 0;
    if (p.mother1 > 0) {
      const auto [entry, is_new] =
          vertices.try_emplace({p.mother1, p.mother2}, -static_cast<int>(vertices.size()) - 1);
      vertex = entry->second;
      const std::string in =
          p.mother2 > 0 ? fmt::format("{},{}", p.mother1, p.mother2) : fmt::format("{}", p.mother1);
      if (is_new) lines += fmt::format("V {} 0 [{}]\n", vertex, in);
    }
    lines += fmt::format("P {} {} {} {:.9e} {:.9e} {:.9e} {:.9e} {:.9e} {}\n", i + 1, vertex, p.pdg,
                         p.x, p.y, p.z, p.e, p.mass, p.status == -1 ? 4 : p.status);
  }
  text += fmt::format("E {} {} {}\nU GEV MM\nW {:.9e}\n", event.number, vertices.size(),
                      particles.size(), event.weight);
  // Cross section, its error, and the numbers of accepted and attempted events (-1: not counted).
  if (event.cross_section > 0)
    text += fmt::format("A 0 GenCrossSection {:.9e} 0 -1 -1\n", event.cross_section);
  text += fmt::format("A 0 signal_process_id {}\n", event.process);
  text += lines;
}

constexpr const char* kHepmcEnd = "HepMC::Asciiv3-END_EVENT_LISTING\n\n";

}  // namespace

bool is_event_record(const std::filesystem::path& path) {
  return has_extension(path, ".lhe") || has_extension(path, ".hepmc") ||
         has_extension(path, ".hepmc3");
}

ExportReport export_event_records(SampleReader& feed, const std::filesystem::path& path,
                                  const std::function<void(std::uint64_t)>& progress) {
  const double gev = gev_of(feed);
  const bool lhe = has_extension(path, ".lhe"), numbered = feed.origins().size() == 1;
  const std::vector<double> sections = cross_sections_of(feed);
  const double all_sections = std::accumulate(sections.begin(), sections.end(), 0.0);
  AtomicFile file(path);
  std::uint64_t done = 0;
  std::string text;
  const auto put = [&] {
    file.write(std::as_bytes(std::span(text)));
    text.clear();
  };
  feed.make([&](const HostSamples& samples) {
    const auto width = static_cast<std::size_t>(samples.rows.layout.elements());
    const bool weighted = !samples.weight().empty();
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto count = static_cast<std::size_t>(samples.items()[row]);
      const std::vector<Particle> particles =
          particles_of(samples.x().subspan(row * width, count * record::kColumns), gev);
      if (done + row == 0) text += lhe ? lhe_head(feed, particles) : hepmc_head(feed);
      const int process = samples.label()[row] + 1;
      double weight = weighted ? double{samples.weight()[row]} : 1.0;
      if (!sections.empty())
        weight *=
            sections[static_cast<std::size_t>(process - 1)] * static_cast<double>(sections.size());
      // HepMC's event numbers have 31 bits. In a mixture, ids of different sources would repeat.
      const std::uint64_t number = numbered ? samples.slots[row].sample & 0x7fffffff : done + row;
      if (lhe) {
        add_lhe(text, particles, process, weight);
      } else {
        add_hepmc(text, particles, {number, process, weight, all_sections});
      }
    }
    done += static_cast<std::uint64_t>(samples.count());
    put();
    if (progress) progress(done);
  });
  if (done == 0) text += lhe ? lhe_head(feed, {}) : hepmc_head(feed);
  text += lhe ? kLheEnd : kHepmcEnd;
  put();
  file.commit();
  return {{"events"}, feed.overflow()};
}

}  // namespace wellspring
