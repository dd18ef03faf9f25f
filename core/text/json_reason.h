// Messages of the JSON library in our words. Called by readers of JSON; host only.
#pragma once

#include <string>
#include <string_view>

namespace wellspring {

/// Why a text was refused, according to the library's message: "not JSON at line 1, column 5", "it
/// has no key 'step'", "a value has the wrong type".
std::string json_reason(std::string_view what);

}  // namespace wellspring
