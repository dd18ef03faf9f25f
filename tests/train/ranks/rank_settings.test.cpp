// A rank's share of the processors of its node.
#include "train/ranks/rank_settings.h"

#include "kernels/runtime/threads.h"
#include "tests/train/ranks/tcp_ranks.h"
#include "tests/train/training_testing.h"

#include <algorithm>
#include <cstdlib>

namespace wellspring::test {
namespace {

/// The number of threads of each rank of a node.
std::vector<int> shares(const std::vector<std::vector<int>>& node) {
  std::vector<int> found;
  for (const std::vector<int>& own : node) found.push_back(share_of_processors(own, node));
  return found;
}

using Shares = std::vector<int>;

TEST(RankSettings, ShareProcessorsThatSeveralRanksMayUse) {
  const std::vector<int> eight = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(shares({eight}), Shares({8}));
  EXPECT_EQ(shares({eight, eight}), Shares({4, 4}));
  EXPECT_EQ(shares({eight, eight, eight}), Shares({2, 2, 2}));
  EXPECT_EQ(shares({{3, 4, 5}, {3, 4, 5}, {3, 4, 5}}), Shares({1, 1, 1}));
  EXPECT_EQ(shares({{6}, {6}}), Shares({1, 1})) << "a rank has at least one thread";
}

TEST(RankSettings, LeaveARankTheProcessorsThatALauncherHasBoundToIt) {
  EXPECT_EQ(shares({{0, 1, 2, 3}, {4, 5, 6, 7}}), Shares({4, 4}));
  EXPECT_EQ(shares({{0}, {1}, {2}}), Shares({1, 1, 1}));
  // Two ranks on each of two memory nodes.
  EXPECT_EQ(shares({{0, 1, 2, 3}, {0, 1, 2, 3}, {4, 5, 6, 7}, {4, 5, 6, 7}}), Shares({2, 2, 2, 2}));
  EXPECT_EQ(shares({{0, 1, 2, 3}, {2, 3, 4, 5}}), Shares({3, 3}));
}

TEST(RankSettings, TellEachOtherTheirProcessors) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) GTEST_SKIP() << "OMP_NUM_THREADS is set";
  const int all = compute_threads(0).count;
  for (const int size : {2, 3}) {
    std::vector<std::int64_t> open(static_cast<std::size_t>(size)), given = open;
    const auto ends = run_tcp_ranks(size, [&](TcpCommunicator& ranks) {
      const Launch launch = {"", ranks.rank(), size, ranks.rank(), size};
      const auto rank = static_cast<std::size_t>(ranks.rank());
      RunConfig config = small_run("unused", {"threads=0"});
      take_processors(config, launch, ranks);
      open[rank] = config.threads;
      config.threads = 5;
      take_processors(config, launch, ranks);
      given[rank] = config.threads;
    });
    EXPECT_EQ(ends, std::vector<std::string>(ends.size()));
    for (const std::int64_t threads : open) EXPECT_EQ(threads, std::max(1, all / size));
    for (const std::int64_t threads : given) EXPECT_EQ(threads, 5);
  }
}

}  // namespace
}  // namespace wellspring::test
