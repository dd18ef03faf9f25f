#include "train/report/time_section.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/metrics/run_times.h"
#include "train/report/chart.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace wellspring {
namespace {

/// The waits of all clean windows of the run, by whichever process.
InputVerdict verdict_of(const ReportInput& input) {
  std::vector<double> waits;
  for (const StepReport& report : input.history.steps)
    if (report.clean && report.wait) waits.push_back(*report.wait);
  return judge_waits(input.plan, waits);
}

RunTime all_processes(const ReportInput& input) {
  if (input.history.times.empty()) return input.finish.time;
  RunTime sum;
  for (const RunTime& time : input.history.times) sum = sum + time;
  return sum;
}

/// Parts of the training time, which overlap each other.
std::vector<std::pair<std::string, double>> parts_of_training(const RunTime& time,
                                                              const InputVerdict& verdict) {
  std::vector<std::pair<std::string, double>> parts;
  const auto add = [&](const char* what, double seconds) {
    if (seconds > 0) parts.emplace_back(std::string("in steps: ") + what, seconds);
  };
  add("waiting for rows", verdict.wait * time.training);
  add("the first steps, compared with later ones", time.first_steps);
  add("writing metrics", time.metrics);
  return parts;
}

}  // namespace

std::string time_html(const ReportInput& input) {
  const InputVerdict verdict = verdict_of(input);
  const RunTime time = all_processes(input);
  std::string out = fmt::format(
      "<h2>Where the time went</h2>\n<p>{}.</p>\n<p class=\"lead\">To measure what each stage of "
      "the "
      "data costs, and how fast the run would be without: <code>wellspring diagnose "
      "{}</code></p>\n",
      html_escape(verdict.text),
      html_escape((input.plan.folder / "config.resolved.yaml").string()));
  out += "<div class=\"scroll\"><table>\n<tr><th>part</th><th>time</th><th>share</th>" +
         bar_heading() + "</tr>\n";
  const auto row = [&](const std::string& what, double seconds) {
    const double share = time.total > 0 ? seconds / time.total : 0;
    out += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.1f} %</td>{}</tr>\n",
        html_escape(what), human_duration(seconds), 100 * share, bar_cell(share));
  };
  for (const auto& [what, seconds] : parts_of(time)) {
    row(what, seconds);
    if (what != kStepsPart) continue;
    for (const auto& [part, of_training] : parts_of_training(time, verdict)) row(part, of_training);
  }
  out += "</table></div>\n";
  if (const std::size_t begun = input.history.runs.size(), ended = input.history.times.size();
      begun > ended && ended > 0)
    out += fmt::format("<p class=\"lead\">{} did not end in order and left no times.</p>\n",
                       counted(begun - ended, "process", "processes"));
  return out;
}

}  // namespace wellspring
