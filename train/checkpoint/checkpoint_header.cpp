#include "train/checkpoint/checkpoint_header.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "core/text/json_reason.h"
#include "core/text/plural.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

[[noreturn]] void fail_damaged(const fs::path& file, const std::string& why) {
  fail(ErrorKind::data,
       {fmt::format("{}: the checkpoint is damaged", file.string()), why,
        "remove this checkpoint folder; --resume auto then uses the previous one"});
}

/// Error (Json::exception) unless the value is a whole number in range; get<std::uint64_t>() would
/// silently convert any other number.
std::uint64_t whole(const Json& number) {
  return number.get_ref<const Json::number_unsigned_t&>();
}

/// Error (Json::exception) unless the value is a number.
double number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  return value.get_ref<const Json::number_float_t&>();  // throws
}

RunProgress progress_from(const Json& json) {
  RunProgress progress;
  progress.evaluated = whole(json.at("evaluated"));
  progress.since_best = whole(json.at("since_best"));
  if (json.contains("best")) {
    const Json& best = json["best"];
    progress.best = {best.at("figure").get<std::string>(), number(best.at("value")),
                     whole(best.at("step"))};
  }
  if (json.contains("held_out"))  // absent from older checkpoints
    progress.held_out = json["held_out"].get<std::string>();
  if (json.contains("training_seconds"))
    progress.training_seconds = number(json["training_seconds"]);
  return progress;
}

}  // namespace

Json to_json(const RunProgress& progress) {
  Json json = {{"evaluated", progress.evaluated}, {"since_best", progress.since_best}};
  if (progress.best)
    json["best"] = {{"figure", progress.best->figure},
                    {"value", progress.best->value},
                    {"step", progress.best->step}};
  if (!progress.held_out.empty()) json["held_out"] = progress.held_out;
  if (progress.training_seconds > 0) json["training_seconds"] = progress.training_seconds;
  return json;
}

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
      header.data[source].samples = whole(count);
    if (json.contains("digests"))  // absent from older checkpoints
      for (const auto& [source, digest] : json.at("digests").items())
        header.data[source].digest = digest.get<std::string>();
    if (json.contains("progress"))  // absent without train.keep_best and train.max_time
      header.progress = progress_from(json["progress"]);
    const auto format = json.at("format").get<std::string>();
    if (format == kCheckpointFormat) return header;
    fail(ErrorKind::config,
         {fmt::format("{} was written by another version of this program", checkpoint.string()),
          fmt::format("its format is '{}'; this version reads '{}'", format, kCheckpointFormat),
          "start a new run with its weights: set another out=FOLDER and init.from"});
  } catch (const Json::exception& error) {
    fail_damaged(file, json_reason(error.what()));
  }
}

void check_digest(const fs::path& file, const CheckpointHeader& header) {
  const auto expected = header.files.find(file.filename().string());
  if (expected == header.files.end())
    fail_damaged(file.parent_path() / kCheckpointHeaderFile,
                 fmt::format("it does not list {}", file.filename().string()));
  const std::vector<std::byte> bytes = read_bytes(file);
  const auto& [size, sha256] = expected->second;
  if (bytes.size() != size)
    fail_damaged(file, fmt::format("it has {} instead of {}", counted(bytes.size(), "byte"), size));
  if (Sha256().update(bytes).hex() != sha256)
    fail_damaged(file, "its SHA-256 differs from the recorded one");
}

}  // namespace wellspring
