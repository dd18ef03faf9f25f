// Messages of the YAML library in our words. Called by readers of YAML; host only.
#pragma once

#include <string>
#include <string_view>

namespace wellspring {

/// Why a text was refused, and what to do, according to the library's message.
struct YamlReason {
  std::string why, advice;
};
YamlReason yaml_reason(std::string_view message);

}  // namespace wellspring
