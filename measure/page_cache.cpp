#include "measure/page_cache.h"

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace wellspring {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& path) {
  std::error_code error;  // unlisted files stay in the cache, which the counted bytes show
  if (fs::is_regular_file(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error))
    if (at->is_regular_file(error)) files.push_back(at->path());
  return files;
}

void drop_from_page_cache(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
  }
}

std::optional<BytesRead> bytes_read() {
  std::ifstream file("/proc/self/io");
  std::optional<std::uint64_t> calls, storage;
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;) {
    if (key == "rchar:") calls = value;
    if (key == "read_bytes:") storage = value;
  }
  if (!calls || !storage) return std::nullopt;
  return BytesRead{*calls, *storage};
}

std::optional<double> storage_rate(const std::vector<fs::path>& files) {
  using Clock = std::chrono::steady_clock;
  constexpr double kSeconds = 0.5;
  drop_from_page_cache(files);
  const std::optional<BytesRead> before = bytes_read();
  if (!before) return std::nullopt;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  for (const fs::path& path : files) {
    for (std::ifstream file(path, std::ios::binary);
         seconds() < kSeconds && file.read(buffer.data(), std::ssize(buffer)).gcount() > 0;)
      bytes += static_cast<std::uint64_t>(file.gcount());
    if (seconds() >= kSeconds) break;
  }
  const double rate = static_cast<double>(bytes) / seconds();
  // Half of the bytes: the kernel may have kept some pages.
  if (bytes == 0 || 2 * (bytes_read()->storage - before->storage) < bytes) return std::nullopt;
  return rate;
}

}  // namespace wellspring
