#include "tests/support/host_team.h"

#include "tests/kernels/launch_functors.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace wellspring::test {
namespace {

/// Members with odd rank leave before the barrier.
struct DivergingFunctor {
  template <class Team>
  void operator()(Team& team, std::int64_t) const {
    if (team.rank() % 2 == 1) return;
    team.sync();
  }
};

/// Writes the team's size, which functors must not do.
struct SizeWriter {
  std::int32_t* out;
  template <class Team>
  void operator()(Team& team, std::int64_t i) const {
    if (team.rank() == 0) out[i] = team.size();
  }
};

struct UnequalScratch {
  template <class Team>
  void operator()(Team& team, std::int64_t) const {
    team.template scratch<float>(team.rank() == 0 ? 4 : 5);
  }
};

struct GreedyScratch {
  template <class Team>
  void operator()(Team& team, std::int64_t) const {
    team.template scratch<float>(100);
  }
};

TEST(HostTeam, AcceptsEqualBytesForEveryTeamSize) {
  constexpr std::int64_t n = 3;
  std::vector<std::int32_t> histogram(64 * n, -1);
  std::vector<std::int64_t> summary(3 * n, -1);
  const HistogramMaker functor{1000, histogram.data(), summary.data()};
  const TeamShape shape{64, 64 * sizeof(std::int32_t) + 3 * sizeof(std::int64_t)};
  expect_equal_for_all_team_sizes(functor, n, shape, {bytes_of(histogram), bytes_of(summary)});
  EXPECT_EQ(summary[0], 1000 * 999 / 2);
}

#if !WELLSPRING_CUDA_STAND_IN
TEST(HostTeam, ReportsBytesThatDependOnTheSize) {
  std::vector<std::int32_t> out(1);
  EXPECT_NONFATAL_FAILURE(
      {
        // Sizes 7, 32 and 256 all differ from 1, but the macro expects a single failure.
        testing::TestPartResultArray failures;
        {
          testing::ScopedFakeTestPartResultReporter reporter(
              testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
          expect_equal_for_all_team_sizes(SizeWriter{out.data()}, 1, {32, 0}, {bytes_of(out)});
        }
        if (failures.size() == 3) ADD_FAILURE() << failures.GetTestPartResult(0).message();
      },
      "first in byte 0 of 4");
}
#endif

TEST(HostTeam, ThrowsOnDivergenceAtABarrier) {
  for (const int size : {2, 7, 32}) {
    EXPECT_THROW(run_thread_league(2, size, 0, DivergingFunctor{}), TeamDivergence) << size;
  }
  EXPECT_NO_THROW(run_thread_league(2, 1, 0, DivergingFunctor{}));
}

/// The last member throws before the barrier at which all others wait.
struct FailingFunctor {
  template <class Team>
  void operator()(Team& team, std::int64_t) const {
    if (team.rank() == team.size() - 1) throw std::runtime_error("the cause");
    team.sync();
  }
};

TEST(HostTeam, RethrowsTheCauseOfADivergence) {
  EXPECT_THROW(run_thread_league(1, 7, 0, FailingFunctor{}), std::runtime_error);
}

TEST(HostTeam, RefusesUnequalAndExcessiveScratch) {
  EXPECT_THROW(run_thread_league(1, 2, 64, UnequalScratch{}), std::logic_error);
  EXPECT_THROW(run_thread_league(1, 2, 64, GreedyScratch{}), std::logic_error);
}

}  // namespace
}  // namespace wellspring::test
