#include "cli/program.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace wellspring::cli {

std::string program_name() {
  namespace fs = std::filesystem;
  std::error_code error;  // anything that fails here only makes the text longer
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return "wellspring";
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (fs::equivalent(fs::path(folder) / "wellspring", self, error)) return "wellspring";
    }
  }
  const fs::path relative = fs::proximate(self, error);
  return error || relative.string().starts_with("..") ? self.string() : relative.string();
}

}  // namespace wellspring::cli
