#include "core/text/text.h"

#include "core/text/unicode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace wellspring {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

/// Words that a YAML reader may take for a type other than text.
bool is_yaml_word(std::string_view text) {
  static constexpr std::array words = {"true", "false", "yes", "no", "on",
                                       "off",  "null",  "~",   "y",  "n"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return lower(a) == b; });
  });
}

bool is_plain_yaml(std::string_view text) {
  if (text.empty() || is_yaml_word(text)) return false;
  const bool plain_characters = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_./+-").find(c) < 5;
  });
  // A letter, '_' or '/', or a '.' before one of these, cannot begin a number or an indicator.
  const char first = text.front() == '.' && text.size() > 1 ? text[1] : text.front();
  return plain_characters &&
         (std::isalpha(static_cast<unsigned char>(first)) || first == '_' || first == '/') &&
         !(text.front() == '.' && (lower(first) == 'i' || lower(first) == 'n'));
}

/// Takes a double-quoted scalar, as yaml_scalar writes it, from the beginning of `rest`; empty if
/// it is not terminated.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string out;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest = trim(rest.substr(i + 1));
      return out;
    }
    if (rest[i] != '\\') {
      out += rest[i];
      continue;
    }
    if (++i == rest.size()) return std::nullopt;
    if (rest[i] == 'x') {
      int code = 0;
      const char* const digits = rest.data() + i + 1;
      if (i + 2 >= rest.size() || std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2) {
        return std::nullopt;
      }
      out += static_cast<char>(code);
      i += 2;
    } else {
      out += rest[i] == 'n' ? '\n' : rest[i] == 't' ? '\t' : rest[i];
    }
  }
  return std::nullopt;
}

/// Takes an element and the spaces after it.
std::optional<std::string> take_list_element(std::string_view& rest) {
  if (rest.front() == '"') return take_quoted(rest);
  const std::size_t end = std::min(rest.find(','), rest.size());
  std::string element(trim(rest.substr(0, end)));
  if (element.empty() || element.find_first_of("[]{}\"") != std::string::npos) return std::nullopt;
  rest.remove_prefix(end);
  return element;
}

/// Characters that control a terminal: C0, DEL and C1 controls (ECMA-48), and changes of the
/// writing direction (Unicode Standard Annex 9, table 4).
bool is_control(char32_t code) {
  if (code == '\n' || code == '\t') return false;
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the dynamic-programming table, because a swap refers to the row before last.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> known) {
  // Up to a third of the letters may be wrong; a truncated name also counts as near.
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::optional<std::string> best;
  for (const std::string& candidate : known) {
    std::size_t distance = edit_distance(name, candidate);
    if (name.size() >= 3 && candidate.starts_with(name))
      distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string name_advice(std::string_view name, std::span<const std::string> known) {
  if (known.empty()) return "there are no names to choose from";
  const auto nearest = nearest_name(name, known);
  const std::string list = "known: " + join(known);
  return nearest ? fmt::format("did you mean '{}'? {}", *nearest, list) : list;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto character = first_character(text);
    if (!character) return false;
    text.remove_prefix(character->bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_character(text);
    const std::size_t bytes = character ? character->bytes : 1;
    if (character && !is_control(character->code)) {
      out += text.substr(0, bytes);
    } else if (bytes > 1) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character->code));
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string yaml_scalar(std::string_view text) {
  if (is_plain_yaml(text)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;  // UTF-8 needs no escape
    }
  }
  return out + '"';
}

std::string yaml_list(std::span<const std::string> texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += yaml_scalar(text);
  }
  return out + "]";
}

std::optional<std::vector<std::string>> split_yaml_list(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.starts_with('[') != rest.ends_with(']')) return std::nullopt;
  if (rest.starts_with('[')) rest = trim(rest.substr(1, rest.size() - 2));
  std::vector<std::string> elements;
  while (!rest.empty()) {
    auto element = take_list_element(rest);
    if (!element) return std::nullopt;
    elements.push_back(*std::move(element));
    if (rest.empty()) break;
    if (rest.front() != ',') return std::nullopt;
    rest = trim(rest.substr(1));
    if (rest.empty()) return std::nullopt;  // trailing comma
  }
  return elements;
}

std::string shortest(double value) {
  return fmt::format("{}", value);
}
std::string shortest(float value) {
  return fmt::format("{}", value);
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string human_count(double count) {
  static constexpr std::array units = {" k", " M", " G", " T"};
  const double size = std::abs(count);
  if (size < 999.5) {
    return size == std::floor(size) ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
  }
  double value = count / 1000;
  std::size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  const double shown = std::abs(value);
  return fmt::format("{:.{}f}{}", value, shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, units[unit]);
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const auto s = whole % 60, m = whole / 60 % 60, h = whole / 3600 % 24, d = whole / 86400;
  if (d > 0) return fmt::format("{} d {:02}:{:02}:{:02}", d, h, m, s);
  if (h > 0) return fmt::format("{}:{:02}:{:02}", h, m, s);
  return fmt::format("{}:{:02}", m, s);
}

std::optional<double> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array kUnits = {Unit{"s", 1}, Unit{"m", 60}, Unit{"min", 60}, Unit{"h", 3600},
                                 Unit{"d", 86400}};
  double number = 0;
  const std::string_view trimmed = trim(text);
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  const std::string_view name = trim({end, trimmed.data() + trimmed.size()});
  const auto* const unit = std::ranges::find(kUnits, name, &Unit::name);
  if (error != std::errc{} || unit == kUnits.end()) return std::nullopt;
  const double seconds = number * unit->seconds;
  if (!std::isfinite(seconds) || seconds <= 0) return std::nullopt;
  return seconds;
}

}  // namespace wellspring
