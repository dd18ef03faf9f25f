// A folder of shards, filled one by one and listed in an index, so that a repeated export
// continues after its last complete shard. Called by the exports that write shards, and by data
// sets that read such folders; host only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// File in the folder of shards.
inline constexpr const char* kShardIndex = "index.json";
/// Size at which a shard ends, bytes.
inline constexpr std::uint64_t kShardBytes = std::uint64_t{1} << 30;

/// "shard-000012.tar" for number 12 and extension ".tar".
std::string shard_name(std::size_t number, const std::string& extension);

/// True for a folder with an index and a first shard with this extension.
bool is_shard_folder(const std::filesystem::path& path, const std::string& extension);

/// Throws a config error if the index cannot list the shards of that many samples.
void expect_few_shards(const std::filesystem::path& path, std::uint64_t samples,
                       std::uint64_t per_shard);

/// A complete shard as the index lists it.
struct ShardEntry {
  std::string name;
  std::uint64_t samples = 0, bytes = 0;
  std::string sha256;
};

/// Creates or continues a folder. Only one process at a time can hold it.
class ShardFolder {
 public:
  /// Writes an index without shards, or continues after the shards of an existing index.
  /// `format`, `settings`: contents of the shards; an index of shards with different ones is
  /// refused. Throws config errors for a folder with other files, another export or changed shards,
  /// and runtime errors if files cannot be written or another process has the folder.
  ShardFolder(std::filesystem::path path, const std::string& format, std::string extension,
              nlohmann::ordered_json settings);
  ~ShardFolder();

  bool complete() const;
  /// Samples in complete shards.
  std::uint64_t samples() const;
  /// Number of removed temporary files that killed exports left in this folder.
  int abandoned() const;
  std::vector<std::string> names() const;

  /// The path of shard `number`. Throws a config error if the index cannot list that many shards.
  std::filesystem::path path_of(std::size_t number) const;
  std::size_t shards() const;
  /// Lists a shard, which must be complete on disk.
  void add(const ShardEntry& shard);
  /// Completes the index.
  void finish(nlohmann::ordered_json metadata);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wellspring
