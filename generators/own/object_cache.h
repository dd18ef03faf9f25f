// Compiled headers on disk. An entry is found by the header's text, flags, compiler and program, and
// is used only while all files that the header includes are unchanged. Called by
// generators/own/own_generator.cpp; host only.
//
// Folder: "generators" in the folder of generators/table_cache.h, private to the user (0700). Each
// entry is an object and a description with its SHA-256, written last. A lock per entry lets
// concurrent processes compile once. Without a writable folder, a header is compiled into a
// temporary folder every time.
#pragma once

#include "generators/own/compile.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring::own {

/// A compiled header.
struct CompiledObject {
  std::filesystem::path file;
  std::string hash;  ///< SHA-256 of the header and the user's files that it includes
  bool checked = false;
  bool from_cache = false;
};

enum class MayCompile : std::uint8_t { no, yes };

class ObjectCache {
 public:
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;

  /// Uses the folder given by the environment.
  ObjectCache();
  explicit ObjectCache(std::filesystem::path folder, std::uintmax_t most_bytes = kMostBytes);
  ~ObjectCache();  ///< removes a temporary folder
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  /// Finds or compiles `header`, an absolute path, with device code for `arch` or, if it is "",
  /// without. Waits while another process compiles it. Empty if it would have to be compiled but may
  /// not be.
  std::optional<CompiledObject> get(const std::filesystem::path& header, const std::string& arch,
                                    MayCompile may);
  /// Records that the generator passed its checks.
  void mark_checked(const CompiledObject& object);

 private:
  void open_folder();
  CompiledObject compile(const std::filesystem::path& header, const Toolchain& toolchain,
                         const std::filesystem::path& object);
  void evict(const std::filesystem::path& kept) const;

  std::filesystem::path folder_;
  std::uintmax_t most_bytes_;
  bool temporary_ = false;
};

}  // namespace wellspring::own
