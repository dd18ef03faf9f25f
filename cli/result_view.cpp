#include "cli/result_view.h"

#include "core/text/measured_text.h"
#include "core/text/plural.h"
#include "core/text/progress.h"
#include "train/evaluation/evaluation.h"
#include "train/heads/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace wellspring::cli {
namespace {

using Line = std::vector<std::string>;

constexpr const char* kOf = " of ";  // "rmse of x"
constexpr const char* kBest = "best possible ";

bool is_of_target(const Score& score) {
  return score.what.find(kOf) != std::string::npos;
}

/// The heads, reduced to the wanted scores, which lose their mark as details.
template <class Wanted>
std::vector<HeadReport> with_scores(std::vector<HeadReport> heads, Wanted wanted) {
  for (HeadReport& head : heads) {
    std::erase_if(head.scores, [&](const Score& score) { return !wanted(score); });
    for (Score& score : head.scores) score.detail = false;
  }
  return heads;
}

/// The first `most` heads, each with only its first score.
std::vector<HeadReport> first_scores(std::vector<HeadReport> heads, std::size_t most) {
  heads.resize(std::min(heads.size(), most));
  for (HeadReport& head : heads) head.scores.resize(std::min<std::size_t>(head.scores.size(), 1));
  return heads;
}

/// One line per regression target and one column per score.
std::string target_table(const std::vector<Score>& scores) {
  std::vector<Line> lines = {{""}};
  const auto column_of = [&](const std::string& name) {
    const auto found = std::ranges::find(lines[0].begin() + 1, lines[0].end(), name);
    const auto column = static_cast<std::size_t>(found - lines[0].begin());
    if (found == lines[0].end()) lines[0].push_back(name);
    return column;
  };
  for (const Score& score : scores) {
    if (!is_of_target(score)) continue;
    const std::size_t of = score.what.find(kOf);
    const std::string what = score.what.substr(0, of), target = score.what.substr(of + 4);
    auto line = std::ranges::find(lines.begin() + 1, lines.end(), target,
                                  [](const Line& cells) { return cells.front(); });
    if (line == lines.end()) line = lines.insert(line, Line{target});
    const auto set = [&](const std::string& name, double value) {
      const std::size_t column = column_of(name);
      if (line->size() <= column) line->resize(column + 1);
      (*line)[column] = fmt::format("{:.4g}{}", value, score.unit.empty() ? "" : " " + score.unit);
    };
    set(what, score.value);
    if (score.best) set(kBest + what, *score.best);
  }
  return lines.size() == 1 ? "" : aligned(lines);
}

std::string share(const std::optional<double>& value) {
  return value ? percent(*value) : "-";
}

std::string class_table(const std::vector<ClassReport>& classes) {
  constexpr std::size_t kMost = 30;
  std::vector<Line> lines = {{"class", "samples", "precision", "recall", "F1", "area"}};
  for (std::size_t k = 0; k < std::min(classes.size(), kMost); ++k) {
    const ClassReport& one = classes[k];
    lines.push_back({one.name, fmt::format("{:.6g}", one.samples), share(one.precision),
                     share(one.recall), share(one.f1),
                     one.area ? fmt::format("{:.4f}", *one.area) : "-"});
  }
  std::string text = aligned(lines);
  if (classes.size() > kMost)
    text += fmt::format("\n    ... {} more classes: see --json", classes.size() - kMost);
  return text;
}

std::string confusion_table(const ClassifierReport& report) {
  constexpr std::size_t kWidest = 80;  // columns of a terminal
  const std::size_t classes = report.classes.size();
  if (report.confusion.empty()) return "";
  std::vector<Line> lines = {{"class \\ predicted"}};
  for (std::size_t i = 0; i < classes; ++i) {
    lines[0].push_back(report.classes[i].name);
    lines.push_back({report.classes[i].name});
    for (std::size_t k = 0; k < classes; ++k)
      lines.back().push_back(fmt::format("{:.6g}", report.confusion[i * classes + k]));
  }
  const std::string text = aligned(lines);
  return text.find('\n', 1) > kWidest ? "" : text;
}

/// Everything about one head, each part on its own lines.
std::string head_text(const HeadReport& head, bool named, Depth depth) {
  HeadReport others = head;
  std::erase_if(others.scores, is_of_target);
  std::string tables = target_table(head.scores);
  if (depth == Depth::full && head.classifier)
    tables += class_table(head.classifier->classes) + confusion_table(*head.classifier);
  const std::string scores = others.scores.empty() ? "" : scores_text({others});
  if (scores.empty() && (tables.empty() || !named)) return tables;
  return fmt::format("\n    {}{}{}", named ? head.head + ":" : "",
                     named && !scores.empty() ? " " : "", scores) +
         tables;
}

}  // namespace

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string aligned(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t k = 0; k < line.size(); ++k)
      widths[k] = std::max(widths[k], columns_of(line[k]));
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = "    ";
    for (std::size_t k = 0; k < line.size(); ++k)
      row += line[k] + std::string(widths[k] - columns_of(line[k]) + 2, ' ');
    text += "\n" + row.substr(0, row.find_last_not_of(' ') + 1);
  }
  return text;
}

std::string evaluation_text(const EvaluationResult& result, Depth depth) {
  constexpr std::size_t kMostOnALine = 4;  // scores
  const auto main = with_scores(result.heads, [](const Score& score) { return !score.detail; });
  std::size_t scores = 0;
  for (const HeadReport& head : main) scores += head.scores.size();
  std::string text = fmt::format("loss {:.4f}, {}{}", result.loss,
                                 counted(result.samples, "sample"), seen_text(result));
  const bool on_a_line = scores <= kMostOnALine;
  text = scores_text(on_a_line ? main : first_scores(main, kMostOnALine)) +
         (on_a_line ? ", " : ", ...; ") + text;
  text = result.name + ": " + text;
  if (on_a_line && depth == Depth::summary) return text;
  const auto below = with_scores(result.heads, [&](const Score& score) {
    if (depth == Depth::summary) return !score.detail;
    return !on_a_line || score.detail || is_of_target(score);
  });
  for (const HeadReport& head : below) text += head_text(head, below.size() > 1, depth);
  return text;
}

}  // namespace wellspring::cli
