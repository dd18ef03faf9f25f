#include "core/config/yaml_json.h"

#include "core/config/yaml_reason.h"
#include "core/error.h"

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace wellspring {
namespace {

using Json = nlohmann::ordered_json;

template <class Number>
std::optional<Number> whole_number(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = whole_number<std::int64_t>(text)) return *integer;
  if (const auto integer = whole_number<std::uint64_t>(text)) return *integer;
  const auto real = whole_number<double>(text);
  return real && std::isfinite(*real) ? Json(*real) : Json(text);
}

Json convert(const YAML::Node& node) {
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& element : node) list.push_back(convert(element));
    return list;
  }
  if (!node.IsMap()) return nullptr;
  Json map = Json::object();
  for (const auto& entry : node) map[entry.first.Scalar()] = convert(entry.second);
  return map;
}

}  // namespace

Json yaml_to_json(const std::string& yaml) {
  try {
    const Json all = convert(YAML::Load(yaml));
    return all.is_null() ? Json::object() : all;
  } catch (const YAML::Exception& error) {
    fail(ErrorKind::data, {"not valid YAML", yaml_reason(error.msg).why});
  }
}

}  // namespace wellspring
