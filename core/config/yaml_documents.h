// Detects YAML texts with several documents. Called by the configuration reader; host only.
#pragma once

#include <string>

namespace wellspring {

/// True if a second document contains anything but null. Reads no further, because for some invalid
/// texts, such as "a}, b\n? c\n", yaml-cpp 0.7 produces endless documents and its LoadAll uses up
/// all memory. Throws YAML::Exception if the first two documents are not YAML.
bool has_second_document(const std::string& text);

}  // namespace wellspring
