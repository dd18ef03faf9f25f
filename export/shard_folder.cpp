#include "export/shard_folder.h"

#include "core/error.h"
#include "core/io/atomic_folder.h"
#include "core/io/files.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <system_error>
#include <utility>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostShards = 10'000;  ///< the index is written after each of them

/// Compares without regard to the order of keys.
bool same(const Json& a, const Json& b) {
  return nlohmann::json(a) == nlohmann::json(b);
}

}  // namespace

std::string shard_name(std::size_t number, const std::string& extension) {
  return fmt::format("shard-{:06}{}", number, extension);
}

bool is_shard_folder(const fs::path& path, const std::string& extension) {
  std::error_code missing;
  return fs::is_regular_file(path / kShardIndex, missing) &&
         fs::is_regular_file(path / shard_name(0, extension), missing);
}

void expect_few_shards(const fs::path& path, std::uint64_t samples, std::uint64_t per_shard) {
  const std::uint64_t shards = samples / per_shard + (samples % per_shard == 0 ? 0 : 1);
  if (shards <= kMostShards) return;
  fail(ErrorKind::config,
       {fmt::format("{}: {} in shards of {} would be {} shards", path.string(),
                    counted(samples, "sample"), per_shard, shards),
        fmt::format("a folder has at most {}", kMostShards),
        "use a larger --shard-samples, or export fewer samples to one folder: see --count"});
}

struct ShardFolder::State {
  fs::path path;
  std::string extension;
  Json index;
  std::optional<FolderLock> lock = {};
  int abandoned = 0;

  [[noreturn]] void refuse(const std::string& problem, const std::string& why) const {
    fail(ErrorKind::config,
         {path.string() + ": " + problem, why, "choose another --out, or move the folder away"});
  }

  /// A file other than the index and what killed exports leave; "": none.
  std::string some_file() const {
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(".") && name != kShardIndex) return name;
    }
    return "";
  }

  /// Continues the export in the folder, if it has the same settings.
  void adopt() {
    require_folder(path);
    const fs::path file = path / kShardIndex;
    const std::string other = some_file();
    if (!fs::exists(file)) {
      if (other.empty()) return;
      refuse("the folder is not empty", fmt::format("it contains '{}', but no {} of an export",
                                                    printable(other), kShardIndex));
    }
    Json found = Json::parse(read_text(file), nullptr, false);
    if (!found.is_object() || !found.contains("format") || !found["format"].is_string())
      refuse(fmt::format("its {} was not written by an export", kShardIndex), "");
    if (other.empty() && found.value("shards", Json()) == Json::array())
      return;  // it ended before its first shard
    if (found["format"] != index["format"])
      refuse("its samples were exported in another format",
             fmt::format("format is {} there and {} here", printable(found["format"].dump()),
                         index["format"].dump()));
    if (!same(found.value("settings", Json()), index["settings"]))
      refuse("its samples were exported with different settings", difference(found["settings"]));
    check_shards(found);
    index = std::move(found);
  }

  /// The first setting that differs.
  std::string difference(const Json& found) const {
    for (const auto& [name, value] : index["settings"].items()) {
      const Json other = found.is_object() ? found.value(name, Json()) : Json();
      if (!same(value, other))
        return fmt::format("{} is {} there and {} here", name, printable(other.dump()),
                           printable(value.dump()));
    }
    return "it has more settings";
  }

  void check_shards(const Json& found) const {
    std::uint64_t samples = 0;
    try {
      for (const Json& shard : found.at("shards")) {
        const fs::path file = path / fs::path(shard.at("name").get<std::string>()).filename();
        std::error_code error;
        const std::uintmax_t bytes = fs::file_size(file, error);
        if (error || bytes != shard.at("bytes").get<std::uintmax_t>())
          refuse(fmt::format("{} is missing, or its size differs from {}", file.filename().string(),
                             kShardIndex),
                 "the shard was changed after it was written");
        samples += shard.at("samples").get<std::uint64_t>();
      }
      if (samples != found.at("samples").get<std::uint64_t>() || !found.at("complete").is_boolean())
        refuse(fmt::format("its {} is damaged", kShardIndex), "its numbers do not add up");
    } catch (const Json::exception&) {
      refuse(fmt::format("its {} is damaged", kShardIndex), "it has no complete list of shards");
    }
  }

  void write() const { write_file(path / kShardIndex, index.dump(1) + "\n"); }
};

ShardFolder::ShardFolder(fs::path path, const std::string& format, std::string extension,
                         Json settings)
    : state_(new State{std::move(path), std::move(extension), {}}) {
  state_->index = {{"format", format},
                   {"complete", false},
                   {"samples", 0},
                   {"shards", Json::array()},
                   {"settings", std::move(settings)}};
  const Json fresh = state_->index;
  if (fs::exists(state_->path)) state_->adopt();  // refuses before anything is written
  make_folders(state_->path);
  state_->lock.emplace(state_->path, "wait for it to end, or choose another --out");
  state_->index = fresh;
  state_->adopt();  // again: another process may have had the folder
  state_->abandoned = remove_stale_temporaries(state_->path);
  // An export that is killed before it lists its first shard is recognised by its index.
  if (shards() == 0) state_->write();
}

ShardFolder::~ShardFolder() = default;

bool ShardFolder::complete() const {
  return state_->index["complete"];
}

std::uint64_t ShardFolder::samples() const {
  return state_->index["samples"];
}

int ShardFolder::abandoned() const {
  return state_->abandoned;
}

std::size_t ShardFolder::shards() const {
  return state_->index["shards"].size();
}

std::vector<std::string> ShardFolder::names() const {
  std::vector<std::string> names;
  for (const Json& shard : state_->index["shards"]) names.push_back(shard["name"]);
  return names;
}

fs::path ShardFolder::path_of(std::size_t number) const {
  if (number >= kMostShards)
    fail(ErrorKind::config,
         {fmt::format("{}: more than {} shards", state_->path.string(), kMostShards),
          "a shard ends at 1 GiB, and the index lists each of them",
          "export fewer samples to one folder: see --count"});
  return state_->path / shard_name(number, state_->extension);
}

void ShardFolder::add(const ShardEntry& shard) {
  state_->index["shards"].push_back({{"name", shard.name},
                                     {"samples", shard.samples},
                                     {"bytes", shard.bytes},
                                     {"sha256", shard.sha256}});
  state_->index["samples"] = samples() + shard.samples;
  state_->write();
}

void ShardFolder::finish(Json metadata) {
  state_->index["complete"] = true;
  state_->index["metadata"] = std::move(metadata);
  state_->write();
}

}  // namespace wellspring
