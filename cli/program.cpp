#include "cli/program.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <unistd.h>

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

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() gives the lowest number that is free: this one, as those below it are taken by now.
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != descriptor) std::abort();
  }
}

void forget_undelivered() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (std::freopen("/dev/null", "w", stdout) == nullptr) std::clearerr(stdout);
}

}  // namespace wellspring::cli
