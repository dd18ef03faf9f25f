// What lies below a folder: its files and folders, and every entry that cannot be used, by name.
// Called by image sets; host only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring {

struct FolderListing {
  enum class Trouble : std::uint8_t {
    broken_link,  ///< leads to nothing, or back to itself
    folder_loop,  ///< a link to a folder that holds it
    folder,       ///< cannot be listed
    file,         ///< cannot be looked at
    special,      ///< a named pipe, a socket, a device: nothing to be opened
  };
  struct Unusable {
    std::string path;
    Trouble trouble = Trouble::file;
    std::string problem, why;  ///< as an Error has them, without the path
  };
  /// All paths are below the folder that was asked for, in the order of their names' bytes, folders
  /// before what is in them.
  std::vector<std::string> files, folders;
  std::vector<Unusable> unusable;
};

/// Lists `root`/`part`, links followed; paths begin with `part`. Opens folders alone. Never throws
/// for what it finds: a folder that is not there is one unusable entry.
FolderListing list_folder(const std::filesystem::path& root, const std::string& part = "");

}  // namespace wellspring
