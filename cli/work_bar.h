// A progress bar for slow work before or between the steps of a run. Called by the subcommands;
// host only.
#pragma once

#include "core/text/progress.h"
#include "train/metrics/observer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unistd.h>

namespace wellspring::cli {

/// Shows nothing for work that takes less than a second, and leaves nothing on a terminal. If the
/// output is not a terminal, it writes one line every ten seconds.
class WorkBar {
 public:
  explicit WorkBar(int descriptor) : descriptor_(descriptor) {}
  ~WorkBar() { end(); }
  WorkBar(const WorkBar&) = delete;
  WorkBar& operator=(const WorkBar&) = delete;

  /// A WorkWatch callback; the bar ends when all is done or other work begins.
  void show(const std::string& what, std::uint64_t done, std::uint64_t total);
  void end();

 private:
  int descriptor_;
  std::string what_;
  std::optional<Progress> bar_;
};

/// Shows the work of evaluations and predictions on stderr, because stdout carries the result.
class WorkView final : public TrainObserver {
 public:
  void on_work(const std::string& what, std::uint64_t done, std::uint64_t total) override {
    work_.show(what, done, total);
  }
  void end() { work_.end(); }

 private:
  WorkBar work_{STDERR_FILENO};
};

}  // namespace wellspring::cli
