#include "train/report/held_out.h"

#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring {
namespace {

EvaluationReport report_of(std::size_t classes) {
  ClassifierReport classifier;
  for (std::size_t k = 0; k < classes; ++k) {
    classifier.classes.push_back({"<c" + std::to_string(k) + ">", 40});
    classifier.classes.back().recall = 0.25;
  }
  classifier.confusion.assign(classes * classes, 0);
  classifier.confusion[0] = 30;
  classifier.confusion[1] = 10;
  EvaluationReport report;
  EvaluationResult result;
  result.name = "held & out";
  result.heads = {{"h", 0, {}, classifier}, {"place", 0, {{"rmse of x", 2}}}};
  report.results = {result};
  return report;
}

TEST(HeldOut, DrawsAConfusionMatrix) {
  const std::string html = held_out_html(report_of(3));
  test::expect_parts(html, {"Held out: held &amp; out, head h", "<th>&lt;c2&gt;</th>",
                            "rgb(0 114 178 / 45%)\">30<", "rgb(0 114 178 / 15%)\">10<",
                            "<div class=\"scroll\"><table>"});
  EXPECT_EQ(html.find("head place"), std::string::npos);
  EXPECT_EQ(html.find("ROC"), std::string::npos);
}

TEST(HeldOut, DrawsTheRecallOfManyClasses) {
  const std::string html = held_out_html(report_of(21));
  test::expect_parts(html, {"Recall of each class"});
  EXPECT_EQ(html.find("<table>"), std::string::npos);
}

TEST(HeldOut, DrawsCurves) {
  EvaluationReport report = report_of(2);
  ClassifierReport& classifier = *report.results[0].heads[0].classifier;
  classifier.roc_curve = {{0, 0}, {0.25, 0.5}, {1, 1}};
  classifier.calibration = {{0.5, 0.75, 0.6}, {0.5, 0.95, 0.9}};
  test::expect_parts(
      held_out_html(report),
      {"<figcaption>ROC curve (signal: &lt;c1&gt;)<", "&lt;c1&gt; against &lt;c0&gt;",
       "signal efficiency (&lt;c1&gt;)", "background efficiency (&lt;c0&gt;)", ">chance<",
       "<figcaption>Calibration<", ">calibrated<"});
  report.results[0].heads[0].scores = {{"accuracy", 0.5}, {"area under the curve", 0.7}};
  report.results[0].heads[0].scores[1].signal = "<c0>";
  test::expect_parts(held_out_html(report),
                     {"ROC curve (signal: &lt;c0&gt;)", "&lt;c0&gt; against &lt;c1&gt;",
                      "signal efficiency (&lt;c0&gt;)", "background efficiency (&lt;c1&gt;)"});
  EXPECT_EQ(held_out_html(EvaluationReport{}), "");
}

}  // namespace
}  // namespace wellspring
