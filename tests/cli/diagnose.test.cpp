// `diagnose`. No test depends on the speed of the machine.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDiagnosedRun = R"(name: tiny
device: cpu
threads: 1
data: {sources: [{name: events, generator: ee_mumu}]}
model: {name: mlp}
train: {batch: 8, steps: 100}
)";

class DiagnoseCommand : public testing::Test {
 protected:
  DiagnoseCommand() { std::ofstream(folder_.path() / "tiny.yaml") << kDiagnosedRun; }
  Outcome diagnose(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"diagnose"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return wellspring(arguments, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(DiagnoseCommand, PrintsAndWritesTheLadderAndFailsItsGate) {
  const Outcome outcome =
      short_diagnosis({"tiny.yaml", "train.batch=16", "--json", "a.json", "--html", "a.html",
                       "--fail-if", "share_of_ceiling < 0", "--fail-if", "wait >= 0%"},
                      folder_.path());
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  expect_parts(outcome.out, {"tiny", "16 samples per step", "resident batches", "as configured",
                             "data alone, no network", "input-bound", "memory copy",
                             "matrix product, f32", "matrix product, bf16",
                             "bus, host to device            none: the step runs on the CPU",
                             "'share_of_ceiling < 0'", "passed", "'wait >= 0%'", "FAILED"});
  std::ifstream file(folder_.path() / "a.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  EXPECT_EQ(json["rungs"].size(), 3u);
  EXPECT_EQ(json["gates"][1]["failed"], true);
  EXPECT_TRUE(json["machine"].contains("processor"));
  ASSERT_EQ(json["machine_rates"].size(), 4u) << "nothing is streamed";
  for (int i = 0; i < 3; ++i) EXPECT_GT(json["machine_rates"][i]["rate"], 0) << i;
  EXPECT_TRUE(json["machine_rates"][3]["rate"].is_null());
  EXPECT_TRUE(fs::exists(folder_.path() / "a.html"));
  EXPECT_FALSE(fs::exists(folder_.path() / "runs")) << "no run folder";
}

TEST_F(DiagnoseCommand, RefusesWhatItCannotDoBeforeItMeasures) {
  const Outcome condition = diagnose({"absent.yaml", "--fail-if", "shares < 1"});
  EXPECT_EQ(condition.exit_code, 2);
  expect_parts(condition.err, {"--fail-if 'shares < 1'", "share_of_ceiling"});
  EXPECT_EQ(diagnose({"tiny.yaml", "--json", "absent/a.json"}).exit_code, 1);
  EXPECT_EQ(diagnose({"tiny.yaml", "--seconds", "0"}).exit_code, 2);
  EXPECT_EQ(diagnose({"tiny.yaml", "train.graph=check"}).exit_code, 2);
  std::ofstream(folder_.path() / "files.yaml")
      << "name: files\ndevice: cpu\ndata: {sources: [{name: a, kind: files, path: absent}]}\n"
         "model: {name: mlp}\ntrain: {steps: 10}\n";
  EXPECT_EQ(diagnose({"files.yaml"}).exit_code, 3);
}

}  // namespace
}  // namespace wellspring::test
