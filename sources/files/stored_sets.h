// Sets of items in the arrays of a file: one set after another, a fixed number of places a set and
// a mask, or the pulses of a telescope's events. Used by the formats of array files; host only.
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
  /// Of an item.
  virtual int features() const = 0;
  /// The same by name; empty where the file does not say.
  virtual std::vector<ValueInfo> names() const = 0;
  /// No set has more items.
  virtual std::int64_t most_items() const = 0;
  /// Writes the first items of a set, `room` at most, to `out` [room, features], and returns how
  /// many it has. Errors (data).
  virtual std::int64_t read(std::int64_t row, std::int64_t room, float* out) const = 0;
  virtual std::int64_t read(std::int64_t row, std::int64_t room, double* out) const = 0;
};

/// Items [all, features], those of set k from offsets[k] to offsets[k + 1] - 1: as export writes
/// columns. Errors (data) for shapes, and offsets that do not rise from 0 to the number of items.
std::unique_ptr<StoredSets> open_ragged_sets(const ArrayInput& file, const std::string& items,
                                             const std::string& offsets);
/// Places [sets, places, features + 1], the last of which is 1 where there is an item and 0 where
/// there is none: particle_features of JetNet (Kansal et al. 2021). Error (data) for another shape;
/// a mask of another value is told when its row is read.
std::unique_ptr<StoredSets> open_masked_sets(const ArrayInput& file, const std::string& places);

/// What 1 means in the items of pulses.
struct PulseUnits {
  double length = 1;  ///< m
  double time = 1;    ///< ns
};
/// Pulses as "IceCube - Neutrinos in Deep Ice" (Kaggle, 2023) has them, x, y and z of whose sensor
/// stand in front of time, charge and auxiliary: time, sensor_id, charge, auxiliary [pulses];
/// first_pulse_index and last_pulse_index [events], both included (of no pulses the last is the one
/// before the first); sensor_geometry [sensors, 3], m. Errors (data): what is missing, shapes,
/// events that overlap or have pulses that are not there; a sensor that is none and another value
/// of auxiliary than 0 or 1 are told when their row is read.
std::unique_ptr<StoredSets> open_pulses(const ArrayInput& file, const PulseUnits& units);

}  // namespace wellspring
