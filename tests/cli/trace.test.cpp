// `train --trace` and `diagnose --trace`: names, nesting and threads of the spans.
#include "tests/cli/command.h"
#include "tests/support/error_testing.h"
#include "tests/support/image_fixtures.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

constexpr const char* kTracedRun = R"(name: traced
device: cpu
threads: 1
data:
  size: 8
  sources: [{name: photos, kind: files, path: photos, storage: streamed, ahead: 2, resize: 8}]
eval: {sources: [{of: photos, fraction: 0.34}], every: 3}
model: {name: mlp}
train: {batch: 4, steps: 6, log_every: 3, checkpoint_every: 3}
)";

struct Event {
  std::string name;
  double begin = 0, end = 0;
  int thread = 0;
  std::int64_t step = -1;
};

class TraceOption : public testing::Test {
 protected:
  TraceOption() {
    write_image_folder(folder_.path() / "photos", 2, 6, 10, 10);
    std::ofstream(folder_.path() / "traced.yaml") << kTracedRun;
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return wellspring(arguments, folder_.path());
  }
  /// Events by name.
  std::map<std::string, std::vector<Event>> events(const std::string& name) const {
    std::ifstream file(folder_.path() / name);
    std::map<std::string, std::vector<Event>> events;
    for (const auto& json : nlohmann::json::parse(file)) {
      if (json["ph"] != "X") continue;
      const double begin = json["ts"];
      events[json["name"]].push_back({json["name"], begin, begin + json["dur"].get<double>(),
                                      json["tid"], json["args"].value("step", std::int64_t{-1})});
    }
    return events;
  }
  /// Times are rounded to nanoseconds.
  static bool inside(const Event& inner, const Event& outer) {
    constexpr double kRounding = 2e-3;  // microseconds: the beginning, and the duration
    return inner.thread == outer.thread && inner.begin >= outer.begin - kRounding &&
           inner.end <= outer.end + kRounding;
  }
  static void expect_inside(const std::vector<Event>& inner, const std::vector<Event>& outer) {
    for (const Event& event : inner)
      EXPECT_TRUE(std::ranges::any_of(outer, [&](const Event& o) { return inside(event, o); }))
          << event.name;
  }
  TemporaryFolder folder_;
};

TEST_F(TraceOption, ShowsTheStagesOfARunOnTheirThreads) {
  const Outcome outcome = run({"train", "traced.yaml", "--trace", "trace.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  auto all = events("trace.json");
  ASSERT_EQ(all["pipeline.train"].size(), 1u);
  const std::vector<Event>& train = all["pipeline.train"];
  for (const char* name : {"dataloader.fetch", "compute.step", "compute.forward",
                           "compute.backward", "compute.optimize"}) {
    EXPECT_EQ(all[name].size(), 6u) << name;
    expect_inside(all[name], train);
  }
  std::int64_t next = 0;
  for (const Event& step : all["compute.step"]) EXPECT_EQ(step.step, next++);
  EXPECT_EQ(all["pipeline.evaluate"].size(), 2u);
  EXPECT_GE(all["checkpoint.capture"].size(), 2u);
  EXPECT_GE(all["device.transfer"].size(), 6u);
  expect_inside(all["device.transfer"], all["dataloader.fetch"]);
  for (const char* name : {"data.preprocess", "compute.forward", "compute.backward"})
    expect_inside(all[name], all["compute.step"]);
  EXPECT_GE(all["data.item"].size(), 24u) << "rows of 6 batches";
  for (const Event& item : all["data.item"]) EXPECT_NE(item.thread, train[0].thread);
  for (const char* name : {"data.read", "data.decode", "data.resize"}) {
    EXPECT_GE(all[name].size(), 24u) << name;
    std::vector<Event> of_workers = all[name];
    std::erase_if(of_workers, [&](const Event& event) { return event.thread == train[0].thread; });
    expect_inside(of_workers, all["data.item"]);
  }
}

#ifdef WELLSPRING_NVTX_LISTENER
// Ranges have the names of the spans, end, and need no --trace. Stages of a step on the CPU are marked
// only with --trace.
TEST_F(TraceOption, NamesRangesForNvidiasTools) {
  const std::filesystem::path log = folder_.path() / "ranges";
  const Outcome outcome = wellspring(
      {"train", "traced.yaml", "data.sources.0.storage=resident"}, folder_.path(),
      {{"NVTX_INJECTION64_PATH", WELLSPRING_NVTX_LISTENER}, {"WS_NVTX_LOG", log.string()}});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::map<std::string, int> begun;
  int open = 0;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    open += line == "/" ? -1 : 1;
    if (line != "/") ++begun[line];
  }
  EXPECT_EQ(open, 0);
  EXPECT_EQ(begun["pipeline.train"], 1);
  for (const char* name : {"compute.step", "dataloader.fetch"}) EXPECT_EQ(begun[name], 6) << name;
}
#endif

TEST_F(TraceOption, ShowsWhenARunContinues) {
  const std::vector<std::string> first = {"train", "traced.yaml", "optimizer.schedule=constant",
                                          "optimizer.warmup=0"};
  ASSERT_EQ(run(first).exit_code, 0);
  std::vector<std::string> second = first;
  second.insert(second.end(), {"--extend", "3", "--trace", "trace.json"});
  ASSERT_EQ(run(second).exit_code, 0);
  auto all = events("trace.json");
  EXPECT_EQ(all["checkpoint.restart"].size(), 1u);
  ASSERT_EQ(all["compute.step"].size(), 3u);
  EXPECT_EQ(all["compute.step"][0].step, 6);
}

TEST_F(TraceOption, NamesTheRungsOfADiagnosis) {
  const Outcome outcome = short_diagnosis(
      {"traced.yaml", "data.sources.0.storage=resident", "--trace", "trace.json"}, folder_.path());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::ifstream file(folder_.path() / "trace.json");
  std::set<std::string> rungs;
  for (const auto& json : nlohmann::json::parse(file))
    if (json["name"] == "pipeline.window") rungs.insert(json["args"]["detail"]);
  EXPECT_TRUE(rungs.contains("resident batches"));
  EXPECT_TRUE(rungs.contains("as configured"));
}

TEST_F(TraceOption, RefusesAFileThatCannotBeCreatedBeforeTheRun) {
  for (const char* command : {"train", "diagnose"}) {
    const Outcome outcome = run({command, "traced.yaml", "--trace", "absent/trace.json"});
    EXPECT_EQ(outcome.exit_code, 1) << command;
    expect_parts(outcome.err, {"absent"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "runs"));
}

}  // namespace
}  // namespace wellspring::test
