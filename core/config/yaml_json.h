// What the program writes as YAML, as JSON: parameters and configurations within metadata. Called
// by exports and digests; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring {

/// The same values in the same order. A scalar that stands without quotes is a number or a truth
/// value where it reads as one (YAML 1.2, section 10.2), else a text; the result is itself YAML
/// that reads back to the same values. Error (data) where the text is no YAML.
nlohmann::ordered_json yaml_to_json(const std::string& yaml);

}  // namespace wellspring
