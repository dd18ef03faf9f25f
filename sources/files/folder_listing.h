// Contents of a folder tree: files, folders, unusable entries. Used by image sets; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace wellspring {

struct FolderListing {
  enum class Trouble : std::uint8_t {
    broken_link,  ///< target is missing, or the link leads to itself
    folder_loop,  ///< link to a folder that contains it
    folder,       ///< cannot be listed
    file,         ///< stat failed
    special,      ///< named pipe, socket or device
  };
  struct Unusable {
    std::string path;
    Trouble trouble = Trouble::file;
    std::string problem, why;  ///< as in ErrorText, without the path
  };
  /// Paths in the requested folder, sorted bytewise by name; folders precede their contents.
  std::vector<std::string> files, folders;
  std::vector<Unusable> unusable;
};

/// Source of the types of entries.
enum class EntryTypes : std::uint8_t {
  listed,   ///< the folder, or stat where it has no types (some network file systems)
  by_stat,  ///< always stat; for tests
};

/// Lists `root`/`part` recursively, following links; paths begin with `part`. Opens only folders.
/// Reports problems, even a missing root, as unusable entries instead of throwing. Calls `watch`,
/// if given, with the number of entries found so far, after every folder and every thousand entries.
/// Throws Interrupted after a signal.
FolderListing list_folder(const std::filesystem::path& root, const std::string& part = "",
                          const std::function<void(std::int64_t)>& watch = {},
                          EntryTypes types = EntryTypes::listed);

}  // namespace wellspring
