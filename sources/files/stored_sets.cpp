#include "sources/files/stored_sets.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "sources/files/array_rows.h"
#include "sources/files/truth_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace wellspring {
namespace {

bool are_features(std::int64_t count) {
  return count > 0 && count <= kMostFeatures;
}

/// Implements both read() overloads with one template, Sets::read_as.
template <class Sets>
class ReadsBoth : public StoredSets {
 public:
  std::int64_t read(std::int64_t row, std::int64_t room, float* out) const final {
    return static_cast<const Sets*>(this)->read_as(row, room, out);
  }
  std::int64_t read(std::int64_t row, std::int64_t room, double* out) const final {
    return static_cast<const Sets*>(this)->read_as(row, room, out);
  }
};

class RaggedSets final : public ReadsBoth<RaggedSets> {
 public:
  RaggedSets(const ArrayInput& file, const std::string& items, const std::string& offsets)
      : items_(file.array(items)) {
    if (items_.shape().size() != 2 || !are_features(items_.shape()[1])) {
      file.refuse(items_,
                  fmt::format("with '{}' in the file, items must be numbers [all items, features]",
                              offsets),
                  "store them that way, or set offsets: to the right array");
    }
    read_offsets(file, file.array(offsets));
  }
  std::int64_t rows() const override { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  int features() const override { return static_cast<int>(items_.shape()[1]); }
  std::vector<ValueInfo> names() const override {
    return named_columns(items_, static_cast<std::size_t>(features()));
  }
  std::int64_t most_items() const override { return most_; }
  template <class T>
  std::int64_t read_as(std::int64_t row, std::int64_t room, T* out) const {
    const std::int64_t begin = offsets_[static_cast<std::size_t>(row)];
    const std::int64_t count = offsets_[static_cast<std::size_t>(row) + 1] - begin;
    if (count > 0) items_.read(begin, std::min(count, room), out);
    return count;
  }

 private:
  void read_offsets(const ArrayInput& file, const NumberArray& array) {
    if (array.shape().size() != 1 || array.rows() < 2 || !array.is_whole())
      file.refuse(array, "offsets must be integers [sets + 1], for at least one set",
                  "store the index of each set's first item, then the total number of items");
    offsets_.resize(static_cast<std::size_t>(array.rows()));
    array.read(0, array.rows(), offsets_.data());
    const std::int64_t all = items_.rows();
    const std::size_t last = offsets_.size() - 1;
    for (std::size_t k = 0; k <= last; ++k) {
      const std::int64_t before = k == 0 ? 0 : offsets_[k - 1];
      const std::int64_t least = k == last ? all : before, most = k == 0 ? 0 : all;
      if (offsets_[k] < least || offsets_[k] > most)
        file.refuse(
            array.name(), fmt::format("has {} at index {}", offsets_[k], k),
            fmt::format("offsets must start with 0, never decrease and end with {}: '{}' has {}",
                        all, items_.name(), counted(all, "item")),
            "the file is damaged or its offsets belong to other items: write it again");
      most_ = std::max(most_, offsets_[k] - before);
    }
  }

  NumberArray items_;
  std::vector<std::int64_t> offsets_;
  std::int64_t most_ = 0;
};

class MaskedSets final : public ReadsBoth<MaskedSets> {
 public:
  MaskedSets(const ArrayInput& file, const std::string& places)
      : file_(file), places_(file.array(places)) {
    const std::vector<std::int64_t>& shape = places_.shape();
    if (shape.size() != 3 || shape[0] == 0 || shape[1] == 0 || shape[2] < 2 ||
        !are_features(shape[1]) || !are_features(shape[2]) || !are_features(shape[1] * shape[2])) {
      file.refuse(
          places_,
          fmt::format("sets must be numbers [sets, slots, features and a mask], up to {} per set",
                      kMostFeatures),
          "store at least one set, with the mask (1 or 0) as the last feature");
    }
  }
  std::int64_t rows() const override { return places_.rows(); }
  int features() const override { return static_cast<int>(places_.shape()[2]) - 1; }
  /// Names of the features except the mask. They are built in: JetNet files do not name columns.
  std::vector<ValueInfo> names() const override {
    std::vector<ValueInfo> names = named_columns(places_, static_cast<std::size_t>(features()) + 1);
    if (!names.empty()) names.pop_back();
    if (names.empty() && features() == 3)
      names = {{"eta_rel", ""}, {"phi_rel", ""}, {"pt_rel", ""}};
    return names;
  }
  std::int64_t most_items() const override { return places_.shape()[1]; }
  template <class T>
  std::int64_t read_as(std::int64_t row, std::int64_t room, T* out) const {
    const auto width = static_cast<std::size_t>(places_.shape()[2]);
    std::vector<T> places(static_cast<std::size_t>(most_items()) * width);
    places_.read(row, 1, places.data());
    std::int64_t count = 0;
    for (std::size_t i = 0; i < places.size(); i += width) {
      const T mask = places[i + width - 1];
      if (mask != 0 && mask != 1)
        file_.refuse(
            places_.name(), fmt::format("has the mask {} at row {}, item {}", mask, row, i / width),
            "the mask must be 1 (item) or 0 (empty)", "correct the mask or remove the row");
      if (mask == 0) continue;
      if (count < room)
        std::copy_n(places.begin() + static_cast<std::ptrdiff_t>(i), width - 1,
                    out + count * features());
      ++count;
    }
    return count;
  }

 private:
  const ArrayInput& file_;
  NumberArray places_;
};

constexpr const char* kTime = "time";
constexpr const char* kSensor = "sensor_id";
constexpr const char* kCharge = "charge";
constexpr const char* kAuxiliary = "auxiliary";
constexpr const char* kFirst = "first_pulse_index";
constexpr const char* kLast = "last_pulse_index";
constexpr const char* kGeometry = "sensor_geometry";

class PulseSets final : public ReadsBoth<PulseSets> {
 public:
  PulseSets(const ArrayInput& file, const PulseUnits& units)
      : file_(file),
        units_(units),
        time_(pulses_of(kTime)),
        sensor_(pulses_of(kSensor)),
        charge_(pulses_of(kCharge)),
        auxiliary_(pulses_of(kAuxiliary)) {
    expect_whole(sensor_);
    expect_whole(auxiliary_);
    read_places(static_cast<float>(1 / units.length));
    read_events();
  }
  std::int64_t rows() const override { return static_cast<std::int64_t>(first_.size()); }
  int features() const override { return kFeatures; }
  std::vector<ValueInfo> names() const override {
    const std::string length = unit(units_.length, "m"), time = unit(units_.time, "ns");
    return {{"x", length},  {"y", length},      {"z", length},
            {"time", time}, {"charge", "p.e."}, {"auxiliary", ""}};
  }
  std::int64_t most_items() const override { return most_; }
  template <class T>
  std::int64_t read_as(std::int64_t row, std::int64_t room, T* out) const {
    const std::int64_t first = first_[static_cast<std::size_t>(row)];
    const std::int64_t all = end_[static_cast<std::size_t>(row)] - first;
    const std::int64_t kept = std::min(all, room);
    if (kept == 0) return all;
    const auto count = static_cast<std::size_t>(kept);
    std::vector<T> time(count), charge(count);
    std::vector<std::int64_t> sensor(count), auxiliary(count);
    time_.read(first, kept, time.data());
    charge_.read(first, kept, charge.data());
    sensor_.read(first, kept, sensor.data());
    auxiliary_.read(first, kept, auxiliary.data());
    const auto sensors = static_cast<std::int64_t>(places_.size() / 3);
    const auto per_time = static_cast<float>(1 / units_.time);
    for (std::size_t i = 0; i < count; ++i) {
      const auto pulse = first + static_cast<std::int64_t>(i);
      if (sensor[i] < 0 || sensor[i] >= sensors)
        file_.refuse(
            kSensor, fmt::format("of pulse {} of event {} is {}", pulse, row, sensor[i]),
            fmt::format("'{}' has {}, numbered from 0", kGeometry, counted(sensors, "sensor")),
            "store the positions of all sensors, or remove the event");
      if (auxiliary[i] != 0 && auxiliary[i] != 1)
        file_.refuse(kAuxiliary,
                     fmt::format("of pulse {} of event {} is {}", pulse, row, auxiliary[i]),
                     "it must be 1 (auxiliary) or 0", "correct it or remove the event");
      const float* const place = &places_[3 * static_cast<std::size_t>(sensor[i])];
      out = std::copy_n(place, 3, out);
      *out++ = time[i] * per_time;
      *out++ = charge[i];
      *out++ = static_cast<T>(auxiliary[i]);
    }
    return all;
  }

 private:
  static constexpr int kFeatures = 6;

  /// Text of a unit: "m", "100 m".
  static std::string unit(double size, const char* name) {
    return size == 1 ? name : fmt::format("{} {}", size, name);
  }

  NumberArray array(const char* name) const {
    if (!file_.has(name)) {
      fail(ErrorKind::data,
           {fmt::format("{}: '{}' is not in the file", file_.path().string(), name),
            fmt::format(
                "the layout icecube needs {}, {}, {} and {} of pulses, {} and {} of events, and {}",
                kTime, kSensor, kCharge, kAuxiliary, kFirst, kLast, kGeometry),
            "store it, or set layout: to the file's layout"});
    }
    return file_.array(name);
  }
  /// An array with one number per pulse; the first one sets the number of pulses.
  NumberArray pulses_of(const char* name) {
    NumberArray found = array(name);
    if (pulses_ < 0) pulses_ = found.rows();
    if (found.shape() != std::vector<std::int64_t>{pulses_})
      file_.refuse(found,
                   fmt::format("it must have one value per pulse of '{}': [{}]", kTime, pulses_),
                   "store each column of one table as an array");
    return found;
  }
  void expect_whole(const NumberArray& numbers) const {
    if (!numbers.is_whole())
      file_.refuse(numbers, "it must hold integers", "convert it: x.astype('int64')");
  }

  void read_places(float per_length) {
    const NumberArray geometry = array(kGeometry);
    if (geometry.shape().size() != 2 || geometry.shape()[1] != 3)
      file_.refuse(geometry, "sensor positions must be [sensors, 3], in m",
                   "store x, y and z in the order of sensor_id");
    places_.resize(static_cast<std::size_t>(geometry.rows()) * 3);
    geometry.read(0, geometry.rows(), places_.data());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!std::isfinite(places_[i]))
        file_.refuse(kGeometry, fmt::format("of sensor {} has {}", i / 3, places_[i]),
                     "a position must be three finite numbers", "correct it");
      places_[i] *= per_length;
    }
  }

  std::vector<std::int64_t> indices(const char* name, std::size_t events) const {
    const NumberArray array_of = array(name);
    expect_whole(array_of);
    const auto rows = static_cast<std::size_t>(array_of.rows());
    if (array_of.shape().size() != 1 || rows == 0 || (events > 0 && rows != events))
      file_.refuse(array_of, "it must have one index per event, for at least one event",
                   fmt::format("store {} and {} for the same events", kFirst, kLast));
    std::vector<std::int64_t> all(rows);
    array_of.read(0, array_of.rows(), all.data());
    return all;
  }

  void read_events() {
    first_ = indices(kFirst, 0);
    end_ = indices(kLast, first_.size());
    std::int64_t before = 0;
    for (std::size_t k = 0; k < first_.size(); ++k) {
      const std::int64_t last = end_[k];
      if (first_[k] < before || last < first_[k] - 1 || last >= pulses_)
        file_.refuse(
            kFirst, fmt::format("and {} of event {} are {} and {}", kLast, k, first_[k], last),
            fmt::format("events must be consecutive within {}; the previous one ends with {}",
                        counted(pulses_, "pulse"), before - 1),
            "store the pulses of each event together, in the order of the events");
      before = end_[k] = last + 1;
      most_ = std::max(most_, before - first_[k]);
    }
  }

  const ArrayInput& file_;
  PulseUnits units_;
  std::int64_t pulses_ = -1;
  NumberArray time_, sensor_, charge_, auxiliary_;
  std::vector<float> places_;              ///< [sensors, 3]
  std::vector<std::int64_t> first_, end_;  ///< pulse range of each event
  std::int64_t most_ = 0;
};

}  // namespace

std::unique_ptr<StoredSets> open_ragged_sets(const ArrayInput& file, const std::string& items,
                                             const std::string& offsets) {
  return std::make_unique<RaggedSets>(file, items, offsets);
}
std::unique_ptr<StoredSets> open_masked_sets(const ArrayInput& file, const std::string& places) {
  return std::make_unique<MaskedSets>(file, places);
}
std::unique_ptr<StoredSets> open_pulses(const ArrayInput& file, const PulseUnits& units) {
  return std::make_unique<PulseSets>(file, units);
}

}  // namespace wellspring
