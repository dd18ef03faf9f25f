// Files of a sharded data set, from a pattern in their name. Host only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// True for "a.tar".
bool is_tar_name(const std::string& name);
/// True for "a.npz".
bool is_npz_name(const std::string& name);
/// True for "a.h5" and "a.hdf5".
bool is_hdf5_name(const std::string& name);
/// True for "a.tfrecord", "a.tfrecords", "a-train.tfrecord-00000-of-00005", "train-00000-of-01024".
bool is_tfrecord_name(const std::string& name);

/// The shards that `path` names: "train-{0000..0127}.tar" (as many digits as in the first number),
/// "{a,b}.tar", or several braces; the files in a folder that `is_shard` accepts, sorted; or one
/// file. Errors (data): a malformed pattern, more than 100,000 files, a folder without shards.
std::vector<std::filesystem::path> shard_files(const std::filesystem::path& path,
                                               bool (*is_shard)(const std::string& name));

}  // namespace wellspring
