#include "core/config/yaml_reason.h"

#include <algorithm>
#include <array>

namespace wellspring {
namespace {

struct Translation {
  std::string_view message;  ///< beginning of yaml-cpp's text (exceptions.h of versions 0.6 to 0.8)
  std::string_view why, advice;
};

constexpr std::string_view kQuote = "write the text in double quotes";

constexpr std::array kTranslations = {
    Translation{"end of map not found", "this line does not continue the line above",
                "indent the keys of a section by the same number of spaces, and write text after "
                "a quoted value inside the quotes"},
    Translation{"end of sequence not found", "this line does not continue the line above",
                "indent the elements of a list by the same number of spaces"},
    Translation{"end of map flow not found", "a '{' has no matching '}'",
                "close the braces, or separate the entries by commas"},
    Translation{"end of sequence flow not found", "a '[' has no matching ']'",
                "close the brackets, or separate the elements by commas"},
    Translation{"illegal flow end", "a ']' or '}' without its opening bracket",
                "remove it, or put the text in double quotes"},
    Translation{"illegal map value", "a ':' where no key can begin",
                "write one 'key: value' per line, with the same indentation in a section; write a "
                "text that contains ': ' in double quotes"},
    Translation{"illegal map key", "a '?' where no key can begin", kQuote},
    Translation{"illegal block entry", "a list element ('- ') after a key on the same line",
                "begin the list on the next line, or write it as [a, b]"},
    Translation{"illegal tab", "a tab in the indentation", "indent with spaces"},
    Translation{"unknown token", "a value cannot begin with this character", kQuote},
    Translation{"unknown escape character", "an unknown escape after '\\' in double quotes",
                "write '\\\\' for a backslash, or use single quotes"},
    Translation{"bad character found while scanning hex", "an escape lacks hexadecimal digits",
                "write '\\\\' for a backslash, or use single quotes"},
    Translation{"illegal EOF in scalar", "quoted text has no closing quote", "close the quote"},
    Translation{"illegal document indicator", "a line '---' or '...' inside quoted text",
                "close the quote before it"},
    Translation{"the referenced anchor", "an alias '*name' without an anchor '&name' before it",
                "define the anchor first, or write text that begins with '*' in double quotes"},
    Translation{"alias not found", "a '*' without a name", kQuote},
    Translation{"anchor not found", "a '&' without a name", kQuote},
    Translation{"unexpected character in block", "text on the line of '|' or '>'",
                "begin the text on the next line, or write it in double quotes"},
    Translation{"cannot set zero indentation", "the indentation of a '|' or '>' text is 0",
                "remove the 0"},
    Translation{"cannot assign multiple anchors", "a value with two anchors", "remove one of them"},
};

}  // namespace

YamlReason yaml_reason(std::string_view message) {
  const auto* const found = std::ranges::find_if(
      kTranslations, [&](const Translation& entry) { return message.starts_with(entry.message); });
  if (found == kTranslations.end())
    return {"this construct cannot be read", "write one plain 'key: value' per line"};
  return {std::string(found->why), std::string(found->advice)};
}

}  // namespace wellspring
