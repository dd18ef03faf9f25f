#include "measure/gate.h"

#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace wellspring {
namespace {

struct Figure {
  const char* name;
  bool share;  ///< may be given in percent
  double (*value)(const Ladder&, const Diagnosis&);
};

constexpr std::array kFigures = {
    Figure{"share_of_ceiling", true,
           [](const Ladder& l, const Diagnosis&) { return l.configured().share; }},
    Figure{"lost", true, [](const Ladder&, const Diagnosis& d) { return d.lost; }},
    Figure{"wait", true, [](const Ladder& l, const Diagnosis&) { return l.configured().wait; }},
    Figure{"speed_up", false, [](const Ladder&, const Diagnosis& d) { return d.speed_up; }},
    Figure{"samples_per_second", false,
           [](const Ladder& l, const Diagnosis&) { return l.configured().samples_per_second(); }},
    Figure{"step_p99_ms", false,
           [](const Ladder& l, const Diagnosis&) { return 1e3 * l.configured().p99; }},
};

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const Figure& figure : kFigures) names.emplace_back(figure.name);
  return names;
}

}  // namespace

std::string gate_names() {
  return join(figure_names());
}

Gate Gate::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why, const std::string& advice) {
    fail(ErrorKind::config, {fmt::format("--fail-if '{}' is not a condition", text), why, advice});
  };
  const std::string example = "write, for example, --fail-if 'share_of_ceiling < 0.9'";
  Gate gate;
  gate.text_ = text;
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string::npos) refuse("it has no <, <=, > or >=", example);
  const std::string name(trim(std::string_view(text).substr(0, at)));
  const std::vector<std::string> names = figure_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    refuse(fmt::format("unknown figure '{}'", name), name_advice(name, names));
  gate.figure_ = static_cast<std::size_t>(found - names.begin());
  gate.below_ = text[at] == '<';
  gate.or_equal_ = at + 1 < text.size() && text[at + 1] == '=';
  std::string_view number = trim(std::string_view(text).substr(at + (gate.or_equal_ ? 2 : 1)));
  const bool percent = number.ends_with('%');
  if (percent && !kFigures.at(gate.figure_).share)
    refuse(fmt::format("{} is not a share", name), "write the limit without %");
  if (percent) number = trim(number.substr(0, number.size() - 1));
  gate.limit_ = parse_number<double>(number).value_or(NAN);
  if (!std::isfinite(gate.limit_)) refuse(fmt::format("'{}' is not a number", number), example);
  if (percent) gate.limit_ /= 100;
  return gate;
}

double Gate::value(const Ladder& ladder, const Diagnosis& diagnosis) const {
  return kFigures.at(figure_).value(ladder, diagnosis);
}

bool Gate::fails(const Ladder& ladder, const Diagnosis& diagnosis) const {
  const double measured = value(ladder, diagnosis);
  if (measured == limit_) return or_equal_;
  return below_ == (measured < limit_);
}

}  // namespace wellspring
