#include "tests/cuda_stand_in/sass/listing.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

namespace wellspring::sass {
namespace {

constexpr int kBytesPerInstruction = 16;
using Labels = std::map<std::string, std::int64_t>;

bool take(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at each `separator` that is outside brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) depth += (text[i] == '[') - (text[i] == ']');
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

/// The index in a name like "R12", whose prefix is R; `zero` for "RZ"; -1 for anything else.
int register_number(std::string_view text, std::string_view prefix, int zero, char zero_name) {
  if (!take(text, prefix) || text.empty()) return kNoRegister;
  if (text.size() == 1 && text[0] == zero_name) return zero;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return kNoRegister;
  return std::atoi(std::string(text).c_str());
}

bool parse_register(std::string_view text, Operand& operand) {
  struct Family {
    OperandKind kind;
    std::string_view prefix;
    int last;
    char last_name;
  };
  static constexpr Family families[] = {{OperandKind::uniform_predicate, "UP", kTrue, 'T'},
                                        {OperandKind::uniform_register, "UR", kZeroUniform, 'Z'},
                                        {OperandKind::predicate, "P", kTrue, 'T'},
                                        {OperandKind::vector_register, "R", kZeroRegister, 'Z'},
                                        {OperandKind::barrier, "B", kNoRegister, ' '}};
  for (const Family& family : families) {
    const int number = register_number(text, family.prefix, family.last, family.last_name);
    if (number == kNoRegister) continue;
    operand.kind = family.kind;
    operand.index = number;
    return true;
  }
  return false;
}

std::int64_t parse_whole(std::string_view text) {
  const bool negative = take(text, "-");
  const auto value =
      static_cast<std::int64_t>(std::strtoull(std::string(text).c_str(), nullptr, 0));
  return negative ? -value : value;
}

/// Parses an address like "R4.64+UR6+0x10", or the offset after a bank of constants.
void parse_place(std::string_view text, Operand& operand) {
  for (std::string_view part : split(text, '+')) {
    std::string_view name = part.substr(0, part.find('.'));
    Operand base;
    if (parse_register(name, base)) {
      if (base.kind == OperandKind::uniform_register) {
        operand.uniform = base.index;
      } else {
        operand.index = base.index;
        operand.wide = part.find(".64") != part.npos;
        const std::string_view form = part.substr(name.size());
        if (!form.empty() && form != ".64" && form != ".U32" && form != ".reuse")
          throw std::runtime_error("an address of an unknown form: " + std::string(part));
      }
    } else {
      operand.value += parse_whole(part);
    }
  }
}

Operand parse_operand(std::string_view text, const Labels& labels) {
  Operand operand;
  if (take(text, "`(")) {
    operand.kind = OperandKind::label;
    const auto found = labels.find(std::string(text.substr(0, text.find(')'))));
    if (found == labels.end()) throw std::runtime_error("no such label: " + std::string(text));
    operand.value = found->second;
    return operand;
  }
  if (text.starts_with("SR_") || text == "SRZ" || text == "PR") {
    operand.kind = OperandKind::special;
    operand.name = text;
    return operand;
  }
  if (take(text, "desc[")) text.remove_prefix(text.find(']') + 1);
  const bool minus = text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9') &&
                     !text.starts_with("-INF") && !text.starts_with("-QNAN");
  if (minus) {
    operand.negative = true;
    text.remove_prefix(1);
  }
  if (take(text, "~") || take(text, "!")) operand.inverted = true;
  if (take(text, "|")) {
    operand.absolute = true;
    text = text.substr(0, text.rfind('|'));
  }
  if (take(text, "c[")) {
    operand.kind = OperandKind::constant;
    const std::size_t end = text.find(']');
    if (parse_whole(text.substr(0, end)) != 0)
      throw std::runtime_error("unknown constant bank (only the parameters' is known):  c[" +
                               std::string(text));
    const std::size_t begin = end + 2;
    parse_place(text.substr(begin, text.find(']', begin) - begin), operand);
    return operand;
  }
  if (take(text, "[")) {
    operand.kind = OperandKind::address;
    parse_place(text.substr(0, text.find(']')), operand);
    return operand;
  }
  const std::string_view name = text.substr(0, text.find('.'));
  if (parse_register(name, operand)) {
    for (std::string_view form : split(text.substr(name.size()), '.')) {
      if (!form.empty() && form != "reuse" && form != "64")
        throw std::runtime_error("a register read in an unknown way: " + std::string(text));
    }
    return operand;
  }
  if (text.starts_with("0x") || text.starts_with("-0x")) {
    operand.value = parse_whole(text);
    return operand;
  }
  operand.decimal = true;
  if (text == "+QNAN" || text == "-QNAN") {
    operand.number = std::numeric_limits<double>::quiet_NaN();
    operand.negative = text[0] == '-';
    return operand;
  }
  char* end = nullptr;
  const std::string number(text);
  operand.number = std::strtod(number.c_str(), &end);
  if (end == number.c_str() || *end != '\0')
    throw std::runtime_error("an operand of an unknown form: " + number);
  return operand;
}

/// Instructions that run once per warp have the same names with the prefix U.
std::string without_uniform(const std::string& opcode) {
  static const std::set<std::string> uniform = {
      "UFLO",  "UIADD3", "UIMAD", "UISETP", "ULDC",  "ULEA",  "ULOP3", "UMOV", "UPLOP3",
      "UPOPC", "UPRMT",  "USHF",  "USEL",   "UBREV", "UP2UR", "UBMSK", "USGXT"};
  return uniform.contains(opcode) ? opcode.substr(1) : opcode;
}

Line parse_line(std::string_view text, const Labels& labels) {
  Line line;
  line.text = text;
  if (take(text, "@")) {
    const std::size_t end = text.find(' ');
    line.guard = parse_operand(text.substr(0, end), labels);
    text = trimmed(text.substr(end));
  }
  const std::size_t end = std::min(text.find(' '), text.size());
  std::vector<std::string_view> words = split(text.substr(0, end), '.');
  line.opcode = without_uniform(std::string(words.at(0)));
  line.modifiers.assign(words.begin() + 1, words.end());
  std::string_view rest = trimmed(text.substr(end));
  // A return names its kernel after the register, with no comma between them.
  if (line.opcode == "RET") rest = rest.substr(0, rest.find(' '));
  for (std::string_view part : split(rest, ','))
    line.operands.push_back(parse_operand(part, labels));
  return line;
}

/// "/*0a10*/  @P0 BRA `(.L_x_1) ;" without its address, notes like (*"SpillRefill"*) and end; "" for
/// other lines.
std::string_view instruction_text(std::string_view text, std::int64_t& place) {
  text = trimmed(text);
  if (!take(text, "/*")) return {};
  const std::size_t end = text.find("*/");
  place = std::strtoll(std::string(text.substr(0, end)).c_str(), nullptr, 16);
  text = trimmed(text.substr(end + 2));
  return trimmed(text.substr(0, std::min(text.rfind(';'), text.find("(*"))));
}

/// "f" of ".section .text.f,"...; "" for other lines.
std::string kernel_of_section(std::string_view line) {
  if (!take(line, ".section")) return {};
  line = trimmed(line);
  return take(line, ".text.") ? std::string(line.substr(0, line.find(','))) : std::string();
}

struct Section {
  std::string name;
  std::vector<std::string> texts;
  Labels labels;
};

Listing parse_section(const Section& section) {
  Listing listing;
  for (const std::string& text : section.texts) {
    try {
      listing.push_back(parse_line(text, section.labels));
    } catch (const std::exception& failure) {
      throw std::runtime_error(section.name + ": '" + text + "': " + failure.what());
    }
  }
  return listing;
}

}  // namespace

bool Line::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::map<std::string, Listing> parse_listings(const std::string& text) {
  std::map<std::string, Listing> listings;
  Section section;
  const auto finish = [&] {
    if (!section.texts.empty()) listings[section.name] = parse_section(section);
    section = {};
  };
  std::istringstream stream(text);
  for (std::string raw; std::getline(stream, raw);) {
    std::replace(raw.begin(), raw.end(), '\t', ' ');
    std::string_view line = trimmed(raw);
    std::int64_t place = 0;
    if (const std::string kernel = kernel_of_section(line); !kernel.empty()) {
      finish();
      section.name = kernel;
    } else if (const std::string_view code = instruction_text(line, place); !code.empty()) {
      if (place != static_cast<std::int64_t>(section.texts.size()) * kBytesPerInstruction)
        throw std::runtime_error(section.name + ": instructions are missing before '" + raw + "'");
      section.texts.emplace_back(code);
    } else if (line.ends_with(':')) {
      line.remove_suffix(1);
      section.labels[std::string(line)] = static_cast<std::int64_t>(section.texts.size());
    }
  }
  finish();
  return listings;
}

std::map<std::string, std::string> read_listings(const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".sass") continue;
    std::ifstream file(entry.path());
    std::string* text = nullptr;
    for (std::string line; std::getline(file, line);) {
      std::replace(line.begin(), line.end(), '\t', ' ');
      if (const std::string kernel = kernel_of_section(trimmed(line)); !kernel.empty()) {
        const auto [place, is_new] = texts.try_emplace(kernel);
        text = is_new ? &place->second : nullptr;  // several objects may have it
      } else if (line.find(".section ") != line.npos) {
        text = nullptr;
      }
      if (text != nullptr) *text += line + '\n';
    }
  }
  return texts;
}

}  // namespace wellspring::sass
