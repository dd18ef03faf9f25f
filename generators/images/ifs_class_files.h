// Files of systems for generator `ifs`, one class per file. For `ifs`; host only.
//
// The format of FractalDB's csv files: a row per map with a, b, c, d, e, f and its probability p,
// separated by commas. Without p, probabilities are proportional to |ad - bc|. Empty lines and lines
// that begin with # are skipped. A row may be repeated: its map is chosen that much more often.
#pragma once

#include "generators/images/ifs_system.h"

#include <string>
#include <vector>

namespace wellspring::ifs {

struct ClassFiles {
  std::vector<std::string> names;  ///< file names without folder and extension
  std::vector<System> systems;
  std::string hash;  ///< SHA-256 of names and systems
};

/// Reads files in the given order. A single folder means its .csv files, sorted by name. Throws
/// config errors for equal names, and data errors with file, line and column.
ClassFiles read_class_files(const std::vector<std::string>& paths);

}  // namespace wellspring::ifs
