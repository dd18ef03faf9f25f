// Lists of classes that a generator's parameters name. Called by generators; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Error (config), which names generator and row, unless `names` are some of `known`, each once.
void expect_class_list(const std::string& generator, const std::string& row,
                       const std::vector<std::string>& names,
                       const std::vector<std::string>& known);

}  // namespace wellspring
