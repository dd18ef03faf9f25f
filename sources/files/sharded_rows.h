// Rows of several files as one data set. Used by the formats of array files; host only.
#pragma once

#include "sources/files/format.h"

#include <functional>
#include <memory>
#include <string>

namespace wellspring {

/// Opens the files that `request.path` names (see shard_files) with `open`, and joins their rows in
/// the order of the files. A single file is opened as it is. `limit_per_class` counts rows across
/// all files. A file whose classes are numbers without names may have fewer classes than the
/// others. Errors (data): as for shard_files() and `open`; files whose rows differ in layout,
/// classes, or names of features, globals, targets or latents.
std::unique_ptr<Dataset> open_sharded_rows(
    const DatasetRequest& request, bool (*is_shard)(const std::string& name),
    const std::function<std::unique_ptr<Dataset>(const DatasetRequest&)>& open);

}  // namespace wellspring
