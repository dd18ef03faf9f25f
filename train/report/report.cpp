#include "train/report/report.h"

#include "core/io/base64.h"
#include "core/text/measured_text.h"
#include "core/text/text.h"
#include "train/evaluation/evaluation.h"
#include "train/heads/heads.h"
#include "train/metrics/rates.h"
#include "train/report/chart.h"
#include "train/report/held_out.h"
#include "train/report/time_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace wellspring {
namespace {

constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1c1c; --rule: #8884; --tint: #8881; }
@media (prefers-color-scheme: dark) { :root { --paper: #17181a; --ink: #dedede; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1340px; margin: 2em auto; padding: 0 1em;
  background: var(--paper); color: var(--ink); overflow-wrap: break-word; }
h1 { font-size: 1.6em; margin-bottom: 0; }
h2 { font-size: 1.15em; margin-top: 2em; }
.lead { opacity: .75; margin-top: .2em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .2em 1.2em .2em 0; border-bottom: 1px solid var(--rule); }
.result th { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; background: var(--tint); padding: 1em; border-radius: 4px; }
@media (max-width: 600px) {
  body { margin: 1em auto; padding: 0 .6em; }
  th, td { padding-right: .6em; }
  .result th, .result td { display: block; border: 0; padding: 0; white-space: normal; overflow-wrap: anywhere; }
  .result td { padding-bottom: .5em; }
  pre { padding: .6em; }
}
)";

/// Formats 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

/// Series by name, in order of first appearance.
class SeriesList {
 public:
  ChartSeries& of(const std::string& name) {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const ChartSeries& line) { return line.name == name; });
    if (found != lines_.end()) return *found;
    lines_.emplace_back();
    lines_.back().name = name;
    return lines_.back();
  }
  void add(const std::string& name, std::uint64_t step, double value) {
    of(name).points.emplace_back(static_cast<double>(step), value);
  }
  /// The held-out series of a group: dashed, with dots.
  ChartSeries& held_out(const std::string& group) {
    ChartSeries& line = of(group + ", held out");
    line.group = group;
    line.style = LineStyle::dashed;
    line.marked = true;
    return line;
  }
  /// Adds a point to the horizontal line of a group's best possible value.
  void add_best(const std::string& group, std::uint64_t step, double value) {
    ChartSeries& line = of(group + ", best possible");
    line.group = group;
    line.style = LineStyle::dotted;
    line.points.emplace_back(static_cast<double>(step), value);
  }
  std::vector<ChartSeries> take() { return std::move(lines_); }
  bool empty() const { return lines_.empty(); }

 private:
  std::vector<ChartSeries> lines_;
};

/// Adds a series per source with the values that `value` returns. A source leaves a gap while its
/// weight is zero, but not if it is rare and merely misses a window.
template <class Value>
void add_training(SeriesList& lines, const MetricsHistory& history, Value value) {
  for (const StepReport& report : history.steps)
    for (const SourceReport& source : report.sources) {
      if (source.samples == 0) {
        if (source.wanted_share <= 0) lines.add(source.name, report.step, kGap);
        continue;
      }
      if (const std::optional<double> y = value(source)) lines.add(source.name, report.step, *y);
    }
}

Chart loss_chart(const MetricsHistory& history) {
  SeriesList lines;
  add_training(lines, history, [](const SourceReport& s) { return std::optional(s.loss); });
  for (const EvaluationReport& report : history.evaluations)
    for (const EvaluationResult& result : report.results)
      lines.held_out(result.name)
          .points.emplace_back(static_cast<double>(report.step), result.loss);
  return {"Loss", "step", "loss", lines.take(), true};
}

/// Accuracies in percent, with standard errors for held-out data.
Chart accuracy_chart(const MetricsHistory& history) {
  SeriesList lines;
  add_training(lines, history, [](const SourceReport& s) {
    return s.accuracy ? std::optional(100 * *s.accuracy) : std::nullopt;
  });
  for (const EvaluationReport& report : history.evaluations)
    for (const EvaluationResult& result : report.results) {
      if (!result.accuracy) continue;
      ChartSeries& line = lines.held_out(result.name);
      line.points.emplace_back(static_cast<double>(report.step), 100 * *result.accuracy);
      line.errors.push_back(100 *
                            share_error(*result.accuracy, static_cast<double>(result.samples)));
      if (result.best_accuracy)
        lines.add_best(result.name, report.step, 100 * *result.best_accuracy);
    }
  std::vector<ChartSeries> all = lines.take();
  // Regressions have no accuracy.
  std::erase_if(all, [](const ChartSeries& line) {
    return std::ranges::all_of(line.points,
                               [](const auto& point) { return std::isnan(point.second); });
  });
  return {"Accuracy", "step", "accuracy, %", std::move(all), true, 100};
}

/// Mean IoU of per-pixel heads, in percent.
Chart iou_chart(const MetricsHistory& history) {
  SeriesList lines;
  const auto each = [](const std::string& source, const std::vector<HeadReport>& heads,
                       const auto& use) {
    for (const HeadReport& head : heads)
      for (const Score& score : head.scores)
        if (score.what == kMeanIou)
          use(heads.size() > 1 ? source + ": " + head.head : source, 100 * score.value);
  };
  for (const StepReport& report : history.steps)
    for (const SourceReport& source : report.sources)
      each(source.name, source.heads,
           [&](const std::string& name, double value) { lines.add(name, report.step, value); });
  for (const EvaluationReport& report : history.evaluations)
    for (const EvaluationResult& result : report.results)
      each(result.name, result.heads, [&](const std::string& name, double value) {
        lines.held_out(name).points.emplace_back(static_cast<double>(report.step), value);
      });
  return {"Mean IoU", "step", "mean IoU, %", lines.take(), true, 100};
}

constexpr std::string_view kRmse = "rmse of ";

/// Root mean square errors of regression targets, in one chart per head and unit.
class ErrorCharts {
 public:
  explicit ErrorCharts(const MetricsHistory& history) {
    for (const StepReport& report : history.steps)
      for (const SourceReport& source : report.sources)
        each(source.name, source.heads,
             [&](SeriesList& lines, const std::string& group, const Score& score) {
               lines.add(group, report.step, score.value);
             });
    for (const EvaluationReport& report : history.evaluations)
      for (const EvaluationResult& result : report.results)
        each(result.name, result.heads,
             [&](SeriesList& lines, const std::string& group, const Score& score) {
               lines.held_out(group).points.emplace_back(static_cast<double>(report.step),
                                                         score.value);
               if (score.best) lines.add_best(group, report.step, *score.best);
             });
  }

  std::vector<Chart> take() {
    std::vector<Chart> charts;
    for (Part& part : parts_)
      charts.push_back({"Errors of " + part.head, "step",
                        "root mean square" + (part.unit.empty() ? "" : ", " + part.unit),
                        part.lines.take(), true});
    return charts;
  }

 private:
  struct Part {
    std::string head, unit;
    SeriesList lines;
  };

  template <class Use>
  void each(const std::string& source, const std::vector<HeadReport>& heads, Use use) {
    for (const HeadReport& head : heads)
      for (const Score& score : head.scores)
        if (score.what.starts_with(kRmse))
          use(part(head.head, score.unit), source + ": " + score.what.substr(kRmse.size()), score);
  }
  SeriesList& part(const std::string& head, const std::string& unit) {
    for (Part& known : parts_)
      if (known.head == head && known.unit == unit) return known.lines;
    parts_.push_back({head, unit, {}});
    return parts_.back().lines;
  }

  std::vector<Part> parts_;
};

template <class Value>
ChartSeries over_steps(const std::string& name, const MetricsHistory& history, Value value) {
  ChartSeries line;
  line.name = name;
  for (const StepReport& report : history.steps)
    line.points.emplace_back(static_cast<double>(report.step), value(report));
  return line;
}

Chart throughput_chart(const MetricsHistory& history) {
  ChartSeries rate;
  for (const StepReport& report : history.steps)
    if (report.clean)
      rate.points.emplace_back(static_cast<double>(report.step), report.samples_per_second);
  return {"Throughput", "step", "samples/s", {rate}, true};
}

/// A source without samples has a share of zero, whatever its weight.
Chart share_chart(const MetricsHistory& history) {
  SeriesList lines;
  for (const StepReport& report : history.steps)
    for (const SourceReport& source : report.sources)
      lines.add(source.name, report.step, 100 * source.achieved_share);
  return {"Share of samples", "step", "share, %", lines.take(), true, 100};
}

std::string charts(const ReportInput& input) {
  const MetricsHistory& history = input.history;
  std::string out = "<h2>Curves</h2>\n<div class=\"charts\">\n";
  const auto add = [&out](const Chart& chart) { out += to_html(chart); };
  add(loss_chart(history));
  if (const Chart accuracy = accuracy_chart(history); !accuracy.series.empty()) add(accuracy);
  if (const Chart iou = iou_chart(history); !iou.series.empty()) add(iou);
  for (const Chart& errors : ErrorCharts(history).take()) add(errors);
  add({"Learning rate",
       "step",
       "learning rate",
       {over_steps("", history, [](const StepReport& r) { return double{r.learning_rate}; })},
       true});
  add(throughput_chart(history));
  add({"Gradient norm before clipping",
       "step",
       "L2 norm",
       {over_steps("", history, [](const StepReport& r) { return double{r.gradient_norm}; })},
       true});
  if (input.plan.sources.size() > 1) add(share_chart(history));
  return out + "</div>\n";
}

std::string results(const ReportInput& input) {
  std::string out = "<h2>Result</h2>\n<table class=\"result\">\n";
  const auto row = [&out](const std::string& what, const std::string& value) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_escape(what), html_escape(value));
  };
  const FinishReport& finish = input.finish;
  row("status", to_string(finish.status));
  row("steps", fmt::format("{} of {}", grouped(finish.step), grouped(input.plan.steps)));
  row("training time of this process", human_duration(finish.time.training));
  if (finish.evaluation)
    for (const EvaluationResult& result : finish.evaluation->results) {
      std::string text = scores_text(result.heads, kPlusMinusSign);
      text += fmt::format("; loss {:.4f}, {} samples{}", result.loss, grouped(result.samples),
                          seen_text(result));
      row(result.name + ", held out", text);
    }
  if (finish.best) row("best checkpoint", finish.best->to_string());
  if (finish.throughput.windows > 0) {
    row("samples/s", rate_text(finish.throughput));
    row("samples/s by wall clock", wall_clock_text(finish));
  }
  return out + "</table>\n";
}

std::string inputs(const PlanReport& plan) {
  std::string out =
      "<h2>Sources</h2>\n<div "
      "class=\"scroll\"><table>\n<tr><th>name</th><th>description</th><th>head</th><th>weight at "
      "the first step</th></tr>\n";
  for (const PlanReport::Input& source : plan.sources)
    out +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{:.3g}</td></tr>\n",
                    html_escape(source.name), html_escape(source.description),
                    html_escape(source.head), source.weight);
  return out + "</table></div>\n";
}

/// All processes that trained this run.
std::string processes(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return "";
  std::string out =
      "<h2>Processes</h2>\n<div class=\"scroll\"><table>\n<tr><th>start time</th><th>from "
      "step</th><th>host</th><th>device</th><th>program</th></tr>\n";
  for (const RunRecord& run : runs) {
    const std::string commit = run.commit.empty() ? "commit unknown" : run.commit.substr(0, 12);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html_escape(run.time), grouped(run.step), html_escape(run.host), html_escape(run.device),
        html_escape(fmt::format("{}, {}, {}", run.version, commit, run.build)));
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string pictures_html(const std::vector<ReportPicture>& pictures) {
  if (pictures.empty()) return "";
  std::string out = "<h2>Samples</h2>\n";
  for (const ReportPicture& picture : pictures)
    out += fmt::format(
        "<p class=\"lead\">{0}</p>\n<div class=\"scroll\"><img alt=\"{0}\" "
        "src=\"data:image/png;base64,{1}\"></div>\n",
        html_escape(picture.caption), base64(picture.png));
  return out;
}

std::string page_html(const std::string& title, const std::string& lead, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"lead\">{2}</p>\n{3}"
      "</body>\n</html>\n",
      html_escape(title), kPageStyle + chart_style(), html_escape(lead), body);
}

std::string report_html(const ReportInput& input) {
  const PlanReport& plan = input.plan;
  const std::string lead = fmt::format(
      "Wellspring {}; {}, {}, graph {}; model {} with {} parameters; {} steps of {} samples",
      input.version, plan.device, plan.precision, plan.graph, plan.model,
      grouped(static_cast<std::uint64_t>(plan.parameters)), grouped(plan.steps),
      grouped(static_cast<std::uint64_t>(plan.batch)));
  std::string out = results(input) + time_html(input) + charts(input);
  if (input.finish.evaluation) out += held_out_html(*input.finish.evaluation);
  out += pictures_html(input.pictures);
  out += inputs(plan) + processes(input.history.runs);
  for (const std::string& note : plan.notes)
    out += fmt::format("<p class=\"lead\">{}</p>\n", html_escape(note));
  out += fmt::format("<h2>Memory</h2>\n<pre>{}</pre>\n", html_escape(plan.memory_table));
  out += fmt::format("<h2>Configuration</h2>\n<pre>{}</pre>\n", html_escape(input.config_yaml));
  return page_html(plan.name, lead, out);
}

}  // namespace wellspring
