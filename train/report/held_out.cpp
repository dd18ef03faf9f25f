#include "train/report/held_out.h"

#include "train/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// Largest number of classes with a confusion matrix; more have a chart of their recall.
constexpr std::size_t kMostClasses = 20;

/// A table whose cells are darker the larger their share of the class.
std::string confusion_html(const ClassifierReport& report) {
  const std::size_t classes = report.classes.size();
  std::string out =
      "<figure><figcaption>Confusion matrix: class (row), predicted class (column)</figcaption>\n"
      "<div class=\"scroll\"><table>\n<tr><th></th>";
  for (const ClassReport& one : report.classes)
    out += fmt::format("<th>{}</th>", html_escape(one.name));
  out += "</tr>\n";
  for (std::size_t i = 0; i < classes; ++i) {
    out += fmt::format("<tr><th>{}</th>", html_escape(report.classes[i].name));
    for (std::size_t k = 0; k < classes; ++k) {
      const double samples = report.confusion[i * classes + k];
      const double all = report.classes[i].samples;
      // At most 60 % opaque, so that text stays readable on light and dark pages.
      out += fmt::format(
          "<td class=\"number\" style=\"background: rgb(0 114 178 / {:.0f}%)\">{:.6g}</td>",
          all > 0 ? 60 * samples / all : 0.0, samples);
    }
    out += "</tr>\n";
  }
  return out + "</table></div></figure>\n";
}

/// The classes, from the worst recognised to the best.
Chart recall_chart(const ClassifierReport& report) {
  std::vector<double> recalls;
  for (const ClassReport& one : report.classes)
    if (one.recall) recalls.push_back(100 * *one.recall);
  std::ranges::sort(recalls);
  ChartSeries line;
  for (std::size_t k = 0; k < recalls.size(); ++k)
    line.points.emplace_back(static_cast<double>(k + 1), recalls[k]);
  return {
      "Recall of each class", "classes, from the lowest recall", "recall, %", {line}, true, 100};
}

Chart roc_chart(const HeadReport& head) {
  const ClassifierReport& report = *head.classifier;
  const auto named = std::ranges::find_if(head.scores, [](const Score& score) {
    return !score.signal.empty();  // absent from runs of earlier versions
  });
  const bool first = named != head.scores.end() && named->signal == report.classes[0].name;
  const std::string& signal = report.classes[first ? 0 : 1].name;
  const std::string& background = report.classes[first ? 1 : 0].name;
  ChartSeries line, chance;
  line.name = signal + " against " + background;
  line.points = report.roc_curve;
  chance.name = "chance";
  chance.style = LineStyle::dotted;
  chance.points = {{0, 0}, {1, 1}};
  return {fmt::format("ROC curve (signal: {})", signal),
          fmt::format("background efficiency ({})", background),
          fmt::format("signal efficiency ({})", signal),
          {line, chance},
          true,
          1};
}

Chart calibration_chart(const ClassifierReport& report) {
  ChartSeries line, ideal;
  line.name = "held out";
  line.marked = true;
  for (const CalibrationBin& bin : report.calibration)
    line.points.emplace_back(bin.confidence, bin.accuracy);
  ideal.name = "calibrated";
  ideal.style = LineStyle::dotted;
  ideal.points = {{0, 0}, {1, 1}};
  return {"Calibration", "mean confidence", "accuracy", {line, ideal}, true, 1};
}

std::string classifier_html(const HeadReport& head) {
  const ClassifierReport& report = *head.classifier;
  std::string out;
  if (report.classes.size() > kMostClasses)
    out += to_html(recall_chart(report));
  else if (!report.confusion.empty())
    out += confusion_html(report);
  if (!report.roc_curve.empty()) out += to_html(roc_chart(head));
  if (!report.calibration.empty()) out += to_html(calibration_chart(report));
  return out;
}

}  // namespace

std::string held_out_html(const EvaluationReport& report) {
  std::string out;
  for (const EvaluationResult& result : report.results)
    for (const HeadReport& head : result.heads) {
      const std::string charts = head.classifier ? classifier_html(head) : "";
      if (charts.empty()) continue;
      out += fmt::format("<h2>Held out: {}{}</h2>\n<div class=\"charts\">\n{}</div>\n",
                         html_escape(result.name),
                         result.heads.size() > 1 ? ", head " + html_escape(head.head) : "", charts);
    }
  return out;
}

}  // namespace wellspring
