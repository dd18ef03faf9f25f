// The plan and the results of a sweep, without runs.
#include "train/sweep.h"

#include "tests/train/training_testing.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace wellspring::test {
namespace {

TEST(Sweep, ReadsTheValuesOfAKey) {
  const SweepAxis axis = parse_axis("data.sources=[{name: a, kind: b}], [],\"x,y\"");
  EXPECT_EQ(axis.key, "data.sources");
  EXPECT_EQ(axis.values, (std::vector<std::string>{"[{name: a, kind: b}]", "[]", "\"x,y\""}));
  EXPECT_EQ(parse_axis("init.from=,runs/a").values, (std::vector<std::string>{"", "runs/a"}));
}

TEST(Sweep, PlansARunForEachCombinationAndSeed) {
  const SweepPlan plan =
      plan_sweep({parse_axis("data.limit_per_class=10,100"), parse_axis("init.from=,runs/a")},
                 {"1", "2", "3"}, {"train.steps=5"}, "out");
  EXPECT_EQ(plan.cells.size(), 4u);
  ASSERT_EQ(plan.runs.size(), 12u);
  const SweepRun& run = plan.runs[4];
  EXPECT_EQ(run.cell, 1u);
  EXPECT_TRUE(run.name.starts_with("limit_per_class=10,from=runs_a-")) << run.name;
  EXPECT_TRUE(run.name.ends_with(",seed=2")) << run.name;
  EXPECT_EQ(run.folder, std::filesystem::path("out") / run.name);
  EXPECT_EQ(run.overrides, (std::vector<std::string>{
                               "train.steps=5", "data.limit_per_class=10", "init.from=runs/a",
                               "seed=2", "name=" + run.name, "out=" + run.folder.string()}));
  EXPECT_EQ(plan_sweep({}, {}, {}, "out").runs.at(0).name, "run");
}

TEST(Sweep, RefusesWhatCannotBeASetOfRuns) {
  const auto refused = [](const std::vector<std::string>& over,
                          const std::vector<std::string>& seeds = {}) {
    return message_of(ErrorKind::config, [&] {
      std::vector<SweepAxis> axes;
      for (const std::string& text : over) axes.push_back(parse_axis(text));
      plan_sweep(axes, seeds, {}, "out");
    });
  };
  expect_parts(refused({"train.steps"}), {"is not key=value,value"});
  expect_parts(refused({"train.steps=1,2,1"}), {"--over train.steps has the value '1' twice"});
  expect_parts(refused({"a=1", "a=2"}), {"--over has the value 'a' twice"});
  expect_parts(refused({"a=1"}, {"3", "3"}), {"--seeds has the value '3' twice"});
  expect_parts(refused({"seed=1,2"}), {"--over seed", "use --seeds"});
  std::string many = "b=0";
  for (int i = 1; i < 200; ++i) many += "," + std::to_string(i);
  expect_parts(refused({many, "c" + many.substr(1)}), {"more than 10000 runs"});
}

TEST(Sweep, ReportsMeanAndSpreadOfEachCell) {
  const TemporaryFolder folder;
  const SweepPlan plan =
      plan_sweep({parse_axis("data.limit_per_class=10,1000"), parse_axis("model.name=a,b")},
                 {"1", "2"}, {}, folder.path());
  std::vector<SweepOutcome> outcomes(plan.runs.size());
  const double values[] = {0.5, 0.7, 0.25, 0.25, 0.875};
  for (std::size_t r = 0; r < 5; ++r) outcomes[r] = {SweepStatus::finished, values[r], ""};
  outcomes[5] = {SweepStatus::failed, {}, "cannot <read>"};
  const std::vector<SweepCell> cells = summarise(plan, outcomes);
  EXPECT_DOUBLE_EQ(cells[0].mean, 0.6);
  EXPECT_DOUBLE_EQ(cells[0].spread, std::sqrt(0.02));  // 0.5 and 0.7, with n - 1
  EXPECT_EQ(cells[1].spread, 0);
  EXPECT_EQ(cells[2].finished, 1u);
  EXPECT_EQ(cells[3].finished, 0u);
  const auto table = sweep_table(plan, outcomes, "accuracy");
  ASSERT_EQ(table.size(), 5u);
  EXPECT_EQ(table[0], (std::vector<std::string>{"limit_per_class", "name", "runs", "accuracy"}));
  EXPECT_EQ(table[1], (std::vector<std::string>{"10", "a", "2", "60 +- 14 %"}));
  EXPECT_EQ(table[3][2], "1 of 2");
  EXPECT_EQ(table[4][3], "-");
  write_sweep(plan, outcomes, "accuracy", folder.path());
  const auto json = nlohmann::json::parse(slurp(folder / "sweep.json"));
  EXPECT_EQ(json["runs"][4]["value"], 0.875);
  EXPECT_EQ(json["runs"][5]["status"], "failed");
  EXPECT_EQ(json["runs"][6]["status"], "waiting");
  EXPECT_EQ(json["runs"][2]["settings"]["model.name"], "b");
  const std::string html = slurp(folder / "sweep.html");
  expect_parts(html, {"log10 of data.limit_per_class", "accuracy, %", "cannot &lt;read&gt;",
                      "</svg>name a</li>", "</svg>name b</li>"});
  // One cell has a spread: 60 +- 14.142 % at log10(10). The axes show [0, 3] from x = 58 to 426, and
  // 20 to 100 % from y = 200 to 10.
  expect_parts(html, {"<path class=\"c0 error\" d=\"M180.7 138.6V71.4\"/>"});
  EXPECT_EQ(html.find("c1 error"), std::string::npos);
}

TEST(Sweep, ReadsAFigureOfTheLastEvaluation) {
  const TemporaryFolder folder;
  Listener listener;
  Trainer(small_run(folder.path(), {"train.steps=4"}), listener, test::quick()).run();
  const EvaluationReport& last = listener.evaluations.back();
  EXPECT_EQ(sweep_figure(folder.path(), "accuracy"), last.results[0].accuracy);
  EXPECT_EQ(sweep_figure(folder.path(), "noise.loss"), last.results[1].loss);
  EXPECT_EQ(sweep_figure(folder.path(), "shapes/accuracy"), last.results[0].accuracy);
  EXPECT_EQ(sweep_figure(folder.path(), "rmse of x"), std::nullopt);
}

}  // namespace
}  // namespace wellspring::test
