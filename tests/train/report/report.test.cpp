// The content and the width of a run's report page.
#include "train/report/report.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

namespace wellspring {
namespace {

/// Two sources and one regression. The second source starts at step 30; the first ends at step 40.
ReportInput input() {
  ReportInput all;
  all.plan.name = "a <run>";
  all.plan.parameters = 1234567;
  all.plan.steps = 60;
  all.plan.batch = 1024;
  all.plan.sources = {{"drawn", "generator", "drawn", 1}, {"photos", "files", "photos", 1.0 / 3}};
  all.finish.step = 60;
  all.finish.throughput = {4.01e6, 9, Interval{3.66e6, 4.36e6}};
  for (std::uint64_t step = 10; step <= 60; step += 10) {
    StepReport report;
    report.step = step;
    report.samples_per_second = 4e6;
    report.clean = true;
    const bool drawn = step <= 40, photos = step >= 30;
    report.sources = {{"drawn", drawn ? 10u : 0u, drawn ? 0.5 : 0, drawn ? 0.5 : 0, 1, 0.5},
                      {"photos", photos ? 10u : 0u, photos ? 0.5 : 0, photos ? 0.5 : 0, 2, 0.25}};
    all.history.steps.push_back(report);
  }
  EvaluationReport evaluation;
  evaluation.step = 60;
  evaluation.results = {{"drawn",
                         "drawn",
                         400000,
                         0,
                         0,
                         0.25,
                         0.9,
                         0.95,
                         {{"drawn", 0.25, {{"accuracy", 0.9, "", 0.0004743, 0.95}}}}},
                        {"photos",
                         "place",
                         5,
                         0,
                         0,
                         1,
                         {},
                         {},
                         {{"place", 1, {{"rmse of x", 2, "mm", {}, 1.5}, {"rmse of t", 3, "s"}}}}}};
  all.history.evaluations = {evaluation};
  all.finish.evaluation = evaluation;
  all.pictures = {{{}, "step 0"}, {{}, "step 29"}};
  return all;
}

std::string figure(const std::string& page, const std::string& title) {
  const std::size_t begin = page.find("<figcaption>" + title + "<");
  EXPECT_NE(begin, std::string::npos) << title;
  return begin == std::string::npos ? ""
                                    : page.substr(begin, page.find("</figure>", begin) - begin);
}

/// Start and end of the curve with a CSS class, in pixels from the left.
std::pair<double, double> extent(const std::string& chart, const std::string& colour) {
  const std::regex path("<path class=\"" + colour + "\" d=\"(M(?!2 5H26)[^\"]*)\"");
  std::smatch found;
  if (!std::regex_search(chart, found, path)) return {-1, -1};
  const std::string d = found[1];
  const std::size_t last = d.find_last_of("ML");
  return {std::stod(d.substr(1)), std::stod(d.substr(last + 1))};
}

// A chart's plot is between x = 58 (step 0) and x = 426 (step 60).
TEST(Report, StartsAndEndsCurvesWithTheirSources) {
  const std::string page = report_html(input());
  for (const char* title : {"Loss", "Accuracy"}) {
    const auto drawn = extent(figure(page, title), "c0"),
               photos = extent(figure(page, title), "c1");
    EXPECT_NEAR(drawn.first, 58 + 368 * 10 / 60., 0.1) << title;
    EXPECT_NEAR(drawn.second, 58 + 368 * 40 / 60., 0.1) << title;
    EXPECT_NEAR(photos.first, 58 + 368 * 30 / 60., 0.1) << title;
    EXPECT_NEAR(photos.second, 426, 0.1) << title;
  }
  // A share of 0 must be drawn, too.
  EXPECT_NEAR(extent(figure(page, "Share of samples"), "c0").second, 426, 0.1);
}

// A curve must have a gap where its source is off, but not where a rare source misses a window.
TEST(Report, LeavesGapsOnlyWhereASourceIsOff) {
  for (const double wanted : {0.0, 0.01}) {
    ReportInput all = input();
    all.history.steps[2].sources[0].samples = 0;
    all.history.steps[2].sources[0].wanted_share = wanted;
    const std::string loss = figure(report_html(all), "Loss");
    const std::regex path("<path class=\"c0\" d=\"(M(?!2 5H26)[^\"]*)\"");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(loss, found, path));
    const std::string d = found[1];
    EXPECT_EQ(std::count(d.begin(), d.end(), 'M'), wanted == 0 ? 2 : 1) << d;
  }
}

TEST(Report, ShowsWhereEachProcessRan) {
  ReportInput all = input();
  EXPECT_EQ(report_html(all).find("<h2>Processes"), std::string::npos);
  RunRecord run;
  run.time = "2026-11-22T09:45:34Z";
  run.host = "node<17>";
  run.version = "0.4";
  run.commit = "0123456789abcdef";
  run.build = "Release";
  run.device = "CPU, 2 threads";
  all.history.runs = {run, run};
  all.history.runs[1].step = 12345;
  all.history.runs[1].commit = "";
  const std::string page = report_html(all);
  for (const char* text : {"2026-11-22T09:45:34Z", "node&lt;17&gt;", "0.4, 0123456789ab, Release",
                           "CPU, 2 threads", "12,345", "0.4, commit unknown, Release"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(Report, DrawsTheBestPossibleResult) {
  const std::string page = report_html(input());
  const std::string accuracy = figure(page, "Accuracy");
  // c0 is the colour of the source.
  test::expect_parts(accuracy, {">drawn, best possible<", "c0 dotted"});
  EXPECT_EQ(accuracy.find(">120<"), std::string::npos) << "the axis exceeds 100 %";
  const std::string errors = figure(page, "Errors of place");
  test::expect_parts(errors, {">photos: x, best possible<", "root mean square, mm"});
  EXPECT_EQ(errors.find("photos: t"), std::string::npos) << "another unit needs a chart of its own";
}

TEST(Report, FormatsNumbersForReaders) {
  const std::string page = report_html(input());
  for (const char* part :
       {"1,234,567 parameters", "4.01 M (95 %: 3.66 M to 4.36 M; median of 9 windows)",
        "accuracy 90.000 \u00b1 0.047 % (best possible 95.00 %)", "400,000 samples",
        "rmse of x 2 mm (best possible 1.5 mm)", ">0.333<"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

// Elements that may be wider than 360 pixels must scroll; charts must not be wider than the page.
TEST(Report, FitsOnAPhone) {
  const std::string page = report_html(input());
  test::expect_parts(page, {"width=device-width, initial-scale=1", "minmax(min(400px, 100%), 1fr)",
                            ".scroll { overflow-x: auto; }", "overflow-wrap: break-word"});
  const std::regex wide("(<img|<table>)");
  int found = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), wide), end; at != end; ++at, ++found)
    EXPECT_TRUE(at->prefix().str().ends_with("<div class=\"scroll\">"));
  EXPECT_EQ(found, 4) << "two pictures, the list of sources and the times";
}

// Two processes, the second one after a resume; a third one was killed.
TEST(Report, SaysWhereTheTimeOfAllProcessesWent) {
  ReportInput all = input();
  all.plan.folder = "runs/a <run>";
  all.plan.sources[1].streamed = true;
  all.history.runs.resize(3);
  all.history.times = {{.total = 100, .training = 80, .evaluations = 20, .first_steps = 5},
                       {.total = 100, .training = 70, .checkpoints = 30}};
  for (StepReport& report : all.history.steps) report.wait = 0.3;
  all.history.steps[0].clean = false;
  all.history.steps[0].wait = 1;
  all.history.steps.push_back(all.history.steps.back());  // a sixth clean window
  const std::string page = report_html(all);
  test::expect_parts(
      page, {"<h2>Where the time went</h2>",
             "<p>HIGHLY input-bound: steps waited for rows in 30.0 % of their time",
             "<code>wellspring diagnose runs/a &lt;run&gt;/config.resolved.yaml</code>",
             "<td>steps</td><td class=\"number\">2:30</td><td class=\"number\">75.0 %</td>",
             "<td>in steps: waiting for rows</td><td class=\"number\">45.0 s</td>",
             "<td>in steps: the first steps, compared with later ones</td>", "<td>checkpoints</td>",
             "1 process did not end in order"});
  EXPECT_LT(page.find("<td>checkpoints</td>"), page.find("<td>evaluations</td>"));
}

TEST(Report, FlagsClocksThatDisagree) {
  ReportInput all = input();
  all.finish.time.clocks = 0.9;
  test::expect_parts(report_html(all), {"samples/s by wall clock", "3.61 M !: the host"});
}

TEST(Report, FollowsTheReadersDarkTheme) {
  const std::string page = report_html(input());
  EXPECT_NE(page.find("@media (prefers-color-scheme: dark) { :root { --paper"), std::string::npos);
  // The drawings must contain no colour values.
  const std::size_t body = page.find("<body>");
  EXPECT_EQ(page.find("stroke=\"#", body), std::string::npos);
  EXPECT_EQ(page.find("fill:#", body), std::string::npos);
}

TEST(Report, ShowsTheFirstBatchOfEverySource) {
  const std::string page = report_html(input());
  test::expect_parts(page, {"alt=\"step 0\"", "alt=\"step 29\""});
  EXPECT_EQ(page.find("<run>"), std::string::npos);
}

}  // namespace
}  // namespace wellspring
