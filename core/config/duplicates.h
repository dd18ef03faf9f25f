// The error for a value that is set twice. Called by readers of settings, overrides and options;
// host only.
#pragma once

#include "core/config/params.h"

#include <string>
#include <string_view>

namespace wellspring {

/// Throws a config error: `name` is set twice in one place, so neither value takes precedence.
[[noreturn]] void fail_given_twice(const ConfigLocation& place, const std::string& name,
                                   std::string_view first, std::string_view second);

}  // namespace wellspring
