// Tables that take long to make (categories, densities, calibrations) are made once a machine: a
// cache of files, each named by the hash of all that its bytes depend on. Used by generators' host
// code; host only.
//
// The folder is $WELLSPRING_CACHE, or $XDG_CACHE_HOME/wellspring, or ~/.cache/wellspring. A file is
// written whole or not at all and carries the SHA-256 of its bytes: one that is damaged is made
// again. Where nothing can be stored, tables are made again every time, and that is no failure.
#pragma once

#include "core/io/bytes.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

/// Inputs that determine the bytes of a table.
struct TableKey {
  std::string generator;
  int version = 1;         ///< version of the bytes: that of the generator, unless
                           ///< they change separately
  std::string table;       ///< name of the table
  std::string parameters;  ///< the parameters that the bytes depend on, as text
};

class TableCache {
 public:
  /// Uses the folder that the environment names. Without one it stores nothing.
  TableCache();
  explicit TableCache(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  /// File of the table of `key`.
  std::filesystem::path file_of(const TableKey& key) const;

  /// The bytes of the table: from the cache, or computed and stored. An exception of `compute` passes
  /// through, and nothing is stored.
  std::vector<std::byte> get(const TableKey& key,
                             const std::function<std::vector<std::byte>()>& compute);

  /// Notes to the user, one line each: a damaged file, a folder that cannot be written.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> notes_;
};

}  // namespace wellspring
