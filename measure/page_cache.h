// Files that are read again from storage, and the bytes that came from there. Called by `diagnose`;
// Linux; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
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

/// Why the bytes of these calls count as read from memory: less than half of them came from storage. ""
/// if they count as read from storage. The kernel may keep some pages, and reads mapped files without
/// calls.
std::string kept_by_page_cache(const BytesRead& read);

/// Bytes per second of files that one thread reads one after the other.
struct ReadingRates {
  std::optional<double> cold;  ///< from storage
  std::string not_cold;        ///< reason without `cold`
  std::optional<double> warm;  ///< from the page cache; nullopt if the files have no bytes
};
/// Reads for at most half a second each: first after the page cache has dropped the files, then the
/// same bytes again.
ReadingRates reading_rates(const std::vector<std::filesystem::path>& files);

}  // namespace wellspring
