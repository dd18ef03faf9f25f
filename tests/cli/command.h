// Runs the built command as a user would, and returns exit code and output. For tests; host only.
#pragma once

#include "tests/support/temporary_folder.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

struct Outcome {
  int exit_code = -1;  ///< -1 if a signal ended it
  int signal = 0;      ///< the signal that ended it; 0 if it exited
  /// Largest resident set in KiB. On Linux, never below that of the test that forked it.
  long peak_memory = 0;
  std::string out, err;
};

/// A child process that writes its output to files. The destructor kills it if it is still running.
class Process {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  /// `arguments[0]` is looked up on PATH. Runs in `folder`, with `environment` added to the test's
  /// own.
  Process(std::vector<std::string> arguments, const std::filesystem::path& folder = {},
          const Environment& environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int id() const { return pid_; }
  void send(int signal) const;
  /// Waits up to `limit`, then kills the process (which gives an outcome with signal 9).
  Outcome wait(std::chrono::seconds limit = std::chrono::seconds(240));
  bool running();
  std::string errors() const;  ///< standard error so far
  /// Waits up to a minute until `reached` is true. False if it is not, or if the process ends.
  bool wait_until(const std::function<bool()>& reached);

 private:
  void reap(int options);  ///< wait4 with `options`

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
/// `wellspring diagnose ARGUMENTS` for ten seconds or, if they are too few on a busy machine, for a
/// hundred.
Outcome short_diagnosis(const std::vector<std::string>& arguments,
                        const std::filesystem::path& folder);
/// The words of a command, split at spaces.
std::vector<std::string> split_words(const std::string& command);
/// Runs `bash -c TEXT`.
Outcome shell(const std::string& text, const std::filesystem::path& folder = {},
              const Process::Environment& environment = {});

/// Commands that `train` suggests under "Try next" or "Options".
std::vector<std::string> suggestions(const std::string& output);
/// Expects that each suggested command succeeds in `folder`.
void expect_suggestions_work(const std::string& output, const std::filesystem::path& folder);

std::filesystem::path source_folder();

}  // namespace wellspring::test
