// The text of the user's headers within checkpoints and exported files, as JSON. It
// is only stored and printed; nothing compiles it. Called by train/checkpoint,
// export and `wellspring headers`; host only.
#pragma once

#include "generators/own/own_generator.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

/// Key of the list in checkpoint.json and in the metadata of exported files.
inline constexpr const char* kStoredHeaders = "generator_headers";

/// Throws a config error if any header among these names contains text that is not UTF-8.
void expect_storable(const std::vector<std::string>& generators);

/// [{"generator", "sha256", "files": [{"path", "text"}]}] for the headers among these names,
/// each once. All of them must be loaded and pass expect_storable().
nlohmann::ordered_json stored_headers(const std::vector<std::string>& generators);

/// A header that was read from a file.
struct StoredHeader {
  std::string generator;
  OwnSource source;
};
/// The headers in the JSON object of `file`; empty if it stores none. Throws data errors for an
/// unexpected structure, or for a text whose hash differs from the stored one.
std::vector<StoredHeader> read_stored_headers(const nlohmann::ordered_json& json,
                                              const std::filesystem::path& file);

}  // namespace wellspring
