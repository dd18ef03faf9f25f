#include "core/text/json_reason.h"

#include <fmt/format.h>

namespace wellspring {

std::string json_reason(std::string_view what) {
  // Message formats of nlohmann/json 3: "[json.exception.parse_error.101] parse error at line 1,
  // column 5: ...", "[json.exception.out_of_range.403] key 'step' not found".
  const auto between = [&](std::string_view before, std::string_view after) -> std::string {
    const std::size_t found = what.find(before);
    if (found == std::string_view::npos) return "";
    const std::size_t begin = found + before.size(), end = what.find(after, begin);
    return std::string(what.substr(begin, end == std::string_view::npos ? end : end - begin));
  };
  if (what.find("parse_error") != std::string_view::npos) {
    const std::string place = between("parse error at ", ":");
    return place.empty() ? "not JSON" : "not JSON at " + place;
  }
  if (const std::string key = between("key '", "' not found"); !key.empty())
    return fmt::format("it has no key '{}'", key);
  return what.find("type_error") != std::string_view::npos ? "a value has the wrong type"
                                                           : "a value is out of range";
}

}  // namespace wellspring
