// Arrays as the columns of a CSV file (RFC 4180), for tables with few columns. Called by
// train/evaluation; host only.
#pragma once

#include "export/array_file.h"

#include <filesystem>
#include <memory>

namespace wellspring {

bool is_csv(const std::filesystem::path& path);

/// All arrays must have the same number of rows, and be opened before the first append(). An array
/// [rows] becomes a column of the same name; column k of an array [rows, columns] is called NAME_k,
/// or NAME_name if its meaning has names. A u8 array [rows, bytes] holds zero-padded texts. NaN
/// becomes an empty field. The metadata is not written. Throws the errors of create_array_file.
std::unique_ptr<ArrayFile> create_csv_file(const std::filesystem::path& path);

}  // namespace wellspring
