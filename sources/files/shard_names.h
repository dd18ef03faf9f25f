// Files of a sharded data set, from a pattern in their name. Host only.
#pragma once

#include <filesystem>
#include <vector>

namespace wellspring {

/// The shards that `path` names: "train-{0000..0127}.tar" (with as many digits as the first number),
/// "{a,b}.tar", several braces in a name; the .tar files of a folder, sorted; or one file. Errors
/// (data): a malformed pattern, more than 100,000 files, a folder without .tar files.
std::vector<std::filesystem::path> shard_files(const std::filesystem::path& path);

}  // namespace wellspring
