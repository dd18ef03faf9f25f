// How many documents a YAML text has. Called by the configuration reader; host only.
#pragma once

#include <string>

namespace wellspring {

/// Whether anything but null stands in a second document. Reads no further than that: of some texts
/// that are no YAML, such as "a}, b\n? c\n", yaml-cpp 0.7 makes documents without end, so that its
/// LoadAll takes all memory. Throws YAML::Exception where the first two are not YAML.
bool has_second_document(const std::string& text);

}  // namespace wellspring
