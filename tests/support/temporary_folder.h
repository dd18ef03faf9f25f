// A folder that is deleted at the end of a test, and raw file access for tests that damage files.
// For tests; host only.
#pragma once

#include "core/io/scratch_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace wellspring::test {

class TemporaryFolder : public ScratchFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  explicit TemporaryFolder(const std::filesystem::path& parent)
      : ScratchFolder(parent / "wellspring-", [](const auto& path, const std::string& reason) {
          throw std::runtime_error(path.string() + ": " + reason);
        }) {}

  std::filesystem::path operator/(const std::string& name) const { return path() / name; }

  /// Sorted names of the folder's entries.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Contents of all files of a folder except its lock, by name.
inline std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename() != ".lock")
      files[entry.path().filename().string()] = slurp(entry.path());
  return files;
}

inline void spill(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace wellspring::test
