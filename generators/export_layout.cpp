#include "generators/export_layout.h"

#include "core/error.h"
#include "core/text.h"
#include "core/yaml_json.h"
#include "generators/events/telescope.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace wellspring {
namespace {

/// What every sample of the feed is, where they have one origin.
const SampleInfo* only_info(const SampleFeed& feed) {
  return feed.origins().size() == 1 ? &feed.origins().front().info : nullptr;
}

[[noreturn]] void refuse(const std::string& layout, const std::string& why) {
  fail(ErrorKind::config, {"these samples do not fit into the layout '" + layout + "'", why,
                           "export them with --layout columns"});
}

std::int64_t rows_of(const SampleFeed& feed) {
  return static_cast<std::int64_t>(feed.count());
}

/// Of the generator that makes all samples of the feed; nothing where none does.
nlohmann::ordered_json parameters_of(const SampleFeed& feed) {
  if (feed.origins().size() != 1 || feed.origins().front().parameters.empty()) return nullptr;
  return yaml_to_json(feed.origins().front().parameters);
}

/// Images and events: x as it is.
class PlainArrays final : public ValueArrays {
 public:
  explicit PlainArrays(const SampleFeed& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    if (const SampleInfo* info = only_info(feed)) meaning_ = meaning_of(info->features);
  }
  void open(ArrayFile& file) override {
    const std::vector<std::int64_t> extents =
        layout_.kind == SampleKind::event
            ? std::vector<std::int64_t>{rows_, layout_.features}
            : std::vector<std::int64_t>{rows_, layout_.height, layout_.width, layout_.channels};
    x_ = file.open("x", {ElementType::f32, extents}, meaning_);
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    file.append(x_, bytes_of(samples.x()));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  ArrayMeaning meaning_;
  ArrayFile::Array x_ = 0;
};

/// Sets: the items of all, one set after another, and where each begins.
class RaggedArrays final : public ValueArrays {
 public:
  explicit RaggedArrays(const SampleFeed& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    if (const SampleInfo* info = only_info(feed)) meaning_ = meaning_of(info->features);
  }
  bool grows() const override { return true; }
  void open(ArrayFile& file) override {
    offsets_ = file.open("offsets", {ElementType::i64, {rows_ + 1}});
    file.append(offsets_, std::as_bytes(std::span(&items_, 1)));
    x_ = file.open_growing("x", {ElementType::f32, {0, layout_.features}}, meaning_);
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto features = static_cast<std::size_t>(layout_.features);
    const auto width = static_cast<std::size_t>(layout_.elements());
    std::vector<float> x;
    std::vector<std::int64_t> offsets;
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const auto items = static_cast<std::size_t>(samples.items()[row]);
      const auto values = samples.x().subspan(row * width, items * features);
      x.insert(x.end(), values.begin(), values.end());
      offsets.push_back(items_ += samples.items()[row]);
    }
    file.append(x_, bytes_of(x));
    file.append(offsets_, bytes_of(offsets));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  ArrayMeaning meaning_;
  ArrayFile::Array x_ = 0, offsets_ = 0;
  std::int64_t items_ = 0;  ///< of all sets so far
};

/// MeV in a unit of energy.
std::optional<double> mev_in(const std::string& unit) {
  if (unit == "MeV") return 1.0;
  if (unit == "GeV") return 1000.0;
  return std::nullopt;
}

/// "Fast Calorimeter Simulation Challenge 2022", https://calochallenge.github.io/homepage:
/// incident_energies [N, 1] and showers [N, voxels], both MeV. The first are f64, so that energies
/// in GeV come back as they were; the second f32, products with 1000 rounded.
class CaloChallengeArrays final : public ValueArrays {
 public:
  CaloChallengeArrays(const std::string& name, const SampleFeed& feed)
      : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    if (info == nullptr || layout_.kind != SampleKind::event || info->features.empty())
      refuse(name, "it has showers: events of one source, a feature a voxel");
    for (const ValueInfo& voxel : info->features) {
      if (!mev_in(voxel.unit) || voxel.unit != info->features.front().unit)
        refuse(name, fmt::format("a voxel has an energy in MeV or GeV, and feature '{}' is in '{}'",
                                 voxel.name, voxel.unit));
    }
    if (info->low < 0)
      refuse(name,
             "no energy of a voxel is negative there, and noise makes some; a `threshold` "
             "leaves those out");
    x_mev_ = *mev_in(info->features.front().unit);
    const auto energy = std::ranges::find(info->latents, "energy", &LatentInfo::name);
    if (energy == info->latents.end() || !mev_in(energy->unit))
      refuse(name, "it has incident energies: a latent 'energy' in MeV or GeV");
    column_ = static_cast<std::size_t>(energy - info->latents.begin());
    energy_mev_ = *mev_in(energy->unit);
  }
  void open(ArrayFile& file) override {
    energies_ = file.open("incident_energies", {ElementType::f64, {rows_, 1}}, {{}, {"MeV"}});
    showers_ = file.open("showers", {ElementType::f32, {rows_, layout_.features}}, {{}, {"MeV"}});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto width = static_cast<std::size_t>(samples.rows.layout.latents);
    std::vector<double> energies;
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row)
      energies.push_back(double{samples.latents()[row * width + column_]} * energy_mev_);
    file.append(energies_, bytes_of(energies));
    if (x_mev_ == 1) return file.append(showers_, bytes_of(samples.x()));
    std::vector<float> showers(samples.x().begin(), samples.x().end());
    for (float& energy : showers) energy = static_cast<float>(double{energy} * x_mev_);
    file.append(showers_, bytes_of(showers));
  }

 private:
  SampleLayout layout_;
  std::int64_t rows_;
  double x_mev_ = 1, energy_mev_ = 1;
  std::size_t column_ = 0;  ///< of the incident energy among the latents
  ArrayFile::Array energies_ = 0, showers_ = 0;
};

/// GeV in "GeV", "MeV" or "5 GeV".
std::optional<double> gev_in(const std::string& unit) {
  if (const auto mev = mev_in(unit)) return *mev / 1000;
  char* end = nullptr;
  const double number = std::strtod(unit.c_str(), &end);
  if (number > 0 && std::string_view(end) == " GeV") return number;
  return std::nullopt;
}

struct Momentum {
  double e, x, y, z;
  double transverse() const { return std::hypot(x, y); }
  /// Large but finite along the beam.
  double eta() const { return std::asinh(z / std::max(transverse(), 1e-30)); }
  double phi() const { return std::atan2(y, x); }
  double mass() const { return std::sqrt(std::max(0.0, e * e - x * x - y * y - z * z)); }
};

/// R. Kansal et al., Particle Cloud Generation with Message Passing Generative Adversarial Networks
/// (2021), and its package `jetnet`: particle_features [N, items, 4], eta and phi relative to the
/// jet's, pT divided by the jet's, mask 1 or 0, by falling pT; jet_features [N, 4], pT (GeV), eta,
/// mass (GeV), number of particles. Worked out in f64.
class JetNetArrays final : public ValueArrays {
 public:
  JetNetArrays(const std::string& name, const SampleFeed& feed)
      : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    const auto are = [](const std::vector<ValueInfo>& columns, std::vector<std::string> names) {
      return std::ranges::equal(columns, names, {}, &ValueInfo::name);
    };
    if (info == nullptr || layout_.kind != SampleKind::set ||
        !are(info->features, {"E", "px", "py", "pz"}) ||
        !are(info->globals, {"jet_E", "jet_px", "jet_py", "jet_pz"})) {
      refuse(name,
             "it has jets: sets of one source with items E, px, py, pz and the momentum of "
             "the jet beside them");
    }
    const auto gev = gev_in(info->globals.front().unit);
    if (!gev) refuse(name, "momenta are in '" + info->globals.front().unit + "', not in GeV");
    gev_ = *gev;
    const nlohmann::ordered_json parameters = parameters_of(feed);
    if (!parameters.is_null() && parameters.value("frame", "lab") != "lab")
      refuse(name,
             "particles are seen from the jet's frame, and the layout has them beside the jet");
  }
  void open(ArrayFile& file) override {
    particles_ = file.open("particle_features", {ElementType::f32, {rows_, layout_.items, 4}},
                           {{"eta_rel", "phi_rel", "pt_rel", "mask"}, {}});
    jets_ = file.open("jet_features", {ElementType::f32, {rows_, 4}},
                      {{"pt", "eta", "mass", "num_particles"}, {"GeV", "1", "GeV", "1"}});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    std::vector<float> particles, jets;
    const auto width = static_cast<std::size_t>(layout_.elements());
    for (std::size_t row = 0; row < static_cast<std::size_t>(samples.count()); ++row) {
      const auto count = static_cast<std::size_t>(samples.items()[row]);
      const Momentum jet = momentum(samples.globals().subspan(row * 4, 4));
      if (!(jet.transverse() > 0)) {
        fail(ErrorKind::runtime, {fmt::format("sample {}: a jet without transverse momentum",
                                              samples.slots[row].sample),
                                  "particles are stored relative to it",
                                  "raise momentum_low, or export with --layout columns"});
      }
      const std::size_t begin = particles.size();
      append_particles(samples.x().subspan(row * width, count * 4), jet, particles);
      particles.resize(begin + width, 0.0f);
      for (const double value :
           {jet.transverse() * gev_, jet.eta(), jet.mass() * gev_, static_cast<double>(count)})
        jets.push_back(static_cast<float>(value));
    }
    file.append(particles_, bytes_of(particles));
    file.append(jets_, bytes_of(jets));
  }

 private:
  static Momentum momentum(std::span<const float> values) {
    return {values[0], values[1], values[2], values[3]};
  }

  static void append_particles(std::span<const float> items, const Momentum& jet,
                               std::vector<float>& out) {
    std::vector<Momentum> parts;
    for (std::size_t i = 0; i < items.size(); i += 4)
      parts.push_back(momentum(items.subspan(i, 4)));
    std::ranges::stable_sort(parts, std::ranges::greater(), &Momentum::transverse);
    for (const Momentum& part : parts) {
      const double phi = std::remainder(part.phi() - jet.phi(), 2 * std::acos(-1.0));
      for (const double value :
           {part.eta() - jet.eta(), phi, part.transverse() / jet.transverse(), 1.0})
        out.push_back(static_cast<float>(value));
    }
  }

  SampleLayout layout_;
  std::int64_t rows_;
  double gev_ = 1;
  ArrayFile::Array particles_ = 0, jets_ = 0;
};

/// The place of a column, of features or latents.
template <class Info>
std::optional<std::size_t> place_of(const std::string& name, const std::vector<Info>& columns) {
  const auto found = std::ranges::find(columns, name, &Info::name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

/// "IceCube - Neutrinos in Deep Ice" (Kaggle, 2023): pulses of all events one after another, those
/// of an event by rising time (whole ns), and beside them first and last pulse of each event, both
/// included, and where it came from. The tables of a batch and of its events are arrays here;
/// sensor_geometry, m, has a row a sensor.
class IceCubeArrays final : public ValueArrays {
 public:
  IceCubeArrays(const std::string& name, const SampleFeed& feed)
      : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    if (info == nullptr || layout_.kind != SampleKind::set || info->name != "nu_telescope")
      refuse(name, "it has pulses of a telescope: sets of one source of nu_telescope");
    for (const auto& [feature, unit] :
         {std::pair("time", "ns"), {"sensor_id", ""}, {"charge", "p.e."}, {"auxiliary", ""}}) {
      const auto place = place_of(feature, info->features);
      if (!place)
        refuse(name, fmt::format("a pulse has a '{}' there: make them with output=truth", feature));
      if (info->features[*place].unit != unit)
        refuse(name, fmt::format("'{}' is in {}: make them with time_unit=1", feature,
                                 info->features[*place].unit));
      features_.push_back(*place);
    }
    azimuth_ = place_of("azimuth", info->latents).value();
    zenith_ = place_of("zenith", info->latents).value();
    const nlohmann::ordered_json parameters = parameters_of(feed);
    if (parameters.is_null())
      refuse(name, "it has the places of the modules, which the generator alone tells");
    array_ = telescope::triangular_array(parameters.at("strings").get<int>(),
                                         parameters.at("modules").get<int>(),
                                         parameters.at("string_spacing").get<double>(),
                                         parameters.at("module_spacing").get<double>());
  }
  bool grows() const override { return true; }
  void open(ArrayFile& file) override {
    event_ = file.open("event_id", {ElementType::i64, {rows_}});
    first_ = file.open("first_pulse_index", {ElementType::i64, {rows_}});
    last_ = file.open("last_pulse_index", {ElementType::i64, {rows_}});
    angles_[0] = file.open("azimuth", {ElementType::f32, {rows_}}, {{}, {"rad"}});
    angles_[1] = file.open("zenith", {ElementType::f32, {rows_}}, {{}, {"rad"}});
    write_geometry(file);
    pulses_[0] = file.open_growing("time", {ElementType::i64, {0}}, {{}, {"ns"}});
    pulses_[1] = file.open_growing("sensor_id", {ElementType::i32, {0}});
    pulses_[2] = file.open_growing("charge", {ElementType::f32, {0}}, {{}, {"p.e."}});
    pulses_[3] = file.open_growing("auxiliary", {ElementType::u8, {0}});
  }
  void append(ArrayFile& file, const HostSamples& samples) override {
    const auto width = static_cast<std::size_t>(layout_.elements());
    const auto latents = static_cast<std::size_t>(samples.rows.layout.latents);
    Pulses pulses;
    std::vector<std::int64_t> event, first, last;
    std::vector<float> azimuth, zenith;
    for (std::size_t row = 0; row < samples.items().size(); ++row) {
      const std::int64_t count = samples.items()[row];
      add(samples.x().subspan(row * width, width), static_cast<std::size_t>(count), pulses);
      event.push_back(static_cast<std::int64_t>(samples.slots[row].sample));
      first.push_back(written_);
      last.push_back((written_ += count) - 1);
      azimuth.push_back(samples.latents()[row * latents + azimuth_]);
      zenith.push_back(samples.latents()[row * latents + zenith_]);
    }
    file.append(event_, bytes_of(event));
    file.append(first_, bytes_of(first));
    file.append(last_, bytes_of(last));
    file.append(angles_[0], bytes_of(azimuth));
    file.append(angles_[1], bytes_of(zenith));
    file.append(pulses_[0], bytes_of(pulses.time));
    file.append(pulses_[1], bytes_of(pulses.sensor));
    file.append(pulses_[2], bytes_of(pulses.charge));
    file.append(pulses_[3], bytes_of(pulses.auxiliary));
  }

 private:
  struct Pulses {
    std::vector<std::int64_t> time;
    std::vector<std::int32_t> sensor;
    std::vector<float> charge;
    std::vector<std::uint8_t> auxiliary;
  };

  /// Those of an event, by time; of equal times as they are.
  void add(std::span<const float> items, std::size_t count, Pulses& to) const {
    const auto value = [&](std::size_t i, std::size_t column) {
      return items[i * static_cast<std::size_t>(layout_.features) + features_[column]];
    };
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return value(i, 0); });
    for (const std::size_t i : order) {
      to.time.push_back(std::llround(value(i, 0)));
      to.sensor.push_back(static_cast<std::int32_t>(value(i, 1)));
      to.charge.push_back(value(i, 2));
      to.auxiliary.push_back(value(i, 3) != 0 ? 1 : 0);
    }
  }

  void write_geometry(ArrayFile& file) const {
    std::vector<float> places;
    for (int i = 0; i < array_.strings * array_.modules; ++i) {
      const telescope::Vector at = array_.place(i / array_.modules, i % array_.modules);
      places.insert(places.end(), {at.x, at.y, at.z});
    }
    const std::int64_t sensors = array_.strings * array_.modules;
    file.append(
        file.open("sensor_geometry", {ElementType::f32, {sensors, 3}}, {{"x", "y", "z"}, {"m"}}),
        bytes_of(places));
  }

  SampleLayout layout_;
  std::int64_t rows_;
  telescope::Array array_;
  std::vector<std::size_t> features_;  ///< time, sensor, charge, auxiliary
  std::size_t azimuth_ = 0, zenith_ = 0;
  std::int64_t written_ = 0;
  ArrayFile::Array event_ = 0, first_ = 0, last_ = 0, angles_[2] = {}, pulses_[4] = {};
};

template <class Info>
ArrayMeaning meaning_of_list(const std::vector<Info>& columns) {
  ArrayMeaning meaning;
  for (const Info& column : columns) {
    meaning.names.push_back(column.name);
    meaning.units.push_back(column.unit.empty() ? "1" : column.unit);
  }
  if (!meaning.units.empty() && std::ranges::count(meaning.units, meaning.units.front()) ==
                                    static_cast<std::ptrdiff_t>(meaning.units.size()))
    meaning.units.resize(1);
  return meaning;
}

}  // namespace

ArrayMeaning meaning_of(const std::vector<ValueInfo>& columns) {
  return meaning_of_list(columns);
}
ArrayMeaning meaning_of(const std::vector<LatentInfo>& columns) {
  return meaning_of_list(columns);
}

const std::vector<ExportLayout>& export_layouts() {
  static const std::vector<ExportLayout> layouts = {
      {"columns", "x (and offsets, of sets)"},
      {"calochallenge",
       "incident_energies and showers, MeV",
       {"calo_gflash"},
       [](const SampleInfo& info) {
         return info.layout.kind == SampleKind::event && info.low >= 0;
       }},
      {"jetnet",
       "particle_features and jet_features",
       {"ginkgo", "lund_shower"},
       [](const SampleInfo& info) {
         return info.layout.kind == SampleKind::set &&
                !place_of("log_inverse_angle", info.features).has_value();
       }},
      {"icecube",
       "time, sensor_id, charge, auxiliary and where each event's begin and end",
       {"nu_telescope"},
       [](const SampleInfo& info) { return place_of("sensor_id", info.features).has_value(); }}};
  return layouts;
}

const ExportLayout& find_export_layout(const std::string& name, const SampleFeed& feed,
                                       const std::filesystem::path& path) {
  const std::vector<ExportLayout>& layouts = export_layouts();
  const ExportLayout& columns = layouts.front();
  if (name.empty()) {
    if (!is_hdf5(path) || parameters_of(feed).is_null()) return columns;
    const SampleInfo& info = feed.origins().front().info;
    const auto own = std::ranges::find_if(layouts, [&](const ExportLayout& layout) {
      return std::ranges::count(layout.generators, info.name) > 0 && layout.fits(info);
    });
    return own == layouts.end() ? columns : *own;
  }
  const auto found = std::ranges::find(layouts, name, &ExportLayout::name);
  if (found == layouts.end()) {
    std::vector<std::string> names;
    for (const ExportLayout& layout : layouts) names.push_back(layout.name);
    fail(ErrorKind::config,
         {fmt::format("unknown layout '{}'", name), "", name_advice(name, names)});
  }
  if (!found->generators.empty() && !is_hdf5(path)) {
    fail(ErrorKind::config, {fmt::format("the layout '{}' is one of HDF5 files", name),
                             fmt::format("'{}' is none", path.string()),
                             "give a name that ends in .h5 or .hdf5, or leave --layout out"});
  }
  return *found;
}

std::unique_ptr<ValueArrays> make_value_arrays(const ExportLayout& layout, const SampleFeed& feed) {
  if (layout.name == "calochallenge")
    return std::make_unique<CaloChallengeArrays>(layout.name, feed);
  if (layout.name == "icecube") return std::make_unique<IceCubeArrays>(layout.name, feed);
  if (layout.name == "jetnet") return std::make_unique<JetNetArrays>(layout.name, feed);
  if (feed.layout().kind == SampleKind::set) return std::make_unique<RaggedArrays>(feed);
  return std::make_unique<PlainArrays>(feed);
}

}  // namespace wellspring
