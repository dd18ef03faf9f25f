#include "measure/page_cache.h"

#include "core/text/text.h"

#include <fmt/format.h>

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <unistd.h>

namespace wellspring {

namespace fs = std::filesystem;

namespace {

/// Bytes read so far, and the time that it took.
struct ReadRun {
  std::uint64_t bytes = 0;
  double seconds = 0;

  double rate() const { return static_cast<double>(bytes) / seconds; }
  /// Reads the files in order until `most_seconds` or `most_bytes` are reached.
  void read(const std::vector<fs::path>& files, double most_seconds,
            std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max()) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const double seconds_before = seconds;
    std::vector<char> buffer(std::size_t{1} << 20);
    const auto ended = [&] {
      seconds = seconds_before + std::chrono::duration<double>(Clock::now() - begin).count();
      return seconds >= most_seconds || bytes >= most_bytes;
    };
    for (const fs::path& path : files) {
      for (std::ifstream file(path, std::ios::binary);
           !ended() && file.read(buffer.data(), std::ssize(buffer)).gcount() > 0;)
        bytes += static_cast<std::uint64_t>(file.gcount());
      if (ended()) return;
    }
  }
};

}  // namespace

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

std::string kept_by_page_cache(const BytesRead& read) {
  if (read.storage > 0 && 2 * read.storage >= read.calls) return "";
  return fmt::format("the page cache kept the files: {} of {} came from storage",
                     human_bytes(read.storage), human_bytes(read.calls));
}

ReadingRates reading_rates(const std::vector<fs::path>& files) {
  constexpr double kSeconds = 0.5, kShortest = 0.1;
  drop_from_page_cache(files);
  const std::optional<BytesRead> before = bytes_read();
  ReadRun first;
  first.read(files, kSeconds);
  if (first.bytes == 0) return {{}, "there are no bytes to read", {}};
  ReadingRates rates;
  rates.not_cold = before
                       ? kept_by_page_cache({first.bytes, bytes_read()->storage - before->storage})
                       : "the system does not count bytes from storage";
  if (rates.not_cold.empty()) rates.cold = first.rate();
  ReadRun again;
  do again.read(files, kSeconds, again.bytes + first.bytes);
  while (again.seconds < kShortest);
  rates.warm = again.rate();
  return rates;
}

}  // namespace wellspring
