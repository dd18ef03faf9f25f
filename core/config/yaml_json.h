// Converts YAML that the program wrote (parameters, configurations) to JSON, for metadata. Called
// by exports and digests; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace wellspring {

/// Converts all values, in the same order. An unquoted scalar becomes a number or a boolean if it
/// reads as one (YAML 1.2, section 10.2), otherwise a string. The result is also YAML with the same
/// values. Throws a data error if the text is not YAML.
nlohmann::ordered_json yaml_to_json(const std::string& yaml);

}  // namespace wellspring
