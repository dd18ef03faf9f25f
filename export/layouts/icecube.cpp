// Layout `icecube`: pulses in a neutrino telescope.
#include "core/io/bytes.h"
#include "export/layouts/layouts.h"
#include "generators/events/telescope.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace wellspring::layouts {
namespace {

constexpr const char* kIceCube = "icecube";

/// "IceCube - Neutrinos in Deep Ice" (Kaggle, 2023): the pulses of all events are concatenated,
/// sorted by time (whole ns) within each event. Each event has the indices of its first and last
/// pulse (inclusive) and the true direction. The published tables of pulses and events are arrays
/// here; sensor_geometry, in m, has one row per sensor.
class IceCubeArrays final : public ValueArrays {
 public:
  explicit IceCubeArrays(const SampleReader& feed) : layout_(feed.layout()), rows_(rows_of(feed)) {
    const SampleInfo* const info = only_info(feed);
    if (info == nullptr || layout_.kind != SampleKind::set || info->name != "nu_telescope")
      refuse(kIceCube,
             "it needs telescope pulses, that is, sets from a single nu_telescope source");
    for (const auto& [feature, unit] :
         {std::pair("time", "ns"), {"sensor_id", ""}, {"charge", "p.e."}, {"auxiliary", ""}}) {
      const auto place = place_of(feature, info->features);
      if (!place)
        refuse(kIceCube,
               fmt::format("its pulses have a '{}'; generate with output=truth", feature));
      if (info->features[*place].unit != unit)
        refuse(kIceCube, fmt::format("'{}' is in {}; generate with time_unit=1", feature,
                                     info->features[*place].unit));
      features_.push_back(*place);
    }
    azimuth_ = place_of("azimuth", info->latents).value();
    zenith_ = place_of("zenith", info->latents).value();
    const nlohmann::ordered_json parameters = parameters_of(feed);
    if (parameters.is_null())
      refuse(kIceCube, "it needs the positions of the modules, which only the generator knows");
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

  /// Adds the pulses of an event, sorted stably by time.
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

}  // namespace

ExportLayout icecube() {
  return {kIceCube,
          "time, sensor_id, charge, auxiliary, and the first and last pulse of each event",
          &make_arrays<IceCubeArrays>,
          {"nu_telescope"},
          [](const SampleInfo& info) { return place_of("sensor_id", info.features).has_value(); }};
}

}  // namespace wellspring::layouts
