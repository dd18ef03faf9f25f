// Checks for lists of classes in a generator's parameters. Called by generators; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Error (config), naming generator and row, if `names` contains an unknown name (not in `known`)
/// or the same name twice.
void expect_class_list(const std::string& generator, const std::string& row,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& known);

}  // namespace wellspring
