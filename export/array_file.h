// A file of named arrays, in any format. The arrays are filled in parallel, batch
// by batch. Called by export; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/compression.h"
#include "core/io/npy.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// Column names and units of an array, for formats that store them. Each list is empty, has one
/// text for all columns, or one text per column.
struct ArrayMeaning {
  std::vector<std::string> names, units;
};

class ArrayFile {
 public:
  using Array = std::size_t;
  virtual ~ArrayFile() = default;

  /// Opens an array that append() fills row by row.
  virtual Array open(const std::string& name, const ArraySpec& spec,
                     const ArrayMeaning& meaning = {}) = 0;
  /// The same for an unknown number of rows; ignores the first extent in `spec`. Must be opened
  /// last, except in HDF5 files, where several arrays may grow.
  virtual Array open_growing(const std::string& name, const ArraySpec& spec,
                             const ArrayMeaning& meaning = {}) = 0;
  virtual void append(Array array, Bytes rows) = 0;
  /// Adds the array `metadata`, a scalar text, and publishes the file under its name. Every array
  /// must be full. Returns the names of all arrays, in order.
  virtual std::vector<std::string> finish(const nlohmann::ordered_json& metadata) = 0;
};

/// True if the name ends in `extension`, such as ".npz"; ignores case. is_npz accepts ".npz", and
/// is_hdf5 accepts ".h5" and ".hdf5".
bool has_extension(const std::filesystem::path& path, std::string_view extension);
bool is_npz(const std::filesystem::path& path);
bool is_hdf5(const std::filesystem::path& path);

/// Starts the file, which appears at finish(); without finish(), nothing remains. Throws a
/// config error for an unknown extension, and a runtime error if the file cannot be
/// written. Only HDF5 files can be compressed.
std::unique_ptr<ArrayFile> create_array_file(const std::filesystem::path& path,
                                             const Compression& compression = {});

}  // namespace wellspring
