// Files that are read again from storage, and the bytes that came from there. Called by `diagnose`;
// Linux; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace wellspring {

/// The file, or all files below the folder; empty if there are no files.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& path);

/// Asks the kernel to drop these files from its page cache (POSIX_FADV_DONTNEED). It may keep pages,
/// for example of mapped files; see bytes_read().
void drop_from_page_cache(const std::vector<std::filesystem::path>& files);

struct BytesRead {
  std::uint64_t calls = 0;    ///< returned by system calls
  std::uint64_t storage = 0;  ///< fetched from storage
};
/// Bytes read by this process (/proc/self/io); nullopt if the system does not count them.
std::optional<BytesRead> bytes_read();

/// Bytes per second at which these files come from storage, read one after the other for at most
/// half a second; nullopt if the page cache keeps them.
std::optional<double> storage_rate(const std::vector<std::filesystem::path>& files);

}  // namespace wellspring
