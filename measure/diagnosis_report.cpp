#include "measure/diagnosis_report.h"

#include "core/measure/ceiling_json.h"
#include "core/measure/clocks.h"
#include "core/text/text.h"
#include "measure/table.h"
#include "train/report/chart.h"
#include "train/report/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace wellspring {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string between(const std::optional<Interval>& interval, double unit, int decimals) {
  if (!interval) return "";
  return fmt::format(" (95 %: {:.{}f} to {:.{}f})", interval->low * unit, decimals,
                     interval->high * unit, decimals);
}

/// Half the width of the interval, relative to the rate.
std::string spread_text(const RungResult& rung) {
  if (!rung.interval) return "-";
  return fmt::format("{:.1f} %", 50 * (rung.interval->high - rung.interval->low) / rung.rate);
}

constexpr std::array kColumns = {"rung",   "samples/s", "+-",   "by wall clock", "step p50 ms",
                                 "p99 ms", "waits",     "busy", "data bytes/s",  "of the first"};
using Cells = std::vector<std::string>;

Cells cells_of(const RungResult& rung) {
  return {rung.stage.empty() ? rung.name : rung.name + " (+ " + rung.stage + ")",
          human_count(rung.samples_per_second()),
          spread_text(rung),
          clock_text(rung.samples_per_second() * rung.clocks, rung.clocks),
          fmt::format("{:.3g}", 1e3 * rung.p50),
          fmt::format("{:.3g}", 1e3 * rung.p99),
          percent(rung.wait),
          rung.busy ? percent(*rung.busy) : "-",
          rung.bytes > 0 ? human_count(rung.bytes_per_second()) : "-",
          rung.apart ? "-" : percent(rung.share)};
}

/// All rungs; cold files are the last.
std::vector<RungResult> rungs_of(const DiagnosisReport& report) {
  std::vector<RungResult> rungs = report.ladder.rungs;
  if (report.cold && report.cold->rung) rungs.push_back(*report.cold->rung);
  return rungs;
}

std::string value_text(const MachineRate& rate) {
  if (!rate.rate) return "none: " + rate.reason;
  const bool symbol = rate.unit == "B/s" || rate.unit == "FLOP/s";  // takes the prefix: "8.9 GB/s"
  const std::string count = human_count(*rate.rate);
  const bool prefixed = count.find(' ') != std::string::npos;
  return count + (symbol && prefixed ? "" : " ") + rate.unit;
}

std::vector<std::string> machine_lines(const DiagnosisReport& report) {
  std::size_t width = 0;
  for (const MachineRate& rate : report.machine) width = std::max(width, rate.what.size());
  std::vector<std::string> lines;
  for (const MachineRate& rate : report.machine)
    lines.push_back(fmt::format("{:<{}}  {}", rate.what, width, value_text(rate)));
  return lines;
}

nlohmann::ordered_json json_of(const MachineRate& rate) {
  nlohmann::ordered_json json = {{"what", rate.what}, {"rate", nullptr}, {"unit", rate.unit}};
  if (rate.rate) {
    json["rate"] = *rate.rate;
  } else {
    json["reason"] = rate.reason;
  }
  return json;
}

std::string cause_text(const Cause& cause) {
  return fmt::format(
      "{}: costs {} of the ceiling{}; without it and the stages below it, the step is {:.2f} times "
      "as fast{}",
      cause.stage, percent(cause.drop), between(cause.interval, 100, 1), cause.gain,
      cause.level ? "; level with the cause before" : "");
}

/// "confirms decoding", "does not help".
std::string confirmed_text(const DiagnosisReport& report, const Counterfactual& tried) {
  if (!tried.interval) return "too few turns to tell";
  if (!tried.helps()) return "does not help";
  std::string text;
  for (const Cause& cause : report.diagnosis.causes)
    if (tried.tests(cause)) text += (text.empty() ? "confirms " : "; ") + cause.stage;
  return text;
}

/// The sentences between the table and the advice.
std::vector<std::string> findings(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::vector<std::string> lines;
  if (diagnosis.lost > 0)
    lines.push_back(fmt::format(
        "If data were free: {:.2f} times as fast{}. Of 1,000 hours, {:.0f} go to data.",
        diagnosis.speed_up, between(diagnosis.speed_up_interval, 1, 2), 1000 * diagnosis.lost));
  if (diagnosis.data_seconds > 0 && diagnosis.lost_seconds > 0)
    lines.push_back(
        fmt::format("A batch takes {:.3g} ms of the data path alone; the step loses "
                    "{:.3g} ms to it.",
                    1e3 * diagnosis.data_seconds, 1e3 * diagnosis.lost_seconds));
  int number = 0;
  for (const Cause& cause : diagnosis.causes)
    lines.push_back((cause.confirmed ? fmt::format("Cause {}: ", ++number) : "NOT confirmed: ") +
                    cause_text(cause));
  if (std::ranges::any_of(diagnosis.causes, [](const Cause& cause) { return !cause.confirmed; }))
    lines.push_back(
        "A cause is not confirmed if less of its work does not help, or if the data path alone is "
        "faster than the time that the step loses: then data path and step compete for "
        "processors.");
  for (const Counterfactual& tried : report.tried)
    lines.push_back(fmt::format("Tried: {}: {:.2f} times as fast{}: {}", tried.what, tried.gain,
                                between(tried.interval, 1, 2), confirmed_text(report, tried)));
  if (diagnosis.tipping_point)
    lines.push_back(
        "Tipping point: the data path alone is less than a quarter faster than the "
        "step, so a faster step would be input-bound.");
  return lines;
}

/// Limits of these conclusions.
std::vector<std::string> caveats(const DiagnosisReport& report) {
  std::vector<std::string> lines = report.notes;
  if (!report.ladder.tight)
    lines.push_back(
        fmt::format("the time limit was reached after {} turns; some intervals are wider than "
                    "2 %: more time ({}) narrows them",
                    report.ladder.turns(), trim(report.ladder.option)));
  if (report.ladder.load.busy())
    lines.push_back("the machine was busy: " + report.ladder.load.to_string());
  for (const RungResult& rung : rungs_of(report))
    if (clocks_disagree(rung.clocks))
      lines.push_back(fmt::format("'{}': {}", rung.name, disagreement_text(rung.clocks)));
  if (report.cold)
    lines.push_back(report.cold->rung
                        ? "'as configured' has its files in the page cache; the first epoch, and "
                          "data sets larger than memory, run like 'files from storage'"
                        : "reading from storage is not possible here: " + report.cold->reason);
  if (report.diagnosis.causes.size() > 1)
    lines.push_back("stages overlap: fixing one cause alone gains at most its drop");
  return lines;
}

template <class Lines>
std::string list_text(const char* title, const Lines& lines) {
  std::string text = lines.empty() ? "" : fmt::format("\n{}\n", title);
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string ladder_text(const std::vector<RungResult>& rungs) {
  std::vector<Cells> rows = {{kColumns.begin(), kColumns.end()}};
  for (const RungResult& rung : rungs) rows.push_back(cells_of(rung));
  return table_text(rows);
}

nlohmann::ordered_json json_of(const RungResult& rung) {
  return {{"name", rung.name},
          {"stage", rung.stage},
          {"apart", rung.apart},
          {"samples_per_second", rung.samples_per_second()},
          {"samples_per_second_by_wall_clock", rung.samples_per_second() * rung.clocks},
          {"steps_per_second", rung.rate},
          {"steps_per_second_interval", to_json(rung.interval)},
          {"turns", rung.rates.size()},
          {"step_ms", {{"p50", 1e3 * rung.p50}, {"p99", 1e3 * rung.p99}}},
          {"wait", rung.wait},
          {"busy", rung.busy ? nlohmann::ordered_json(*rung.busy) : nullptr},
          {"bytes_per_second", rung.bytes_per_second()},
          {"share_of_ceiling", rung.share},
          {"share_of_ceiling_interval", to_json(rung.share_interval)},
          {"host_clock_over_marks", rung.clocks}};
}

}  // namespace

std::string to_text(const DiagnosisReport& report) {
  std::string text = fmt::format("{}\n{}\n\n", report.title, report.lead);
  text += ladder_text(rungs_of(report));
  text +=
      fmt::format("\n{}: data cost {} of the rate{}\n", verdict_text(report.diagnosis),
                  percent(report.diagnosis.lost), between(report.diagnosis.lost_interval, 100, 1));
  text += list_text("Findings", findings(report));
  text += list_text("Advice", advice(report));
  if (report.sweep)
    text += fmt::format("\nSweep\n{}best: {}\n", ladder_text(report.sweep->rungs),
                        best_of_sweep(*report.sweep).name);
  text += list_text("This machine, now", machine_lines(report));
  return text + list_text("Caveats", caveats(report));
}

nlohmann::ordered_json to_json(const DiagnosisReport& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  nlohmann::ordered_json rungs = nlohmann::ordered_json::array(), causes = rungs, machine = rungs;
  for (const RungResult& rung : rungs_of(report)) rungs.push_back(json_of(rung));
  for (const Cause& cause : diagnosis.causes)
    causes.push_back({{"stage", cause.stage},
                      {"drop", cause.drop},
                      {"drop_interval", to_json(std::optional(cause.interval))},
                      {"gain", cause.gain},
                      {"confirmed", cause.confirmed}});
  for (const MachineRate& rate : report.machine) machine.push_back(json_of(rate));
  constexpr std::array kClasses = {"not", "moderately", "highly", "inconclusive"};
  nlohmann::ordered_json json = {
      {"name", report.title},
      {"run", report.lead},
      {"verdict",
       {{"class", kClasses.at(static_cast<std::size_t>(diagnosis.bound))},
        {"text", verdict_text(diagnosis)},
        {"lost", diagnosis.lost},
        {"lost_interval", to_json(diagnosis.lost_interval)},
        {"speed_up_if_free", diagnosis.speed_up},
        {"speed_up_interval", to_json(diagnosis.speed_up_interval)},
        {"lost_ms_per_step", 1e3 * diagnosis.lost_seconds},
        {"data_ms_per_batch", 1e3 * diagnosis.data_seconds},
        {"tipping_point", diagnosis.tipping_point},
        {"causes", causes}}},
      {"rungs", rungs},
      {"tight", report.ladder.tight},
      {"seconds", report.ladder.seconds},
      {"load", to_json(report.ladder.load)},
      {"machine_rates", machine},
      {"advice", advice(report)},
      {"caveats", caveats(report)}};
  if (report.sweep) {
    for (const RungResult& rung : report.sweep->rungs) json["sweep"].push_back(json_of(rung));
    json["sweep_best"] = best_of_sweep(*report.sweep).name;
  }
  for (const Counterfactual& tried : report.tried)
    json["counterfactuals"].push_back({{"what", tried.what},
                                       {"stages", tried.stages},
                                       {"gain", tried.gain},
                                       {"interval", to_json(tried.interval)},
                                       {"helps", tried.helps()}});
  return json;
}

std::string to_html(const DiagnosisReport& report) {
  std::string body =
      fmt::format("<h2>{}</h2>\n<p>Data cost {} of the rate{}.</p>\n",
                  html_escape(verdict_text(report.diagnosis)), percent(report.diagnosis.lost),
                  between(report.diagnosis.lost_interval, 100, 1));
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    body += fmt::format("<h2>{}</h2>\n<ul>\n", title);
    for (const std::string& line : lines) body += "<li>" + html_escape(line) + "</li>\n";
    body += "</ul>\n";
  };
  list("Findings", findings(report));
  list("Advice", advice(report));
  const auto table = [&](const char* title, const std::vector<RungResult>& rungs) {
    body += fmt::format("<h2>{}</h2>\n<div class=\"scroll\"><table>\n<tr>", title);
    for (const char* column : kColumns) body += fmt::format("<th>{}</th>", html_escape(column));
    body += bar_heading() + "</tr>\n";
    double most = 0;
    for (const RungResult& rung : rungs)
      if (!rung.apart) most = std::max(most, rung.samples_per_second());
    for (const RungResult& rung : rungs) {
      body += "<tr>";
      const Cells cells = cells_of(rung);
      for (std::size_t c = 0; c < cells.size(); ++c)
        body +=
            fmt::format("<td{}>{}</td>", c > 0 ? " class=\"number\"" : "", html_escape(cells[c]));
      body += bar_cell(rung.apart ? 0 : rung.samples_per_second() / most) + "</tr>\n";
    }
    body += "</table></div>\n";
  };
  table("Ladder", rungs_of(report));
  if (report.sweep) table("Sweep", report.sweep->rungs);
  if (!report.machine.empty()) body += "<h2>This machine, now</h2>\n<table>\n";
  for (const MachineRate& rate : report.machine)
    body += fmt::format("<tr><td>{}</td><td class=\"number\">{}</td></tr>\n",
                        html_escape(rate.what), html_escape(value_text(rate)));
  if (!report.machine.empty()) body += "</table>\n";
  list("Caveats", caveats(report));
  return page_html("wellspring diagnose: " + report.title, report.lead, body);
}

}  // namespace wellspring
