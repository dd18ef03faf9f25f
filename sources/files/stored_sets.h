// Sets of items in the arrays of a file: stored consecutively with offsets, padded with a mask, or
// as pulses of a telescope's events. Used by the formats of array files; host only.
#pragma once

#include "generators/sample_info.h"
#include "sources/files/array_input.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

class StoredSets {
 public:
  virtual ~StoredSets() = default;
  virtual std::int64_t rows() const = 0;
  /// Number of features per item.
  virtual int features() const = 0;
  /// Names and units of the features; empty if the file does not name them.
  virtual std::vector<ValueInfo> names() const = 0;
  /// Upper limit on the number of items per set.
  virtual std::int64_t most_items() const = 0;
  /// Writes the first items of a set, at most `room`, to `out` [room, features]; returns the set's
  /// full number of items. Errors (data).
  virtual std::int64_t read(std::int64_t row, std::int64_t room, float* out) const = 0;
  virtual std::int64_t read(std::int64_t row, std::int64_t room, double* out) const = 0;
};

/// Items [all, features]; set k has items offsets[k] to offsets[k + 1] - 1, as in an export with
/// layout columns. Errors (data): wrong shapes; offsets that do not rise from 0 to the item count.
std::unique_ptr<StoredSets> open_ragged_sets(const ArrayInput& file, const std::string& items,
                                             const std::string& offsets);
/// Padded sets [sets, places, features + 1] with a mask as the last feature, 1 for an item, 0 for
/// an empty place: particle_features of JetNet (Kansal et al. 2021). Error (data) for any other
/// shape; other mask values are reported when their row is read.
std::unique_ptr<StoredSets> open_masked_sets(const ArrayInput& file, const std::string& places);

/// Units of the items in a file of pulses.
struct PulseUnits {
  double length = 1;  ///< m
  double time = 1;    ///< ns
};
/// Pulses as in "IceCube - Neutrinos in Deep Ice" (Kaggle, 2023): time, sensor_id, charge,
/// auxiliary [pulses]; first_pulse_index and last_pulse_index [events], both inclusive (without
/// pulses, last is first - 1); sensor_geometry [sensors, 3], m. Items are x, y, z of the sensor,
/// then time, charge and auxiliary. Errors (data): missing arrays, wrong shapes, events that
/// overlap or exceed the pulses; in read(): unknown sensors, auxiliary other than 0 or 1.
std::unique_ptr<StoredSets> open_pulses(const ArrayInput& file, const PulseUnits& units);

}  // namespace wellspring
