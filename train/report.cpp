#include "train/report.h"

#include "core/base64.h"
#include "core/text.h"
#include "train/chart.h"
#include "train/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wellspring {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1340px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; margin-bottom: 0; }
h2 { font-size: 1.15em; margin-top: 2em; }
.lead { opacity: .75; margin-top: .2em; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1.5em; }
svg { width: 100%; height: auto; font-family: inherit; }
svg path { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .grid { stroke: currentColor; opacity: .15; }
svg text { fill: currentColor; }
svg .title { font-size: 13px; font-weight: 600; }
svg .tick, svg .label { font-size: 11px; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .2em 1.2em .2em 0; border-bottom: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; background: #8881; padding: 1em; border-radius: 4px; }
img { max-width: 100%; image-rendering: pixelated; }
)";

/// Series by name, in the order in which they appear first.
class SeriesList {
 public:
  void add(const std::string& name, std::uint64_t step, double value) {
    auto found = std::find_if(lines_.begin(), lines_.end(),
                              [&](const ChartSeries& line) { return line.name == name; });
    if (found == lines_.end()) {
      lines_.emplace_back();
      found = lines_.end() - 1;
      found->name = name;
    }
    found->points.emplace_back(static_cast<double>(step), value);
  }
  std::vector<ChartSeries> take() { return std::move(lines_); }
  std::vector<ChartSeries> take_held_out() {
    for (ChartSeries& line : lines_) line.dashed = line.marked = true;
    return take();
  }

 private:
  std::vector<ChartSeries> lines_;
};

/// A series a source, out of what `value` takes from each source's part of a line; no point where
/// there is no value.
template <class Value>
std::vector<ChartSeries> by_source(const MetricsHistory& history, Value value) {
  SeriesList lines;
  for (const StepReport& report : history.steps)
    for (const SourceReport& source : report.sources) {
      if (source.samples == 0) continue;
      if (const std::optional<double> y = value(source)) lines.add(source.name, report.step, *y);
    }
  return lines.take();
}

template <class Value>
std::vector<ChartSeries> held_out(const MetricsHistory& history, Value value) {
  SeriesList lines;
  for (const EvaluationReport& report : history.evaluations)
    for (const EvaluationResult& result : report.results)
      if (const std::optional<double> y = value(result))
        lines.add(result.name + ", held out", report.step, *y);
  return lines.take_held_out();
}

/// A series for each root mean square error of a source's regressions.
void add_errors(SeriesList& lines, const std::string& source, const std::vector<HeadReport>& heads,
                std::uint64_t step, const char* suffix) {
  for (const HeadReport& head : heads)
    for (const Score& score : head.scores)
      if (score.what.starts_with("rmse"))
        lines.add(fmt::format("{}: {}{}{}", source, score.what,
                              score.unit.empty() ? "" : ", " + score.unit, suffix),
                  step, score.value);
}

std::vector<ChartSeries> errors(const MetricsHistory& history) {
  SeriesList training, held;
  for (const StepReport& report : history.steps)
    for (const SourceReport& source : report.sources)
      add_errors(training, source.name, source.heads, report.step, "");
  for (const EvaluationReport& report : history.evaluations)
    for (const EvaluationResult& result : report.results)
      add_errors(held, result.name, result.heads, report.step, ", held out");
  std::vector<ChartSeries> lines = training.take();
  for (ChartSeries& line : held.take_held_out()) lines.push_back(std::move(line));
  return lines;
}

std::vector<ChartSeries> joined(std::vector<ChartSeries> lines, std::vector<ChartSeries> more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

template <class Value>
ChartSeries over_steps(const std::string& name, const MetricsHistory& history, Value value) {
  ChartSeries line;
  line.name = name;
  for (const StepReport& report : history.steps)
    line.points.emplace_back(static_cast<double>(report.step), value(report));
  return line;
}

Chart throughput_chart(const ReportInput& input) {
  ChartSeries rate;
  rate.name = "as configured";
  for (const StepReport& report : input.history.steps)
    if (report.clean)
      rate.points.emplace_back(static_cast<double>(report.step), report.samples_per_second);
  std::vector<ChartSeries> lines = {rate};
  const Throughput& ceiling = input.finish.resident;
  if (ceiling.windows > 0 && !rate.points.empty()) {
    ChartSeries limit;
    limit.name = "ceiling: " + ceiling.what;
    limit.dashed = true;
    limit.points = {{rate.points.front().first, ceiling.samples_per_second},
                    {rate.points.back().first, ceiling.samples_per_second}};
    lines.push_back(limit);
  }
  return {"Throughput", "step", "samples/s", lines, true};
}

std::string charts(const ReportInput& input) {
  const MetricsHistory& history = input.history;
  std::string out = "<h2>Curves</h2>\n<div class=\"charts\">\n";
  const auto add = [&out](const Chart& chart) { out += "<div>" + to_svg(chart) + "</div>\n"; };
  add({"Loss", "step", "loss",
       joined(by_source(history, [](const SourceReport& s) { return std::optional(s.loss); }),
              held_out(history, [](const EvaluationResult& r) { return std::optional(r.loss); })),
       true});
  const std::vector<ChartSeries> accuracies =
      joined(by_source(history, [](const SourceReport& s) { return s.accuracy; }),
             held_out(history, [](const EvaluationResult& r) { return r.accuracy; }));
  if (!accuracies.empty()) add({"Accuracy", "step", "accuracy", accuracies, true});
  const std::vector<ChartSeries> distances = errors(history);
  if (!distances.empty()) add({"Errors of regressions", "step", "error", distances, true});
  add({"Learning rate",
       "step",
       "learning rate",
       {over_steps("", history, [](const StepReport& r) { return double{r.learning_rate}; })},
       true});
  add(throughput_chart(input));
  add({"Gradient norm before clipping",
       "step",
       "L2 norm",
       {over_steps("", history, [](const StepReport& r) { return double{r.gradient_norm}; })},
       true});
  if (input.plan.sources.size() > 1)
    add({"Share of the samples", "step", "share",
         by_source(history, [](const SourceReport& s) { return std::optional(s.achieved_share); }),
         true});
  return out + "</div>\n";
}

std::string results(const ReportInput& input) {
  std::string out = "<h2>Result</h2>\n<table>\n";
  const auto row = [&out](const std::string& what, const std::string& value) {
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_escape(what), html_escape(value));
  };
  const FinishReport& finish = input.finish;
  row("status", finish.status == RunStatus::finished ? "finished" : "interrupted by a signal");
  row("steps", fmt::format("{} of {}", finish.step, input.plan.steps));
  row("training time of this process", human_duration(finish.training_seconds));
  if (finish.evaluation)
    for (const EvaluationResult& result : finish.evaluation->results) {
      std::string text = scores_text(result.heads, kPlusMinusSign);
      text += fmt::format("; loss {:.4f}, {} samples", result.loss, result.samples);
      if (result.trained_on > 0) text += fmt::format("; {} of them trained on", result.trained_on);
      row(result.name + ", held out", text);
    }
  const auto rate = [](const Throughput& throughput) {
    return fmt::format("{:.0f} +- {:.0f} samples/s, median of {} windows",
                       throughput.samples_per_second, throughput.spread, throughput.windows);
  };
  if (finish.as_configured.windows > 0) row(finish.as_configured.what, rate(finish.as_configured));
  if (finish.resident.windows > 0) row("ceiling: " + finish.resident.what, rate(finish.resident));
  return out + "</table>\n";
}

std::string inputs(const PlanReport& plan) {
  std::string out =
      "<h2>Sources</h2>\n<table>\n<tr><th>name</th><th>what</th><th>head</th>"
      "<th>weight at the first step</th></tr>\n";
  for (const PlanReport::Input& source : plan.sources)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{:g}</td></tr>\n",
                       html_escape(source.name), html_escape(source.description),
                       html_escape(source.head), source.weight);
  return out + "</table>\n";
}

}  // namespace

std::string report_html(const ReportInput& input) {
  const PlanReport& plan = input.plan;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      html_escape(plan.name), kStyle);
  out += fmt::format("<p class=\"lead\">{}</p>\n",
                     html_escape(fmt::format(
                         "Wellspring {}; {}, {}, graph {}; model {} with {} parameters; {} steps "
                         "of {} samples",
                         input.version, plan.device, plan.precision, plan.graph, plan.model,
                         plan.parameters, plan.steps, plan.batch)));
  out += results(input) + charts(input);
  if (!input.preview_png.empty())
    out += fmt::format(
        "<h2>First batch</h2>\n<p class=\"lead\">{}</p>\n"
        "<img alt=\"first training batch\" src=\"data:image/png;base64,{}\">\n",
        html_escape(input.preview_caption), base64(input.preview_png));
  out += inputs(plan);
  for (const std::string& note : plan.notes)
    out += fmt::format("<p class=\"lead\">{}</p>\n", html_escape(note));
  out += fmt::format("<h2>Memory</h2>\n<pre>{}</pre>\n", html_escape(plan.memory_table));
  out += fmt::format("<h2>Configuration</h2>\n<pre>{}</pre>\n", html_escape(input.config_yaml));
  return out + "</body>\n</html>\n";
}

}  // namespace wellspring
