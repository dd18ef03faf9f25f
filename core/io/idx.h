// IDX files: type, extents, big-endian numbers. Source: Y. LeCun's page on MNIST ("the IDX file
// format"). Called by core/io/stored_array.h and data sets; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/npy_numbers.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace wellspring {

class InputFile;

/// True for names like "train-images-idx3-ubyte" and "t10k-labels.idx1-ubyte.gz".
bool is_idx_name(std::string_view name);
/// True for a file with such a name, or one that begins with two zero bytes.
bool is_idx(const InputFile& file);

/// "train-labels-idx1-ubyte" for "train-images-idx3-ubyte", with or without ".gz"; "" if there is
/// no such file next to the images.
std::string labels_next_to_idx(const std::filesystem::path& images);

/// Checks type and extents, and the file's size if it is known. Throws data errors.
NpyHeader parse_idx_header(Bytes file, std::optional<std::uint64_t> size, const std::string& name);

}  // namespace wellspring
