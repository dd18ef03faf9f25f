// Arrays as the columns of a CSV file (RFC 4180), for tables of few columns. Called by
// train/evaluation; host only.
#pragma once

#include "export/array_file.h"

#include <filesystem>
#include <memory>

namespace wellspring {

bool is_csv(const std::filesystem::path& path);

/// All arrays must have the same number of rows, and be opened before the first append(). An array
/// [rows] is a column with its name; column k of an array [rows, columns] is called NAME_k, or after
/// its meaning NAME_name. An array of u8 [rows, bytes] holds texts padded with zeros. NaN becomes an
/// empty field. The metadata is not written. Errors: as create_array_file.
std::unique_ptr<ArrayFile> create_csv_file(const std::filesystem::path& path);

}  // namespace wellspring
