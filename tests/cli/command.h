// Runs the built command as a user does and keeps what it said. For tests; host only.
#pragma once

#include "tests/support/temporary_folder.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

struct Outcome {
  int exit_code = -1;  ///< -1 when it did not exit by itself
  int signal = 0;      ///< that ended it; 0 when it exited
  /// The largest resident set that it ever had, KiB. As Linux counts, a process begins with that of
  /// the one that it was forked from: no less than the test's own.
  long peak_memory = 0;
  std::string out, err;
};

/// A child process with its output in files. Killed at the end of its life when still running.
class Process {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  /// `arguments[0]` is looked up on PATH; `folder`: where it runs; `environment` is added to ours.
  Process(std::vector<std::string> arguments, const std::filesystem::path& folder = {},
          const Environment& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int id() const { return pid_; }
  void send(int signal) const;
  /// Waits at most so long, then kills it (the outcome then shows signal 9).
  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(240));
  std::string output() const;  ///< what it wrote to standard output so far
  bool running();

 private:
  void reap(int options);  ///< of wait4

  int pid_ = -1;
  bool done_ = false;
  int status_ = 0;
  long peak_memory_ = 0;
  TemporaryFolder files_;  ///< the two output files
};

/// The built executable.
std::string wellspring_path();
/// Runs `wellspring ARGUMENTS` in `folder` and waits.
Outcome wellspring(std::vector<std::string> arguments, const std::filesystem::path& folder = {},
                   const Process::Environment& environment = {});
/// Runs `bash -c TEXT`.
Outcome shell(const std::string& text, const std::filesystem::path& folder = {},
              const Process::Environment& environment = {});

/// The commands that a page of `train` offers, under "Try next" or "Options".
std::vector<std::string> suggestions(const std::string& page);
/// Runs each in `folder`, and expects that it works.
void expect_suggestions_work(const std::string& page, const std::filesystem::path& folder);

std::filesystem::path source_folder();

}  // namespace wellspring::test
