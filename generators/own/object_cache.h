// Compiled headers on disk. An entry is found by the header's text, flags, compiler and program,
// and is used only while all files that the header includes are unchanged. Called by
// generators/own/own_generator.cpp; host only.
//
// Folder: "generators" in the folder of generators/table_cache.h, private to the user (0700). Each
// entry is an object and a description with its SHA-256, written last. A lock per entry ensures
// that concurrent processes compile it once. Without a writable folder, a header is compiled into a
// temporary folder every time.
//
// Prepared entries that come with the program are in PREFIX/share/wellspring/generators, next to
// PREFIX/bin/wellspring. If the user's folder has no entry, they are used with any compiler.
#pragma once

#include "core/io/scratch_folder.h"
#include "generators/own/compile.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::own {

/// A compiled header.
struct CompiledObject {
  std::filesystem::path file;
  std::vector<std::filesystem::path> sources;  ///< the header and the user's files that it includes
  std::string hash;                            ///< hash_of_sources() of their SHA-256, in order
  bool checked = false;
  bool from_cache = false;
  std::vector<std::string> promotions = {};  ///< IncludedFiles::promotions, if it was just compiled
};

/// Hash of a header from the SHA-256 of its sources.
std::string hash_of_sources(const std::vector<std::string>& hashes);

enum class MayCompile : std::uint8_t { no, yes };

/// Copies an entry into a folder, which can hold the prepared entries of other machines.
CompiledObject copy_entry(const CompiledObject& object, const std::filesystem::path& folder);

class ObjectCache {
 public:
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;

  /// Uses the folder given by the environment.
  ObjectCache();
  /// Entries are in `folder`/generators.
  explicit ObjectCache(std::filesystem::path folder, std::uintmax_t most_bytes = kMostBytes);
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;

  /// Finds or compiles `header`, an absolute path. Waits while another process compiles it. Returns
  /// nothing if it would have to be compiled but may not be. Calls `announce` just before
  /// compiling, so only one of several processes does.
  std::optional<CompiledObject> get(const std::filesystem::path& header, const Target& target,
                                    MayCompile may, const std::function<void()>& announce = {});
  /// Records that the generator passed its checks, if its folder is writable.
  void mark_checked(const CompiledObject& object);

 private:
  void open_folder();
  CompiledObject compile(const std::filesystem::path& header, const Toolchain& toolchain,
                         const std::filesystem::path& object);
  void evict(const std::filesystem::path& kept) const;

  std::filesystem::path folder_;
  std::uintmax_t most_bytes_;
  std::optional<ScratchFolder> temporary_;
};

}  // namespace wellspring::own
