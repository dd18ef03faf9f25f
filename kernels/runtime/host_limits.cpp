// Sources: proc(5), cgroups(7); Linux kernel documentation, "Control Group v2" (memory.max,
// memory.high, cpu.max), "Memory Resource Controller" and "CFS Bandwidth Control" (version 1).
#include "kernels/runtime/host_limits.h"

#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/sysinfo.h>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool list_holds(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

/// Decodes escapes of paths in mountinfo: three octal digits per character, so "\040" is a space.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// Fields of a line of /proc/self/mountinfo that are used here.
struct Mount {
  std::string top;      ///< mounted part of the hierarchy; "/" means all of it
  fs::path point;       ///< mount point
  std::string type;     ///< "cgroup2", "cgroup"
  std::string options;  ///< controllers of a version 1 hierarchy, separated by commas
};

std::vector<Mount> group_mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    // Format: ID, parent, device, top, point, options, any number of fields; "-", type, source,
    // options.
    const auto dash =
        std::find(words.begin() + std::min<std::ptrdiff_t>(6, std::ssize(words)), words.end(), "-");
    if (words.end() - dash < 4) continue;
    Mount mount{unescape(words[3]), unescape(words[4]), *(dash + 1), *(dash + 3)};
    if (mount.type == "cgroup" || mount.type == "cgroup2") mounts.push_back(std::move(mount));
  }
  return mounts;
}

/// Path of our group in the hierarchy with `controller`; "" selects version 2.
std::optional<std::string> group_path(const fs::path& root, std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:memory:/job_7", "0::/job_7"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view list = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() : list_holds(list, controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

/// `path` relative to `top`: "/b" for "/a/b" and "/a"; nullopt if it is not below `top`, because a
/// cgroup namespace or a container may show another part of the tree.
std::optional<std::string> below(const std::string& path, const std::string& top) {
  if (path.starts_with("/..")) return std::nullopt;
  if (top == "/") return path;
  if (path == top) return "";
  if (path.starts_with(top + "/")) return path.substr(top.size());
  return std::nullopt;
}

/// A group's folder and its name in messages.
struct Group {
  fs::path folder;
  std::string name;
  std::string read(const char* file) const {
    std::ifstream stream(folder / file);
    std::string text;
    std::getline(stream, text);
    return text;
  }
  /// The number in a file; nullopt if it is "max" or -1, or if there is no file.
  std::optional<std::uint64_t> number(const char* file) const {
    return parse_number<std::uint64_t>(read(file));
  }
};

/// Our group and all groups above it up to the mount point, in the version 2 hierarchy
/// (`controller` "") or in the version 1 hierarchy with `controller`.
std::vector<Group> groups(const fs::path& root, std::string_view controller) {
  const std::optional<std::string> path = group_path(root, controller);
  if (!path) return {};
  const auto ours = [&](const Mount& mount) {
    return controller.empty() ? mount.type == "cgroup2"
                              : mount.type == "cgroup" && list_holds(mount.options, controller);
  };
  std::error_code ignored;
  std::optional<fs::path> top, folder;
  for (const Mount& mount : group_mounts(root)) {
    if (!ours(mount)) continue;
    const std::optional<std::string> part = below(*path, mount.top);
    const fs::path inside =
        part ? (mount.point / fs::path(*part).relative_path()).lexically_normal() : mount.point;
    if (part && fs::is_directory(root / inside.relative_path(), ignored)) {
      top = mount.point;
      folder = inside;
      break;
    }
    if (!top) top = folder = mount.point;  // the closest visible folder
  }
  if (!top) return {};
  std::vector<Group> found;
  for (fs::path at = *folder;; at = at.parent_path()) {
    found.push_back({root / at.relative_path(), "control group " + at.string()});
    if (at == *top || !at.has_relative_path()) return found;
  }
}

/// Sum of two "key number" lines of memory.stat.
std::uint64_t statistics(const Group& group, std::string_view key, std::string_view other_key) {
  std::ifstream file(group.folder / "memory.stat");
  std::uint64_t sum = 0, value = 0;
  for (std::string name; file >> name >> value;)
    if (name == key || name == other_key) sum += value;
  return sum;
}

/// The memory files of one version of control groups.
struct MemoryFiles {
  std::vector<const char*> limits;  ///< the smallest limit applies
  const char* used;
  const char* cached[2];  ///< lines of memory.stat: file pages that are freed on demand
};

/// Above memory.high, a group is throttled, down to a standstill; above memory.max, it is killed.
MemoryFiles unified_files() {
  return {{"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file"}};
}
MemoryFiles version_1_files() {
  return {{"memory.limit_in_bytes"},
          "memory.usage_in_bytes",
          {"total_inactive_file", "total_active_file"}};
}

void limit(HostMemory& memory, const Group& group, const MemoryFiles& files) {
  std::uint64_t allowed = UINT64_MAX;
  for (const char* file : files.limits)
    allowed = std::min(allowed, group.number(file).value_or(UINT64_MAX));
  if (allowed == UINT64_MAX) return;
  memory.total_bytes = std::min(memory.total_bytes, allowed);
  const std::uint64_t held = group.number(files.used).value_or(0);
  const std::uint64_t used =
      held - std::min(held, statistics(group, files.cached[0], files.cached[1]));
  const std::uint64_t left = allowed - std::min(used, allowed);
  if (left >= memory.available_bytes) return;
  memory.available_bytes = left;
  memory.limited_by = fmt::format("{}, which allows {}", group.name, human_bytes(allowed));
}

/// Value of a line of /proc/meminfo, whose unit is 1024 bytes.
std::optional<std::uint64_t> meminfo(const fs::path& root, std::string_view key) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0] != key) continue;
    if (const auto number = parse_number<std::uint64_t>(words[1])) return *number * 1024;
  }
  return std::nullopt;
}

/// The whole machine's memory. If /proc cannot be read, uses the kernel's own figure, which counts
/// reclaimable file pages as used.
HostMemory machine_memory(const fs::path& root) {
  struct sysinfo facts {};
  if (::sysinfo(&facts) != 0) facts = {};
  const std::uint64_t unit = facts.mem_unit;
  HostMemory memory;
  memory.total_bytes = meminfo(root, "MemTotal:").value_or(facts.totalram * unit);
  memory.available_bytes =
      meminfo(root, "MemAvailable:").value_or((facts.freeram + facts.bufferram) * unit);
  return memory;
}

void limit(std::optional<ProcessorQuota>& quota, const Group& group,
           std::optional<std::uint64_t> time, std::optional<std::uint64_t> period) {
  if (!time || !period || *time == 0 || *period == 0) return;
  const double processors = static_cast<double>(*time) / static_cast<double>(*period);
  if (!quota || processors < quota->processors) quota = ProcessorQuota{processors, group.name};
}

}  // namespace

HostMemory host_memory(const fs::path& root) {
  HostMemory memory = machine_memory(root);
  for (const Group& group : groups(root, "")) limit(memory, group, unified_files());
  for (const Group& group : groups(root, "memory")) limit(memory, group, version_1_files());
  return memory;
}

std::optional<ProcessorQuota> processor_quota(const fs::path& root) {
  std::optional<ProcessorQuota> quota;
  for (const Group& group : groups(root, "")) {
    const std::vector<std::string> words = words_of(group.read("cpu.max"));  // "150000 100000"
    if (words.size() == 2)
      limit(quota, group, parse_number<std::uint64_t>(words[0]),
            parse_number<std::uint64_t>(words[1]));
  }
  for (const Group& group : groups(root, "cpu"))
    limit(quota, group, group.number("cpu.cfs_quota_us"), group.number("cpu.cfs_period_us"));
  return quota;
}

}  // namespace wellspring
