// Memory and processor time available to this process, within the limits of Linux control groups
// (cgroups, versions 1 and 2), which batch systems and containers use. Read by memory plans, thread
// counts and `doctor`; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

struct HostMemory {
  std::uint64_t total_bytes = 0;      ///< installed memory, or the lowest limit of our groups
  std::uint64_t available_bytes = 0;  ///< available now; page cache counts as available
  /// The limiting group and its limit: "control group /sys/fs/cgroup/job_7, which allows 500.0
  /// MiB"; "" if no group limits memory.
  std::string limited_by;
};

/// Processor time in processors: 1.5 means 1.5 seconds per second.
struct ProcessorQuota {
  double processors = 0;
  std::string group;  ///< "control group /sys/fs/cgroup/job_7"
};

/// Finds the group named by /proc/self/cgroup under the mounts of /proc/self/mountinfo, and returns
/// the lowest limit of this group and all groups above it. `root`: prefix of all paths; tests use a
/// folder with copies. Never fails: a file that cannot be read imposes no limit.
HostMemory host_memory(const std::filesystem::path& root = "/");
/// nullopt if no group limits processor time.
std::optional<ProcessorQuota> processor_quota(const std::filesystem::path& root = "/");

}  // namespace wellspring
