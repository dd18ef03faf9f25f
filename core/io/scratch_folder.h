// A folder for temporary files. Called by everything that needs one; host only.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdlib.h>
#include <string>
#include <system_error>

namespace wellspring {

/// A new folder. The destructor removes it with its contents.
class ScratchFolder {
 public:
  /// `prefix`: beginning of the path, which ends in six random characters. If the folder cannot be
  /// created, calls `refuse(path, reason)`, which must throw.
  template <class Refuse>
  ScratchFolder(const std::filesystem::path& prefix, Refuse refuse) {
    std::string name = prefix.string() + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      refuse(std::filesystem::path(name), std::string(std::strerror(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wellspring
