// Content of a member of a zip archive. Used by image sets; host only.
#pragma once

#include "core/io/zip_directory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// Reads at most the first `most` bytes; verifies the checksum if that is the whole member. Data
/// errors, prefixed with `location`: damaged, encrypted, or neither stored nor deflated.
void read_zip_member(const InputFile& archive, const ZipEntry& entry, const std::string& location,
                     std::vector<std::uint8_t>& bytes, std::uint64_t most = UINT64_MAX);

}  // namespace wellspring
