// Truth that lies beside the rows of an array file: numbers by name, with ranges and units. Used by
// the formats of array files; host only.
#pragma once

#include "generators/sample_info.h"
#include "sources/files/array_input.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// What the metadata of an export say of its samples, where those have one origin; nothing of a
/// file that no export wrote.
struct ExportedMeaning {
  std::vector<std::string> classes;
  std::vector<LatentInfo> latents;
  std::vector<ValueInfo> features, globals, targets;
  int most_items = 0;  ///< room of a set; 0: not said
};
/// Error (data): metadata that are no JSON.
ExportedMeaning read_meaning(const ArrayInput& file);

/// Numbers of each row.
struct TruthColumns {
  std::vector<LatentInfo> columns;
  std::vector<float> values;  ///< [rows, columns]

  void read(std::int64_t row, float* out) const;
  /// Puts the columns of `more`, which have as many rows, behind these. `file`: for the error
  /// (data) about two of one name.
  void append(const TruthColumns& more, const ArrayInput& file);
};

/// The names that the attribute `columns` of an array gives its `width` columns, with those of
/// `units`; empty where there are not as many.
std::vector<ValueInfo> named_columns(const NumberArray& array, std::size_t width);

/// The array `name`, [rows] or [rows, columns], of finite numbers. Columns are called as `known`
/// has them; where it is empty they have the array's own name, those of its attribute `columns`, or
/// NAME0, NAME1... (jet_features those of JetNet), and the range of their values. `what`: what has
/// as many rows. Errors (data): not there, another shape, a number that is none, or too large.
TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<ValueInfo>& known = {});
/// The same of columns whose ranges are known.
TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<LatentInfo>& known);

}  // namespace wellspring
