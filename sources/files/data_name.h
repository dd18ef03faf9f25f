// The meaning of file, folder and array names. Used by the formats of array files and by surveys of
// files; host only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

/// The words in the name of a file, folder or array, in lower case, grouped by their meaning.
struct DataName {
  enum class Part : std::uint8_t { whole, train, held_out };
  enum class Role : std::uint8_t { unknown, rows, labels };
  Part part = Part::whole;
  Role role = Role::unknown;
  std::string rest;  ///< the other words

  static DataName of(std::string_view name);
  /// True for names that differ only in the part: "x_train", "x_test".
  bool same_data(const DataName& other) const { return role == other.role && rest == other.rest; }
};

}  // namespace wellspring
