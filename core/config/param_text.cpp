// Reads and writes the values of parameters as text.
#include "core/config/params.h"
#include "core/config/ranges.h"
#include "core/error.h"
#include "core/text/parse.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace wellspring::detail {
namespace {

[[noreturn]] void fail_type(const ParamRow& row, const std::string& text,
                            const ConfigLocation& place) {
  const std::string got = trim(text).empty() ? "nothing" : "'" + text + "'";
  ErrorText message{
      fmt::format("{}'{}' must be {}, got {}", place.prefix(), row.name, row.type_text(), got),
      row.help};
  if (row.type == ParamType::choice) message.advice = name_advice(text, row.choices);
  fail(ErrorKind::config, message);
}

/// The number without underscores between digits (1_000_000) and without a leading plus. Empty if
/// there is an underscore elsewhere or a leading zero (010), which other readers take as octal.
std::optional<std::string> plain_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  const std::size_t first = plain.starts_with('-') ? 1 : 0;
  if (plain.size() > first + 1 && plain[first] == '0' && plain[first + 1] >= '0' &&
      plain[first + 1] <= '9')
    return std::nullopt;
  return plain;
}

double parse_real(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  const auto plain = plain_number(text);
  const auto value = plain ? parse_number<double>(*plain) : std::nullopt;
  if (!value) fail_type(row, text, place);
  if (!std::isfinite(*value)) {
    fail(ErrorKind::config,
         {fmt::format("{}'{}' must be a finite number, got '{}'", place.prefix(), row.name, text),
          row.help});
  }
  check_range(row, *value, text, place);
  return *value;
}

std::int64_t parse_integer(const ParamRow& row, const std::string& text,
                           const ConfigLocation& place) {
  const auto plain = plain_number(text);
  auto value = plain ? parse_number<std::int64_t>(*plain) : std::nullopt;
  if (plain && !value) {  // 1e6, 2.5e3: only if the double is sure to equal the text
    const auto real = parse_number<double>(*plain);
    if (!real || !std::isfinite(*real) || *real != std::floor(*real)) fail_type(row, text, place);
    if (plain->find_first_of(".eE") == std::string::npos) {  // only digits: too large for int64
      fail_range(row, *real < 0 ? row.low : row.high, text, place);
    }
    check_range(row, *real, text, place);
    if (std::abs(*real) >= kExactIntegers) {
      fail(ErrorKind::config,
           {fmt::format("{}{} = {} may not be exact", place.prefix(), row.name, text),
            "floating-point notation is exact only below 2^53", "write out all digits"});
    }
    value = static_cast<std::int64_t>(*real);
  }
  if (!value) fail_type(row, text, place);
  // long double holds every int64, so the comparison is exact.
  check_range(row, static_cast<long double>(*value), text, place);
  return *value;
}

bool parse_flag(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  std::string word(trim(text));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  fail_type(row, text, place);
}

std::int64_t parse_choice(const ParamRow& row, const std::string& text,
                          const ConfigLocation& place) {
  const auto found = std::find(row.choices.begin(), row.choices.end(), trim(text));
  if (found == row.choices.end()) fail_type(row, text, place);
  return found - row.choices.begin();
}

/// "1, 2", "[1, 2]" or "[a, \"b, c\"]".
template <class Element, class Parse>
std::vector<Element> parse_list(const ParamRow& row, const std::string& text,
                                const ConfigLocation& place, const Parse& parse) {
  const auto parts = split_yaml_list(text);
  if (!parts) fail_type(row, text, place);
  std::vector<Element> values;
  for (const std::string& part : *parts) values.push_back(parse(row, part, place));
  return values;
}

/// "32", "32, 48" or "[32, 48]".
std::vector<std::int64_t> parse_size(const ParamRow& row, const std::string& text,
                                     const ConfigLocation& place) {
  auto extents = parse_list<std::int64_t>(row, text, place, parse_integer);
  if (extents.empty() || extents.size() > 2) fail_type(row, text, place);
  extents.resize(2, extents.front());
  return extents;
}

struct TextWriter {
  const ParamRow& row;
  std::string operator()(double value) const { return shortest(value); }
  std::string operator()(float value) const { return shortest(value); }
  std::string operator()(std::int64_t value) const {
    return row.type == ParamType::choice ? yaml_scalar(row.choices[static_cast<std::size_t>(value)])
                                         : std::to_string(value);
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return yaml_scalar(value); }
  std::string operator()(const std::vector<double>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    if (row.type == ParamType::size)
      return ImageSize(static_cast<int>(values[0]), static_cast<int>(values[1])).to_string();
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::string>& values) const { return yaml_list(values); }
};

}  // namespace

ParamValue parse_param(const ParamRow& row, const std::string& text, const ConfigLocation& place) {
  switch (row.type) {
    case ParamType::real:
      return parse_real(row, text, place);
    case ParamType::integer:
      return parse_integer(row, text, place);
    case ParamType::flag:
      return parse_flag(row, text, place);
    case ParamType::choice:
      return parse_choice(row, text, place);
    case ParamType::text:
      return text;
    case ParamType::real_list:
      return parse_list<double>(row, text, place, parse_real);
    case ParamType::integer_list:
      return parse_list<std::int64_t>(row, text, place, parse_integer);
    case ParamType::text_list:
      return parse_list<std::string>(
          row, text, place,
          [](const ParamRow& own, const std::string& element, const ConfigLocation& at) {
            return own.paths ? absolute_path(element, at) : element;
          });
    case ParamType::size:
      return parse_size(row, text, place);
  }
  fail_type(row, text, place);
}

std::string param_text(const ParamRow& row, const ParamValue& value) {
  return std::visit(TextWriter{row}, value);
}

std::string params_yaml(std::span<const BoundRow> rows, const void* values, int indent) {
  std::string out;
  for (const BoundRow& bound : rows) {
    out += fmt::format("{:{}}{}: {}\n", "", indent, bound.row.name,
                       param_text(bound.row, bound.get(values)));
  }
  return out;
}

}  // namespace wellspring::detail
