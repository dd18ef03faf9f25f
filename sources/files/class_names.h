// Class names: a text file with one per line, in the order of their labels; and what every data set
// requires of them. Host only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Ignores surrounding blanks and empty lines. Errors (data): no file, no names, a duplicate.
std::vector<std::string> read_class_names(const std::filesystem::path& path);

/// Throws a data error for a name that is not UTF-8. `whose`: "source 'real'" or a path.
void expect_utf8(const std::vector<std::string>& classes, const std::string& whose);

}  // namespace wellspring
