#include "generators/own/stored_source.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace wellspring {

using Json = nlohmann::ordered_json;

void expect_storable(const std::vector<std::string>& generators) {
  for (const std::string& name : generators) {
    if (!is_own_generator(name)) continue;
    for (const OwnSource::File& file : own_generator_source(name).files)
      if (!is_utf8(file.text))
        fail(ErrorKind::config, {fmt::format("{}: {} cannot be stored", name, file.path),
                                 "its text is not UTF-8", "save it as UTF-8"});
  }
}

Json stored_headers(const std::vector<std::string>& generators) {
  Json list = Json::array();
  std::set<std::string> known;
  for (const std::string& name : generators) {
    if (!is_own_generator(name) || !known.insert(name).second) continue;
    const OwnSource& source = own_generator_source(name);
    Json files = Json::array();
    for (const OwnSource::File& file : source.files)
      files.push_back({{"path", file.path}, {"text", file.text}});
    list.push_back({{"generator", std::filesystem::path(name).stem().string()},
                    {"sha256", source.hash},
                    {"files", std::move(files)}});
  }
  return list;
}

std::vector<StoredHeader> read_stored_headers(const Json& json, const std::filesystem::path& file) {
  std::vector<StoredHeader> headers;
  if (!json.is_object() || !json.contains(kStoredHeaders)) return headers;
  try {
    for (const Json& entry : json.at(kStoredHeaders)) {
      StoredHeader header{entry.at("generator"), {entry.at("sha256"), {}}};
      for (const Json& stored : entry.at("files"))
        header.source.files.push_back({stored.at("path"), stored.at("text")});
      if (hash_of(header.source) != header.source.hash)
        fail(ErrorKind::data, {fmt::format("{}: the stored header of '{}' is damaged",
                                           file.string(), header.generator),
                               "its text does not have the stored SHA-256", ""});
      headers.push_back(std::move(header));
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::data,
         {fmt::format("{}: '{}' is damaged", file.string(), kStoredHeaders), error.what(), ""});
  }
  return headers;
}

}  // namespace wellspring
