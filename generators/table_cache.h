// Tables that take a long time to compute (categories, densities, calibrations) are made once per
// machine and cached in files. Each file is named after the hash of everything that its bytes
// depend on. Used by generators' host code; host only.
//
// The folder is $WELLSPRING_CACHE, or $XDG_CACHE_HOME/wellspring, or ~/.cache/wellspring. A file is
// written completely or not at all. It contains the SHA-256 of its bytes, and a damaged file is
// recomputed. If nothing can be stored, tables are recomputed every time; this is not an error.
#pragma once

#include "core/io/bytes.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

/// The inputs that determine the bytes of a table.
struct TableKey {
  std::string generator;
  int version = 1;    ///< version of the bytes: the generator's version, unless the bytes change
                      ///< independently
  std::string table;  ///< name of the table
  std::string parameters;  ///< the parameters that the bytes depend on, as text
};

class TableCache {
 public:
  /// Uses the folder given by the environment. Without one, it stores nothing.
  TableCache();
  explicit TableCache(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  /// File for the table of `key`.
  std::filesystem::path file_of(const TableKey& key) const;

  /// The bytes of the table: from the cache, or computed and stored. If `compute` throws, nothing
  /// is stored and the exception propagates.
  std::vector<std::byte> get(const TableKey& key,
                             const std::function<std::vector<std::byte>()>& compute);

  /// Notes to the user, one line each, for example about a damaged file or a read-only folder.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> notes_;
};

}  // namespace wellspring
