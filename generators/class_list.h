// Checks for lists of classes in a generator's parameters. Called by generators; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Error (config), naming generator and row, unless every one of `names` is in `known` and appears
/// once.
void expect_class_list(const std::string& generator, const std::string& row,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& known);

}  // namespace wellspring
