// Named truth columns of the rows of an array file. Used by the formats of array files; host only.
#pragma once

#include "generators/sample_info.h"
#include "sources/files/array_input.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// Contents of an export's metadata if its samples have a single source; empty for other files.
struct ExportedMeaning {
  std::vector<std::string> classes;
  std::vector<LatentInfo> latents;
  std::vector<ValueInfo> features, globals, targets;
  int most_items = 0;       ///< maximum items per set; 0: unknown
  bool normalised = false;  ///< a run scaled the values before exporting; also for several sources
  bool mixed = false;       ///< data.mix blended the samples; also for several sources
};
/// Error (data): the metadata is a text, but not JSON.
ExportedMeaning read_meaning(const ArrayInput& file);

/// Named numbers per row.
struct TruthColumns {
  std::vector<LatentInfo> columns;
  std::vector<float> values;  ///< [rows, columns]

  void read(std::int64_t row, float* out) const;
  /// Appends the columns of `more`, for the same rows. Error (data), naming `file`: duplicates.
  void append(const TruthColumns& more, const ArrayInput& file);
};

/// Names from attribute `columns`, units from `units`; empty unless the number of names is `width`.
std::vector<ValueInfo> named_columns(const NumberArray& array, std::size_t width);

/// Reads array `name`, [rows] or [rows, columns], of finite numbers. Columns take their names from
/// `known`. If that is empty, names come from the attribute `columns` or the array (one column), or
/// are NAME0, NAME1... (jet_features: JetNet's). Ranges come from the values. `what` names the
/// array with that number of rows. Errors (data): missing, wrong shape, a value not finite in f32.
TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<ValueInfo>& known = {});
/// As above, with known ranges.
TruthColumns read_columns(const ArrayInput& file, const std::string& name, std::int64_t rows,
                          const std::string& what, const std::vector<LatentInfo>& known);

}  // namespace wellspring
