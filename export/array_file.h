// A file of named arrays that are filled side by side, a batch at a time: what an export writes to,
// whatever its format. Called by export; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/npy.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// What the numbers of an array are, where a format has a place for it. Each is empty, one text for
/// all columns, or one a column.
struct ArrayMeaning {
  std::vector<std::string> names, units;
};

class ArrayFile {
 public:
  using Array = std::size_t;
  virtual ~ArrayFile() = default;

  /// An array that append() fills, row after row of its first extent.
  virtual Array open(const std::string& name, const ArraySpec& spec,
                     const ArrayMeaning& meaning = {}) = 0;
  /// The same of one whose first extent is how many rows came; the one in `spec` is not read. No
  /// other array is opened after it, but in HDF5 files, where several may grow.
  virtual Array open_growing(const std::string& name, const ArraySpec& spec,
                             const ArrayMeaning& meaning = {}) = 0;
  virtual void append(Array array, Bytes rows) = 0;
  /// Every array must be full. Adds the array `metadata`, a text of no dimensions, and gives the
  /// file its name. The names of all arrays, in their order.
  virtual std::vector<std::string> finish(const nlohmann::ordered_json& metadata) = 0;
};

/// The formats by the endings of their files: .npz, .h5 or .hdf5.
bool is_npz(const std::filesystem::path& path);
bool is_hdf5(const std::filesystem::path& path);

/// Begins the file; it appears when it is finished, and nothing of it stays otherwise. Errors:
/// config for an unknown ending, runtime where it cannot be written.
std::unique_ptr<ArrayFile> create_array_file(const std::filesystem::path& path);

}  // namespace wellspring
