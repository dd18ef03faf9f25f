// What this process may use of the machine it runs on: memory and processor time, as Linux's
// control groups (cgroups, versions 1 and 2) leave them. Batch systems and containers limit through
// these. Read by memory plans, thread counts and `doctor`; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

struct HostMemory {
  std::uint64_t total_bytes = 0;      ///< of the machine, or the least that a group of ours allows
  std::uint64_t available_bytes = 0;  ///< to be had now; file pages kept for speed count as free
  /// Which group leaves less than the machine has, and how much it allows: "control group
  /// /sys/fs/cgroup/job_7, which allows 500.0 MiB"; "" where none does.
  std::string limited_by;
};

/// Processor time as processors: 1.5 are three halves of a second each second.
struct ProcessorQuota {
  double processors = 0;
  std::string group;  ///< "control group /sys/fs/cgroup/job_7"
};

/// The group that /proc/self/cgroup names is looked up below the mounts of /proc/self/mountinfo;
/// the tightest limit among it and all groups above it holds. `root`: in front of every path, a
/// folder of copies in tests. Never fails: what cannot be read limits nothing.
HostMemory host_memory(const std::filesystem::path& root = "/");
/// None where no group limits processor time.
std::optional<ProcessorQuota> processor_quota(const std::filesystem::path& root = "/");

}  // namespace wellspring
