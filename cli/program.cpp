#include "cli/program.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace wellspring::cli {

std::string program_name() {
  namespace fs = std::filesystem;
  std::error_code error;  // a failure here only makes the text longer
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

namespace {

std::atomic<bool> memory_ended{false};

void note_that_memory_ended() {
  memory_ended = true;
  throw std::bad_alloc();
}

/// Unless memory has run out, a call of std::terminate is a bug; abort() makes it visible.
void end_with_words() {
  if (!memory_ended) std::abort();
  tell_no_memory();
  std::_Exit(static_cast<int>(ErrorKind::runtime));
}

}  // namespace

void say_when_memory_ends() {
  std::set_new_handler(note_that_memory_ended);
  std::set_terminate(end_with_words);
}

void tell_no_memory() noexcept {
  constexpr std::string_view kWords =
      "wellspring: error: out of memory (on the machine, or because of a limit on this "
      "process)\n  use a smaller batch, network or data set, or raise the limit; a run continues "
      "from its newest checkpoint\n";
  // A failure cannot be reported anywhere.
  [[maybe_unused]] const auto told = ::write(STDERR_FILENO, kWords.data(), kWords.size());
}

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() returns the lowest free number: this one, because all below it are open.
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != descriptor) std::abort();
  }
}

void allow_many_files() {
  constexpr rlim_t kEnough = 1 << 17;  // above the number of shards that a data set may have
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, kEnough));
  ::setrlimit(RLIMIT_NOFILE, &limit);  // a failure leaves the limit as it is
}

void forget_undelivered() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (std::freopen("/dev/null", "w", stdout) == nullptr) std::clearerr(stdout);
}

}  // namespace wellspring::cli
