#include "generators/table_cache.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "wellspring table 1\n";
constexpr std::size_t kHeaderBytes = kMagic.size() + std::tuple_size_v<Sha256::Digest>;

fs::path default_folder() {
  const auto named = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  if (const fs::path own = named("WELLSPRING_CACHE"); !own.empty()) return own;
  if (const fs::path cache = named("XDG_CACHE_HOME"); !cache.empty()) return cache / "wellspring";
  if (const fs::path home = named("HOME"); !home.empty()) return home / ".cache" / "wellspring";
  return {};
}

std::string text_of(const TableKey& key) {
  return fmt::format("{}\n{}\n{}\n{}", key.generator, key.version, key.table, key.parameters);
}

/// Includes the key, so that a file that contains another table is rejected.
Sha256::Digest digest_of(const TableKey& key, Bytes table) {
  Sha256 hash;
  hash.update(bytes_of(text_of(key))).update(table);
  return hash.digest();
}

/// The table in a file's bytes; nullopt if the file is damaged or belongs to another table.
std::optional<std::vector<std::byte>> parse(const TableKey& key, Bytes file) {
  if (file.size() < kHeaderBytes) return std::nullopt;
  if (std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  const Bytes table = file.subspan(kHeaderBytes);
  const Sha256::Digest digest = digest_of(key, table);
  if (std::memcmp(file.data() + kMagic.size(), digest.data(), digest.size()) != 0) {
    return std::nullopt;
  }
  return std::vector<std::byte>(table.begin(), table.end());
}

void store(const fs::path& path, const TableKey& key, Bytes table) {
  make_folders(path.parent_path());
  const Sha256::Digest digest = digest_of(key, table);
  AtomicFile file(path);
  static_cast<ByteSink&>(file).write(kMagic);
  file.write(std::as_bytes(std::span(digest)));
  file.write(table);
  file.commit();
}

}  // namespace

TableCache::TableCache() : TableCache(default_folder()) {}
TableCache::TableCache(fs::path folder) : folder_(std::move(folder)) {}

fs::path TableCache::file_of(const TableKey& key) const {
  const std::string hash = Sha256().update(bytes_of(text_of(key))).hex();
  return folder_ / fmt::format("{}-{}-{}.table", key.generator, key.table, hash.substr(0, 32));
}

std::vector<std::byte> TableCache::get(const TableKey& key,
                                       const std::function<std::vector<std::byte>()>& compute) {
  if (folder_.empty()) return compute();
  const fs::path path = file_of(key);
  std::error_code missing;
  if (fs::exists(path, missing)) {
    std::optional<std::vector<std::byte>> table;
    std::string why = "its bytes have changed since it was written";
    try {
      table = parse(key, read_bytes(path));
    } catch (const Error& error) {
      why = error.what();
    }
    if (table) return *std::move(table);
    notes_.push_back(
        fmt::format("{}: damaged ({}); the table is computed again", path.string(), why));
  }
  std::vector<std::byte> table = compute();
  try {
    store(path, key, table);
  } catch (const Error& error) {
    notes_.push_back(
        fmt::format("{}: cannot be stored, so the table will be computed again next time: {}",
                    path.string(), error.what()));
  }
  return table;
}

}  // namespace wellspring
