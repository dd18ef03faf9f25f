#include "kernels/runtime/host_limits.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;

std::string mebibytes(std::uint64_t count) {
  return std::to_string(count * kMiB) + "\n";
}

/// A simulated machine in a folder: 16 GiB of memory, 12 GiB of which are available, and the
/// control groups that a test adds.
class HostLimits : public ::testing::Test {
 protected:
  HostLimits() {
    put("proc/meminfo",
        "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n");
  }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    spill(folder_ / path, text);
  }
  /// Mounts a version 2 tree at /sys/fs/cgroup, with this process in `group`.
  void mount_unified(const std::string& group) const {
    put("proc/self/cgroup", "0::" + group + "\n");
    put("proc/self/mountinfo",
        "22 1 8:1 / / rw shared:1 - ext4 /dev/root rw\n"
        "31 22 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    fs::create_directories(folder_ / ("sys/fs/cgroup" + group));
  }
  HostMemory memory() const { return host_memory(folder_.path()); }
  std::optional<ProcessorQuota> quota() const { return processor_quota(folder_.path()); }

  TemporaryFolder folder_;
};

TEST_F(HostLimits, ReadsAMachineWithoutLimits) {
  EXPECT_EQ(memory().total_bytes, 16384 * kMiB);
  EXPECT_EQ(memory().available_bytes, 12288 * kMiB);
  EXPECT_EQ(memory().limited_by, "");
  EXPECT_FALSE(quota());
  mount_unified("/job");
  EXPECT_EQ(memory().available_bytes, 12288 * kMiB);
  put("sys/fs/cgroup/job/memory.max", "max\n");
  put("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(memory().total_bytes, 16384 * kMiB);
  EXPECT_FALSE(quota());
}

// The tree of a batch system: the job has limits, but its step has none.
TEST_F(HostLimits, ObeysLimitsOfAnyParentGroup) {
  mount_unified("/slurm/job_7/step_0");
  put("sys/fs/cgroup/slurm/memory.max", mebibytes(8000));
  put("sys/fs/cgroup/slurm/job_7/memory.max", mebibytes(500));
  put("sys/fs/cgroup/slurm/job_7/memory.current", mebibytes(100));
  put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  put("sys/fs/cgroup/slurm/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/slurm/job_7/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/slurm/other/memory.max", mebibytes(1));
  EXPECT_EQ(memory().total_bytes, 500 * kMiB);
  EXPECT_EQ(memory().available_bytes, 400 * kMiB);
  EXPECT_EQ(memory().limited_by,
            "control group /sys/fs/cgroup/slurm/job_7, which allows 500.0 MiB");
  ASSERT_TRUE(quota());
  EXPECT_EQ(quota()->processors, 1.5);
  EXPECT_EQ(quota()->group, "control group /sys/fs/cgroup/slurm/job_7");
}

// The group with the least free memory decides, not the one with the lowest limit.
TEST_F(HostLimits, CountsNeighboursInAParentGroup) {
  mount_unified("/a/b");
  put("sys/fs/cgroup/a/memory.max", mebibytes(1000));
  put("sys/fs/cgroup/a/memory.current", mebibytes(900));
  put("sys/fs/cgroup/a/b/memory.max", mebibytes(500));
  put("sys/fs/cgroup/a/b/memory.current", mebibytes(10));
  EXPECT_EQ(memory().total_bytes, 500 * kMiB);
  EXPECT_EQ(memory().available_bytes, 100 * kMiB);
  EXPECT_NE(memory().limited_by.find("cgroup/a, which allows 1000.0 MiB"), std::string::npos)
      << memory().limited_by;
}

TEST_F(HostLimits, CountsFilePagesAsAvailable) {
  mount_unified("/job");
  put("sys/fs/cgroup/job/memory.max", mebibytes(500));
  put("sys/fs/cgroup/job/memory.current", mebibytes(480));
  put("sys/fs/cgroup/job/memory.stat", "anon " + mebibytes(100) + "file " + mebibytes(380) +
                                           "inactive_anon 5\ninactive_file " + mebibytes(300) +
                                           "active_file " + mebibytes(60));
  EXPECT_EQ(memory().available_bytes, 380 * kMiB);
  put("sys/fs/cgroup/job/memory.current", mebibytes(900));  // briefly over its limit
  EXPECT_EQ(memory().available_bytes, 0u);
}

TEST_F(HostLimits, ObeysTheHighMark) {
  mount_unified("/job");
  put("sys/fs/cgroup/job/memory.max", mebibytes(500));
  put("sys/fs/cgroup/job/memory.high", mebibytes(300));
  EXPECT_EQ(memory().total_bytes, 300 * kMiB);
}

// Version 1 has one tree per controller. A number above any memory size means no limit; -1 means no
// quota.
TEST_F(HostLimits, ReadsTheTreesOfVersion1) {
  put("proc/self/cgroup",
      "9:name=systemd:/x\n4:memory:/slurm/uid_1/job_7\n2:cpu,cpuacct:/slurm/job_7\n0::/\n");
  put("proc/self/mountinfo",
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  const std::string memory_tree = "sys/fs/cgroup/memory/";
  put(memory_tree + "memory.limit_in_bytes", "9223372036854771712\n");
  put(memory_tree + "slurm/uid_1/memory.limit_in_bytes", mebibytes(700));
  put(memory_tree + "slurm/uid_1/memory.usage_in_bytes", mebibytes(300));
  put(memory_tree + "slurm/uid_1/memory.stat",
      "inactive_file 1\ntotal_inactive_file " + mebibytes(100) + "total_active_file 0\n");
  put(memory_tree + "slurm/uid_1/job_7/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "250000\n");
  put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(memory().total_bytes, 700 * kMiB);
  EXPECT_EQ(memory().available_bytes, 500 * kMiB);
  EXPECT_NE(memory().limited_by.find("/sys/fs/cgroup/memory/slurm/uid_1,"), std::string::npos)
      << memory().limited_by;
  ASSERT_TRUE(quota());
  EXPECT_EQ(quota()->processors, 2.5);
}

// A container sees its group's path on the host, but the mount shows only this group.
TEST_F(HostLimits, ReadsAContainersGroupAtTheMount) {
  put("proc/self/cgroup", "4:memory:/docker/abc/inner\n");
  put("proc/self/mountinfo",
      "7 1 0:3 /docker/ab /elsewhere rw - cgroup cgroup rw,memory\n"
      "8 1 0:3 /docker/abc /sys/fs/cgroup/my\\040memory ro - cgroup cgroup rw,memory\n");
  put("elsewhere/memory.limit_in_bytes", mebibytes(1));
  put("sys/fs/cgroup/my memory/memory.limit_in_bytes", mebibytes(500));
  put("sys/fs/cgroup/my memory/inner/memory.limit_in_bytes", mebibytes(400));
  EXPECT_EQ(memory().total_bytes, 400 * kMiB);
  fs::remove(folder_ / "sys/fs/cgroup/my memory/inner/memory.limit_in_bytes");
  EXPECT_EQ(memory().total_bytes, 500 * kMiB);
}

// If the group's own folder is not visible, the root of the mount is the nearest group.
TEST_F(HostLimits, ReadsAnUnmountedGroupAtTheMount) {
  for (const char* group : {"/../outside", "/not/mounted"}) {
    put("proc/self/cgroup", std::string("0::") + group + "\n");
    put("proc/self/mountinfo", "8 1 0:3 /.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/memory.max", mebibytes(300));
    EXPECT_EQ(memory().total_bytes, 300 * kMiB) << group;
  }
}

TEST_F(HostLimits, IgnoresMalformedFiles) {
  put("proc/self/cgroup", "\n:\n::\n0::\nx:y\n");
  put("proc/self/mountinfo",
      "\n1 2 3\n- - - - - - -\n8 1 0:3 / / rw - cgroup2\n"
      "8 1 0:3 / /c\\9 rw - cgroup2 x y\n");
  put("c\\9/memory.max", "12x\n");
  put("c\\9/cpu.max", "100000 0\n");
  EXPECT_EQ(memory().total_bytes, 16384 * kMiB);
  EXPECT_FALSE(quota());
}

// If the program could not read any memory size, it would refuse every run.
TEST_F(HostLimits, AsksTheKernelIfProcIsMissing) {
  fs::remove(folder_ / "proc/meminfo");
  EXPECT_GT(memory().available_bytes, 0u);
  EXPECT_GE(memory().total_bytes, memory().available_bytes);
}

TEST(HostMemory, ReadsThisMachine) {
  EXPECT_GT(host_memory().available_bytes, 0u);
  EXPECT_GE(host_memory().total_bytes, host_memory().available_bytes);
  const auto quota = processor_quota();
  EXPECT_TRUE(!quota || quota->processors > 0);
}

}  // namespace
}  // namespace wellspring::test
