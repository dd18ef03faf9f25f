// A bar for work that may take a while before or between the steps of a run. Called by the
// subcommands; host only.
#pragma once

#include "core/text/progress.h"

#include <cstdint>
#include <optional>
#include <string>

namespace wellspring::cli {

/// Shows nothing of what is done within a second, and leaves nothing on a terminal; elsewhere, a
/// line every ten seconds stays.
class WorkBar {
 public:
  explicit WorkBar(int descriptor) : descriptor_(descriptor) {}
  ~WorkBar() { end(); }
  WorkBar(const WorkBar&) = delete;
  WorkBar& operator=(const WorkBar&) = delete;

  /// As a WorkWatch is told; ends where all is done, or another work begins.
  void show(const std::string& what, std::uint64_t done, std::uint64_t total);
  void end();

 private:
  int descriptor_;
  std::string what_;
  std::optional<Progress> bar_;
};

}  // namespace wellspring::cli
