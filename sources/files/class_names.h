// The names of classes as a text file, one a line in the order of their labels; host only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Blanks around names and empty lines are passed over. Errors (data): no such file, no names, a
/// name twice.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

}  // namespace wellspring
