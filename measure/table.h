// Tables of text for terminals. Called by the reports of this folder; host only.
#pragma once

#include <string>
#include <vector>

namespace wellspring {

/// Aligned columns, the first one to the left and the others to the right; a line per row. All rows
/// have the same number of cells.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace wellspring
