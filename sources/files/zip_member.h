// Content of a member of a zip archive. Used by image sets; host only.
#pragma once

#include "core/io/zip_directory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

/// Reads at most `most` bytes from the member's beginning; verifies the checksum of a whole one.
/// Errors (data) begin with `location`: damaged, encrypted, another method than stored or deflate.
void read_zip_member(const InputFile& archive, const ZipEntry& entry, const std::string& location,
                     std::vector<std::uint8_t>& bytes, std::uint64_t most = UINT64_MAX);

}  // namespace wellspring
