// Sets of items in the arrays of a file: one set after another, or a fixed number of places a set
// and a mask. Used by the formats of array files; host only.
#pragma once

#include "sources/files/array_input.h"

#include <cstdint>
#include <memory>
#include <string>

namespace wellspring {

class StoredSets {
 public:
  virtual ~StoredSets() = default;
  virtual std::int64_t rows() const = 0;
  /// Of an item.
  virtual int features() const = 0;
  /// No set has more items.
  virtual std::int64_t most_items() const = 0;
  /// Writes the first items of a set, `room` at most, to `out` [room, features], and returns how
  /// many it has. Errors (data).
  virtual std::int64_t read(std::int64_t row, std::int64_t room, float* out) const = 0;
};

/// Items [all, features], those of set k from offsets[k] to offsets[k + 1] - 1: as export writes
/// columns. Errors (data) for shapes, and offsets that do not rise from 0 to the number of items.
std::unique_ptr<StoredSets> open_ragged_sets(const ArrayInput& file, const std::string& items,
                                             const std::string& offsets);
/// Places [sets, places, features + 1], the last of which is 1 where there is an item and 0 where
/// there is none: particle_features of JetNet (Kansal et al. 2021). Error (data) for another shape;
/// a mask of another value is told when its row is read.
std::unique_ptr<StoredSets> open_masked_sets(const ArrayInput& file, const std::string& places);

}  // namespace wellspring
