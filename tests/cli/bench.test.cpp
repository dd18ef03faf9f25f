// `bench`. No test looks at how fast anything is.
#include "bench/measure.h"
#include "tests/cli/command.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace wellspring::test {
namespace {

TEST(Measure, RateIsWorkOverTime) {
  int calls = 0;
  const bench::Row row = bench::measure("nothing", "things/s", {[&] { ++calls; }, 1}, 3);
  EXPECT_EQ(row.repeats, 3);
  EXPECT_GT(row.rate, 0);
  EXPECT_GT(calls, 3);
}

TEST(Bench, PrintsRowsBesideTheirCeilingAndWritesThemAsJson) {
  const TemporaryFolder folder;
  const Outcome outcome = wellspring(
      {"bench", "generators", "--filter", "^ee_mumu$", "--json", "rows.json"}, folder.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("memory write"), std::string::npos) << outcome.out;
  const auto report = nlohmann::json::parse(slurp(folder.path() / "rows.json"));
  ASSERT_EQ(report.at("rows").size(), 2u);  // as many as the device likes, and a training batch
  const auto& row = report.at("rows").at(0);
  EXPECT_EQ(row.at("unit"), "events/s");
  EXPECT_GT(row.at("rate"), 0);
  EXPECT_GT(row.at("ceiling").at("rate"), 0);
  EXPECT_FALSE(report.at("machine").at("processor").get<std::string>().empty());
}

TEST(Bench, AFileThatCannotBeWrittenIsFoundBeforeAnythingIsMeasured) {
  const TemporaryFolder folder;
  for (const char* file : {"no/such/rows.json", "."}) {
    const Outcome outcome =
        wellspring({"bench", "generators", "--filter", "^ee_mumu$", "--json", file}, folder.path());
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(std::string(file) + ": cannot create"), std::string::npos)
        << outcome.err;
  }
}

}  // namespace
}  // namespace wellspring::test
