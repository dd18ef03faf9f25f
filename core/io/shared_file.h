// A file that the ranks of one machine share while they run: a cache in /dev/shm or on a local
// disk. It loses its name as soon as all ranks have opened it. The system frees it when the last
// rank ends, for any reason. Called by caches of rows; host only.
#pragma once

#include "core/io/bytes.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace wellspring {

class SharedFile {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string job = {};      ///< identical for processes that share the file, and for no others
    int sharers = 1;           ///< number of these processes
    std::uint64_t bytes = 0;   ///< the same for all of them
    std::uint64_t mapped = 0;  ///< bytes to map, from the beginning; the rest is read and written
    std::string advice = {};   ///< advice in the error if there is no room
  };
  /// Creates the file with all its space, filled with zeros, or opens another sharer's file.
  /// Removes files that killed processes have left in the folder. Throws a data error if the folder
  /// does not exist, a runtime error if the file system has too little room or another job has the
  /// file, and Interrupted after a signal.
  explicit SharedFile(const Options& options);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile();

  /// The first `mapped` bytes, after this class's own header.
  std::span<std::byte> memory() const;
  /// Bytes at `offset` from the start of memory(). Throws data errors with the system's reason.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  void write(std::uint64_t offset, Bytes bytes);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Header;
  Header& header() const;
  bool create(const Options& options);
  bool join(const Options& options);
  void map(const Options& options);
  void close();

  std::filesystem::path folder_, path_;
  int descriptor_ = -1;
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace wellspring
