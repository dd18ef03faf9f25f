// IDX files, the format of MNIST: a type, extents, then numbers, most significant byte first; often
// compressed by gzip. Called by core/io/stored_array.h and data sets; host only.
// Sources: Y. LeCun's page on MNIST ("the IDX file format"); RFC 1952 for gzip.
#pragma once

#include "core/io/bytes.h"
#include "core/io/npy_numbers.h"
#include "core/io/zip_directory.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace wellspring {

class InputFile;

/// True for names like "train-images-idx3-ubyte" and "t10k-labels.idx1-ubyte.gz".
bool is_idx_name(std::string_view name);
/// True for a file with such a name, or one that begins with two zero bytes.
bool is_idx(const InputFile& file);

/// Checks type, extents and the file's `size`. Throws data errors.
NpyHeader parse_idx_header(Bytes file, std::uint64_t size, const std::string& name);

/// A gzip file as a deflated entry, whose data begin at `begin`. The file must have one member.
struct GzipContent {
  ZipEntry entry;
  std::uint64_t begin = 0;
};
/// Throws a data error for a damaged header.
GzipContent gzip_content(const InputFile& file);

}  // namespace wellspring
