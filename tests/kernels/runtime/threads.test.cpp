#include "kernels/runtime/threads.h"

#include "kernels/runtime/stream.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <omp.h>

namespace wellspring::test {
namespace {

/// A machine with eight processors.
ThreadLimits eight_processors() {
  ThreadLimits limits;
  limits.processors = 8;
  return limits;
}

TEST(ChooseThreads, FollowsTheDocumentedOrder) {
  ThreadLimits limits = eight_processors();
  EXPECT_EQ(choose_threads(limits).to_string(), "8 threads set by the affinity mask");
  limits.quota = ProcessorQuota{2.5, "control group /job"};
  EXPECT_EQ(choose_threads(limits).to_string(),
            "3 threads set by control group /job, which allows 2.50 processors");
  limits.environment = "5,2";
  EXPECT_EQ(choose_threads(limits).to_string(), "5 threads set by OMP_NUM_THREADS=5,2");
  limits.configured = 6;
  EXPECT_EQ(choose_threads(limits).to_string(), "6 threads set by the configuration");
  limits.most = 1;
  EXPECT_EQ(choose_threads(limits).to_string(), "1 thread set by OMP_THREAD_LIMIT=1");
}

TEST(ChooseThreads, KeepsTheQuotaWithinTheMask) {
  ThreadLimits limits = eight_processors();
  limits.quota = ProcessorQuota{64, "control group /job"};
  EXPECT_EQ(choose_threads(limits).count, 8);
  limits.quota->processors = 0.01;
  EXPECT_EQ(choose_threads(limits).count, 1);
}

TEST(ChooseThreads, IgnoresAMalformedEnvironment) {
  ThreadLimits limits = eight_processors();
  for (const char* text : {"", "0", "-3", "many", "4x", ","}) {
    limits.environment = text;
    EXPECT_EQ(choose_threads(limits).count, 8) << text;
  }
  limits.environment = " 3 , 2";
  EXPECT_EQ(choose_threads(limits).count, 3);
}

TEST(ChooseThreads, RefusesOrLimitsAbsurdCounts) {
  ThreadLimits limits = eight_processors();
  EXPECT_EQ(most_sensible_threads(8), 64);
  EXPECT_EQ(most_sensible_threads(128), 512);
  limits.configured = 64;
  EXPECT_EQ(choose_threads(limits).count, 64);
  for (const std::int64_t count : {std::int64_t{65}, std::int64_t{4096}, INT64_MAX}) {
    limits.configured = count;
    expect_parts(message_of(ErrorKind::config, [&] { choose_threads(limits); }),
                 {std::to_string(count), "8 processors", "the limit is 64", "threads: 0"});
  }
  limits.configured = -1;
  expect_parts(message_of(ErrorKind::config, [&] { choose_threads(limits); }), {"-1 is negative"});
  limits.configured = 0;
  for (const char* text : {"4096", "99999999999999999999"}) {
    limits.environment = text;
    EXPECT_EQ(choose_threads(limits).count, 64);
    expect_parts(choose_threads(limits).decided_by, {text, "capped"});
  }
}

TEST(ComputeThreads, ObeysTheEnvironment) {
  const char* const before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before != nullptr ? before : "";
  const int other = usable_cpu_count() + 1;  // differs from the affinity mask
  setenv("OMP_NUM_THREADS", std::to_string(other).c_str(), 1);
  EXPECT_EQ(Stream(Device::cpu()).threads(), std::min(other, omp_get_thread_limit()));
  EXPECT_EQ(Stream(Device::cpu(), 2).threads(), std::min(2, omp_get_thread_limit()));
  EXPECT_EQ(reading_threads(0), other);
  EXPECT_EQ(reading_threads(2), 2);
  before != nullptr ? setenv("OMP_NUM_THREADS", kept.c_str(), 1) : unsetenv("OMP_NUM_THREADS");
  EXPECT_THROW(Stream(Device::cpu(), 100'000), Error);
}

}  // namespace
}  // namespace wellspring::test
