// Configurations from Python. Called by the bindings; host only.
#pragma once

#include "train/config/run_config.h"

#include <optional>
#include <string>
#include <vector>

namespace wellspring::python {

/// `text`: the configuration itself, under the name `file`; nullopt: read it from `file`.
RunConfig read_config(const std::string& file, const std::optional<std::string>& text,
                      const std::vector<std::string>& overrides);

}  // namespace wellspring::python
