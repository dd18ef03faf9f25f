#include "train/checkpoint/checkpoint_header.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "core/text/plural.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

[[noreturn]] void fail_damaged(const fs::path& file, const std::string& why) {
  fail(ErrorKind::data, {fmt::format("{}: the checkpoint is damaged", file.string()), why,
                         "remove this checkpoint folder; --resume auto then takes the one before"});
}

/// Error (Json::exception) unless it is written as a whole number: get<std::uint64_t>() would cast
/// any other, also one beyond its range.
std::uint64_t whole(const Json& number) {
  return number.get_ref<const Json::number_unsigned_t&>();
}

}  // namespace

CheckpointHeader read_checkpoint_header(const fs::path& checkpoint) {
  const fs::path file = checkpoint / kCheckpointHeaderFile;
  try {
    const Json json = Json::parse(read_text(file));
    CheckpointHeader header;
    for (const auto& [name, entry] : json.at("files").items())
      header.files[name] = {whole(entry.at("bytes")), entry.at("sha256").get<std::string>()};
    header.identity = json.at("identity").get<std::string>();
    header.step = whole(json.at("step"));
    for (const auto& [source, count] : json.at("samples").items())
      header.samples[source] = whole(count);
    const auto format = json.at("format").get<std::string>();
    if (format == kCheckpointFormat) return header;
    fail(ErrorKind::config,
         {fmt::format("{} is of another version of this program", checkpoint.string()),
          fmt::format("its format is '{}', this program's '{}'", format, kCheckpointFormat),
          "start a new run with its weights: another out=FOLDER, init.from"});
  } catch (const Json::exception& error) {
    fail_damaged(file, error.what());
  }
}

void check_digest(const fs::path& file, const CheckpointHeader& header) {
  const auto expected = header.files.find(file.filename().string());
  if (expected == header.files.end())
    fail_damaged(file.parent_path() / kCheckpointHeaderFile,
                 fmt::format("it does not name {}", file.filename().string()));
  const std::vector<std::byte> bytes = read_bytes(file);
  const auto& [size, sha256] = expected->second;
  if (bytes.size() != size)
    fail_damaged(file,
                 fmt::format("it has {}, {} were written", counted(bytes.size(), "byte"), size));
  if (Sha256().update(bytes).hex() != sha256)
    fail_damaged(file, "its SHA-256 is not the one that was written");
}

}  // namespace wellspring
