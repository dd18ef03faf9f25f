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

/// What a table is a function of.
struct TableKey {
  std::string generator;
  int version = 1;         ///< of the table's bytes: the generator's, unless they change apart
  std::string table;       ///< which of the generator's
  std::string parameters;  ///< those that the bytes depend on, as text
};

class TableCache {
 public:
  /// In the folder that the environment names; "" where there is none, and nothing is stored.
  TableCache();
  explicit TableCache(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  /// Where the table of `key` is stored.
  std::filesystem::path file_of(const TableKey& key) const;

  /// The table's bytes: from the cache, or computed and stored. What `compute` throws goes through,
  /// and stores nothing.
  std::vector<std::byte> get(const TableKey& key,
                             const std::function<std::vector<std::byte>()>& compute);

  /// What the user should know, a line each: a damaged file, a folder that cannot be written.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::string> notes_;
};

}  // namespace wellspring
