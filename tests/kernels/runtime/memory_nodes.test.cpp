#include "kernels/runtime/memory_nodes.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace wellspring::test {
namespace {

using Nodes = std::vector<std::vector<int>>;

/// A simulated machine in a folder: two nodes with processors, and one with memory only.
class MemoryNodes : public ::testing::Test {
 protected:
  MemoryNodes() {
    put("online", "0-2\n");
    put("node0/cpulist", "0-3,8\n");
    put("node1/cpulist", "4-7\n");
    put("node2/cpulist", "\n");
  }
  void put(const std::string& path, const std::string& text) const {
    const auto file = folder_ / "sys/devices/system/node" / path;
    std::filesystem::create_directories(file.parent_path());
    spill(file, text);
  }
  Nodes nodes(const std::vector<int>& allowed) const {
    return memory_nodes(allowed, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(MemoryNodes, HaveTheAllowedProcessorsOnly) {
  std::vector<int> all(9);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(nodes(all), (Nodes{{0, 1, 2, 3, 8}, {4, 5, 6, 7}}));
  EXPECT_EQ(nodes({3, 4, 8}), (Nodes{{3, 8}, {4}}));
  EXPECT_EQ(nodes({5}), (Nodes{{5}}));
}

TEST_F(MemoryNodes, AreUnknownWithoutSoundLists) {
  put("online", "0;1\n");
  EXPECT_EQ(nodes({0, 4}), Nodes());
  put("online", "0-1\n");
  put("node0/cpulist", "zero\n");
  put("node1/cpulist", "4-999999999\n");
  EXPECT_EQ(nodes({0, 4}), (Nodes{{4}}));
  EXPECT_EQ(memory_nodes({0}, folder_ / "none"), Nodes());
}

TEST(BindToMemoryNode, KeepsAThreadOnAllowedProcessors) {
  const std::vector<int> allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  for (const int thread : {0, 1, 7}) {
    std::jthread([&] {
      bind_to_memory_node(thread);
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
      for (int i = 0; i < CPU_SETSIZE; ++i)
        EXPECT_TRUE(!CPU_ISSET(i, &set) || std::ranges::binary_search(allowed, i)) << i;
    });
  }
}

}  // namespace
}  // namespace wellspring::test
