#include "core/config/yaml_json.h"

#include "core/config/yaml_reason.h"
#include "core/error.h"
#include "core/text/parse.h"

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include <cmath>

namespace wellspring {
namespace {

using Json = nlohmann::ordered_json;

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = parse_number<std::int64_t>(text)) return *integer;
  if (const auto integer = parse_number<std::uint64_t>(text)) return *integer;
  const auto real = parse_number<double>(text);
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
