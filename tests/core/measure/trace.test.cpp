#include "core/measure/trace.h"

#include "core/io/files.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <set>
#include <thread>

#if WELLSPRING_CUDA && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace wellspring::test {
namespace {

class TraceTest : public testing::Test {
 protected:
  /// The events of the written file, except for thread names.
  nlohmann::json written(Trace& trace) const {
    trace.write();
    nlohmann::json spans = nlohmann::json::array();
    for (const auto& event : nlohmann::json::parse(read_text(file_)))
      if (event["ph"] == "X") spans.push_back(event);
    return spans;
  }
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "trace.json";
};

TEST_F(TraceTest, RecordsNestedSpansOfAllThreads) {
  const TraceSpan before(stages::kTrain);
  Trace trace(file_);
  EXPECT_TRUE(Trace::on());
  {
    const TraceSpan step(stages::kStep, 7);
    const TraceSpan window(stages::kWindow, -1, "as \"configured\"");
  }
  std::thread([] { const TraceSpan item(stages::kItem); }).join();
  const TraceSpan open(stages::kFetch);
  const nlohmann::json spans = written(trace);
  EXPECT_FALSE(Trace::on());
  ASSERT_EQ(spans.size(), 3u)
      << "spans that began before the recording or have not ended are left out";
  EXPECT_EQ(spans[0]["name"], "compute.step");
  EXPECT_EQ(spans[0]["cat"], "compute");
  EXPECT_EQ(spans[0]["args"], (nlohmann::json{{"step", 7}}));
  EXPECT_EQ(spans[1]["args"], (nlohmann::json{{"detail", "as \"configured\""}}));
  EXPECT_LE(spans[0]["ts"], spans[1]["ts"]);
  EXPECT_EQ(spans[0]["tid"], spans[1]["tid"]);
  EXPECT_NE(spans[0]["tid"], spans[2]["tid"]);
}

TEST_F(TraceTest, RecordsOnlyWhileItExists) {
  { const TraceSpan span(stages::kStep); }
  {
    const Trace abandoned(file_);
    const TraceSpan span(stages::kStep);
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
  Trace trace(file_);
  EXPECT_TRUE(written(trace).empty()) << "a new recording begins without spans";
}

TEST_F(TraceTest, RefusesAFileThatCannotBeCreated) {
  expect_parts(
      message_of(ErrorKind::runtime, [&] { Trace trace(folder_.path() / "absent/a.json"); }),
      {"absent"});
  EXPECT_FALSE(Trace::on());
}

#if WELLSPRING_CUDA && __has_include(<nvtx3/nvToolsExt.h>)
// So a span costs no more than a comparison in a run without a trace.
TEST_F(TraceTest, IsNoRangeOfNvtxWithoutATool) {
  if (std::getenv("NVTX_INJECTION64_PATH") != nullptr) GTEST_SKIP() << "a tool is attached";
  EXPECT_EQ(nvtxRangePushA("a"), NVTX_NO_PUSH_POP_TRACKING);
  EXPECT_EQ(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
}
#endif

}  // namespace
}  // namespace wellspring::test
