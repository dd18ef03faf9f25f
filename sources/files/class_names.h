// Class names from a text file, one per line in the order of their labels; host only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Ignores surrounding blanks and empty lines. Errors (data): no file, no names, a duplicate.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

}  // namespace wellspring
