// Checks for lists of classes in a generator's parameters. Called by generators; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Throws a config error, which names generator and row, if `names` contains a name twice or a name
/// that is not in `known`.
void expect_class_list(const std::string& generator, const std::string& row,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& known);

}  // namespace wellspring
