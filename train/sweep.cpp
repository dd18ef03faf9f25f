#include "train/sweep.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/text/measured_text.h"
#include "core/text/parse.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/metrics/metrics_log.h"
#include "train/report/chart.h"
#include "train/report/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& problem, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::config, {"command line: " + problem, why, advice});
}

/// Splits at commas outside brackets and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  for (std::string& value : values) value = std::string(trim(value));
  return values;
}

void expect_distinct(const std::vector<std::string>& values, const std::string& what) {
  std::set<std::string> seen;
  for (const std::string& value : values)
    if (!seen.insert(value).second)
      refuse(fmt::format("{} has the value '{}' twice", what, value), "both would be the same run",
             "remove one of them");
}

/// A part of a file name. Characters that a file name cannot have, and long values, are replaced
/// by a hash (FNV-1a) of the value, so that different values have different names.
std::string name_part(const std::string& key, const std::string& value) {
  constexpr std::size_t kLongest = 40;
  std::string name = key + "=";
  bool replaced = value.size() > kLongest;
  for (const char c : value.substr(0, kLongest)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ||
                       c == '_' || c == '+';
    name += plain ? c : '_';
    replaced = replaced || !plain;
  }
  if (!replaced) return name;
  std::uint32_t hash = 0x811c9dc5u;
  for (const char c : value) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return name + fmt::format("-{:08x}", hash);
}

/// The end of a key: "limit_per_class".
std::string short_key(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

std::vector<std::vector<std::string>> all_cells(const std::vector<SweepAxis>& axes) {
  std::vector<std::vector<std::string>> cells(1);
  for (const SweepAxis& axis : axes) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& cell : cells)
      for (const std::string& value : axis.values) {
        longer.push_back(cell);
        longer.back().push_back(value);
      }
    cells = std::move(longer);
  }
  return cells;
}

bool is_share(const std::string& figure) {
  return figure.ends_with("accuracy") || figure.ends_with("mean IoU");
}

std::string value_text(double mean, double spread, const std::string& figure) {
  return is_share(figure) ? share_text(mean, spread) : measured_text(mean, spread);
}

std::string shown(const std::string& value) {
  return value.empty() ? "(empty)" : value;
}

const char* to_string(SweepStatus status) {
  switch (status) {
    case SweepStatus::waiting:
      return "waiting";
    case SweepStatus::finished:
      return "finished";
    case SweepStatus::failed:
      return "failed";
    case SweepStatus::interrupted:
      return "interrupted";
  }
  return "";
}

/// Index of the axis to draw along: among the axes that have only numbers, the one with the most
/// values; otherwise the first axis.
std::size_t drawn_axis(const std::vector<SweepAxis>& axes) {
  std::size_t best = 0, most = 0;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const bool numbers = std::ranges::all_of(axes[a].values, [](const std::string& value) {
      return parse_number<double>(value).has_value();
    });
    if (!numbers || axes[a].values.size() <= most) continue;
    best = a;
    most = axes[a].values.size();
  }
  return best;
}

/// Positions of the values on the horizontal axis, and its label. Positive numbers that span more
/// than a factor of 20 are drawn as logarithms.
std::pair<std::vector<double>, std::string> positions(const SweepAxis& axis) {
  constexpr double kWide = 20;
  std::vector<double> at;
  for (const std::string& value : axis.values)
    if (const auto x = parse_number<double>(value)) at.push_back(*x);
  if (at.size() < axis.values.size()) {
    std::vector<std::string> names;
    at.clear();
    for (const std::string& value : axis.values) {
      at.push_back(static_cast<double>(at.size() + 1));
      names.push_back(fmt::format("{}: {}", at.size(), shown(value)));
    }
    return {at, fmt::format("{} ({})", axis.key, join(names))};
  }
  const auto [low, high] = std::ranges::minmax(at);
  if (low <= 0 || high / low <= kWide) return {at, axis.key};
  for (double& x : at) x = std::log10(x);
  return {at, "log10 of " + axis.key};
}

Chart sweep_chart(const SweepPlan& plan, const std::vector<SweepCell>& cells,
                  const std::string& figure) {
  const double scale = is_share(figure) ? 100 : 1;
  Chart chart{figure, "", is_share(figure) ? figure + ", %" : figure, {}};
  const std::size_t along = drawn_axis(plan.axes);
  const auto [at, label] = positions(plan.axes[along]);
  chart.x_label = label;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    std::vector<std::string> others;
    for (std::size_t a = 0; a < plan.axes.size(); ++a)
      if (a != along) others.push_back(short_key(plan.axes[a].key) + " " + shown(plan.cells[c][a]));
    const std::string name = join(others);
    auto series = std::ranges::find(chart.series, name, &ChartSeries::name);
    if (series == chart.series.end()) {
      chart.series.push_back({name, {}, LineStyle::solid, true});
      series = chart.series.end() - 1;
    }
    if (cells[c].finished == 0) continue;
    const auto& values = plan.axes[along].values;
    const auto k = std::ranges::find(values, plan.cells[c][along]) - values.begin();
    series->points.emplace_back(at[static_cast<std::size_t>(k)], scale * cells[c].mean);
    series->errors.push_back(scale * cells[c].spread);
  }
  return chart;
}

Json run_json(const SweepPlan& plan, const SweepRun& run, const SweepOutcome& outcome) {
  Json settings = Json::object();
  for (std::size_t a = 0; a < plan.axes.size(); ++a)
    settings[plan.axes[a].key] = plan.cells[run.cell][a];
  Json json = {{"name", run.name},
               {"settings", settings},
               {"seed", run.seed},
               {"folder", run.folder.string()},
               {"status", to_string(outcome.status)},
               {"value", outcome.value ? Json(*outcome.value) : Json()}};
  if (!outcome.reason.empty()) json["reason"] = outcome.reason;
  return json;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    refuse(fmt::format("--over '{}' is not key=value,value", text), "",
           "write, for example, --over data.limit_per_class=10,100");
  SweepAxis axis{text.substr(0, equals), split_values(std::string_view(text).substr(equals + 1))};
  if (axis.key == "out" || axis.key == "name" || axis.key == "seed")
    refuse(fmt::format("--over {}: each run of a sweep has its own {}", axis.key, axis.key), "",
           axis.key == "seed" ? "use --seeds" : "leave it out");
  expect_distinct(axis.values, "--over " + axis.key);
  return axis;
}

SweepPlan plan_sweep(std::vector<SweepAxis> axes, const std::vector<std::string>& seeds,
                     const std::vector<std::string>& common, const fs::path& out) {
  constexpr std::size_t kMostRuns = 10000;
  std::vector<std::string> keys;
  for (const SweepAxis& axis : axes) keys.push_back(axis.key);
  expect_distinct(keys, "--over");
  expect_distinct(seeds, "--seeds");
  std::size_t count = std::max<std::size_t>(seeds.size(), 1);
  for (const SweepAxis& axis : axes) {
    count *= axis.values.size();
    if (count > kMostRuns)
      refuse(fmt::format("the sweep has more than {} runs", kMostRuns), "",
             "leave out values or seeds");
  }
  SweepPlan plan{std::move(axes), {}, {}};
  plan.cells = all_cells(plan.axes);
  const std::vector<std::string> each = seeds.empty() ? std::vector<std::string>{""} : seeds;
  for (std::size_t c = 0; c < plan.cells.size(); ++c)
    for (const std::string& seed : each) {
      SweepRun run{c, seed, "", {}, common};
      std::vector<std::string> parts;
      for (std::size_t a = 0; a < plan.axes.size(); ++a) {
        const std::string& key = plan.axes[a].key;
        parts.push_back(name_part(short_key(key), plan.cells[c][a]));
        run.overrides.push_back(key + "=" + plan.cells[c][a]);
      }
      if (!seed.empty()) {
        parts.push_back(name_part("seed", seed));
        run.overrides.push_back("seed=" + seed);
      }
      run.name = parts.empty() ? "run" : join(parts, ",");
      run.folder = out / run.name;
      run.overrides.push_back("name=" + run.name);
      run.overrides.push_back("out=" + run.folder.string());
      plan.runs.push_back(std::move(run));
    }
  std::vector<std::string> names;
  for (const SweepRun& run : plan.runs) names.push_back(run.name);
  expect_distinct(names, "the list of run folders");
  return plan;
}

std::optional<double> sweep_figure(const fs::path& folder, const std::string& figure) {
  const std::vector<EvaluationReport> evaluations = read_metrics(folder).evaluations;
  if (evaluations.empty() || evaluations.back().results.empty()) return std::nullopt;
  const EvaluationReport& last = evaluations.back();
  HeldOutFigure wanted{last.results.front().name, "", figure};
  for (const EvaluationResult& result : last.results)
    if (figure.starts_with(result.name + ".")) {
      wanted.source = result.name;
      wanted.what = figure.substr(result.name.size() + 1);
    }
  if (const std::size_t slash = wanted.what.find('/'); slash != std::string::npos) {
    wanted.head = wanted.what.substr(0, slash);
    wanted.what.erase(0, slash + 1);
  }
  return wanted.value_in(last);
}

std::vector<SweepCell> summarise(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes) {
  std::vector<SweepCell> cells(plan.cells.size());
  std::vector<std::vector<double>> values(plan.cells.size());
  for (std::size_t r = 0; r < plan.runs.size(); ++r) {
    ++cells[plan.runs[r].cell].runs;
    if (outcomes[r].value) values[plan.runs[r].cell].push_back(*outcomes[r].value);
  }
  for (std::size_t c = 0; c < cells.size(); ++c) {
    SweepCell& cell = cells[c];
    cell.finished = values[c].size();
    const auto n = static_cast<double>(cell.finished);
    for (const double value : values[c]) cell.mean += value / n;
    double squares = 0;
    for (const double value : values[c]) squares += (value - cell.mean) * (value - cell.mean);
    if (cell.finished > 1) cell.spread = std::sqrt(squares / (n - 1));
  }
  return cells;
}

std::vector<std::vector<std::string>> sweep_table(const SweepPlan& plan,
                                                  const std::vector<SweepOutcome>& outcomes,
                                                  const std::string& figure) {
  std::vector<std::vector<std::string>> lines(1);
  for (const SweepAxis& axis : plan.axes) lines[0].push_back(short_key(axis.key));
  lines[0].push_back("runs");
  lines[0].push_back(figure);
  const std::vector<SweepCell> cells = summarise(plan, outcomes);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    lines.emplace_back();
    for (const std::string& value : plan.cells[c]) lines.back().push_back(shown(value));
    const SweepCell& cell = cells[c];
    lines.back().push_back(cell.finished == cell.runs
                               ? std::to_string(cell.runs)
                               : fmt::format("{} of {}", cell.finished, cell.runs));
    lines.back().push_back(cell.finished == 0 ? "-" : value_text(cell.mean, cell.spread, figure));
  }
  return lines;
}

void write_sweep(const SweepPlan& plan, const std::vector<SweepOutcome>& outcomes,
                 const std::string& figure, const fs::path& folder) {
  Json runs = Json::array();
  for (std::size_t r = 0; r < plan.runs.size(); ++r)
    runs.push_back(run_json(plan, plan.runs[r], outcomes[r]));
  write_file(folder / "sweep.json", Json{{"figure", figure}, {"runs", runs}}.dump(1) + "\n");

  std::string table = "<table>\n";
  for (const std::vector<std::string>& line : sweep_table(plan, outcomes, figure)) {
    table += "<tr>";
    for (const std::string& text : line) table += fmt::format("<td>{}</td>", html_escape(text));
    table += "</tr>\n";
  }
  table += "</table>\n";
  for (std::size_t r = 0; r < plan.runs.size(); ++r)
    if (outcomes[r].status == SweepStatus::failed)
      table += fmt::format("<p class=\"lead\">{}: failed: {}</p>\n", html_escape(plan.runs[r].name),
                           html_escape(outcomes[r].reason));
  std::string chart;
  if (!plan.axes.empty()) chart = to_html(sweep_chart(plan, summarise(plan, outcomes), figure));
  write_file(folder / "sweep.html",
             page_html("Sweep", "mean and standard deviation of the runs",
                       "<div class=\"scroll\">" + table + "</div>\n" + chart));
}

}  // namespace wellspring
