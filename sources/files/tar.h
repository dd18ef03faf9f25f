// Index of a tar archive, for reading members in any order. Used by image sets; host only.
#pragma once

#include "core/io/files.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

enum class TarMemberKind : std::uint8_t { file, folder, other };

struct TarMember {
  std::string path;  ///< without leading "./" and trailing "/"
  TarMemberKind kind = TarMemberKind::file;
  std::uint64_t offset = 0;  ///< position of its bytes in the archive
  std::uint64_t bytes = 0;
};

/// Reads every header once. Supports ustar with prefixes, GNU long names and base-256 numbers, and
/// pax extended headers (path, size, linkpath). A hard link to an earlier member is listed as a
/// file with that member's bytes; other links are `other`. Source: IEEE Std 1003.1-2017, pax,
/// "ustar Interchange Format" and "pax Extended Header"; GNU tar manual, "Basic Tar Format". Errors
/// (data): not a tar file, compressed, wrong checksum, truncated. Calls `watch`, if given, with the
/// number of members so far; throws Interrupted after a signal.
std::vector<TarMember> read_tar_index(const InputFile& file,
                                      const std::function<void(std::int64_t)>& watch = {});

}  // namespace wellspring
