// `wellspring headers FILE`: prints or saves the user's generator headers that a checkpoint or an
// exported file stores.
#include "cli/command.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "export/array_file.h"
#include "export/shard_folder.h"
#include "generators/own/stored_source.h"
#include "sources/files/array_input.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/checkpoint_header.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct HeadersArguments {
  std::string file, out;
};

/// A JSON document written by this program, and the file that contains it.
struct Document {
  fs::path file;
  Json json;
};

Json parse(const std::string& text, const fs::path& file) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    fail(ErrorKind::data, {file.string() + ": damaged", "its metadata is not JSON", ""});
  return json;
}

Document read_document(const fs::path& where) {
  if (is_npz(where) || is_hdf5(where)) {
    const auto input = is_npz(where) ? open_npz_input(where) : open_hdf5_input(where);
    const std::optional<std::string> metadata = input->text("metadata");
    return {where, metadata ? parse(*metadata, where) : Json::object()};
  }
  if (const fs::path index = where / kShardIndex; fs::exists(index)) {
    const Json json = parse(read_text(index), index);
    return {index, json.is_object() ? json.value("metadata", Json::object()) : Json::object()};
  }
  const fs::path checkpoint = find_model_file(where).parent_path() / kCheckpointHeaderFile;
  return {checkpoint, parse(read_text(checkpoint), checkpoint)};
}

/// The text comes from outside, so its control sequences must not reach the terminal.
void print(const StoredHeader& header) {
  for (const OwnSource::File& file : header.source.files) {
    fmt::print("// {}: {} (header {})\n", printable(header.generator), printable(file.path),
               header.source.hash.substr(0, 12));
    fmt::print("{}", printable(file.text));
    if (!file.text.ends_with('\n')) fmt::print("\n");
  }
}

/// A path below `folder`; names from outside must not lead out of it.
fs::path inside(const fs::path& folder, const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  if (normal.is_absolute() || normal.empty() || *normal.begin() == "..")
    fail(ErrorKind::data, {fmt::format("{}: not below the folder of its header", printable(path)),
                           "it would be written outside of --out", "leave out --out to print it"});
  return folder / normal;
}

void write(const StoredHeader& header, const fs::path& folder) {
  for (const OwnSource::File& file : header.source.files) {
    const fs::path path = inside(folder, file.path);
    fs::create_directories(path.parent_path());
    OutputFile out(path, OutputFile::Mode::create);
    out.write(bytes_of(file.text));
    out.finish();
    fmt::print("{}\n", printable(path.string()));
  }
}

int run(const HeadersArguments& options) {
  const Document document = read_document(options.file);
  const std::vector<StoredHeader> headers = read_stored_headers(document.json, document.file);
  if (headers.empty())
    fail(ErrorKind::config,
         {printable(options.file) + ": no header is stored", "",
          "train with train.store_headers=true, or export with --store-headers"});
  for (const StoredHeader& header : headers) {
    if (options.out.empty()) {
      print(header);
    } else {
      write(header, options.out);
    }
  }
  return 0;
}

}  // namespace

Command add_headers(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "headers", "print the generators of your own that a checkpoint or an exported file stores");
  auto options = std::make_shared<HeadersArguments>();
  app->add_option("file", options->file,
                  "a run folder, a checkpoint, or a file or folder that `wellspring export "
                  "--store-headers` wrote")
      ->required();
  app->add_option("--out", options->out,
                  "write them into this folder instead; nothing is overwritten or compiled");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
