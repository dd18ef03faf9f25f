// Atomically published folders, and clean-up after killed processes. Called by checkpoints and
// exports; host only.
#pragma once

#include "core/io/files.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace wellspring {

/// A folder that appears complete at `commit` and atomically replaces any old folder of that name.
/// On file systems that cannot exchange two folders (NFS), the old folder may remain as PATH.old if
/// the process is killed during `commit`. Before `commit` the files are in a temporary folder next
/// to `path`. This temporary folder is locked while the object lives, if the file system supports
/// locks. As with AtomicFile, a symbolic link is kept.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::filesystem::path& path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// A new file in the folder; `finish` it before `commit`.
  OutputFile create(const std::string& name);
  /// The folder that holds the files until `commit`.
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;  ///< the folder; holds the lock
  bool committed_ = false;
};

/// Removes a folder recursively. If the process is killed during the call, either the complete
/// folder or a stale temporary remains. Throws a runtime error if it cannot be removed.
void remove_folder(const std::filesystem::path& path);

/// Atomically makes `link` a symbolic link to `target`, a name in the same folder. If the file
/// system has no symbolic links, `link` becomes a text file that contains the name. Throws a
/// runtime error, for example because `link` is a folder.
void replace_link(const std::filesystem::path& link, const std::filesystem::path& target);
/// The name stored by replace_link in a link or file. nullopt if `link` is anything else.
std::optional<std::filesystem::path> read_link(const std::filesystem::path& link);

/// Removes what AtomicFile and AtomicFolder left in this folder when their processes were killed.
/// Only the folder's single writer may call it. Returns the number removed.
int remove_stale_temporaries(const std::filesystem::path& folder);

/// Removes what AtomicFolders for `path` left when their processes were killed, even while other
/// processes write there. Such a leftover is an unlocked folder of this user that is named like a
/// temporary one and contains only regular files with names that `ours` accepts. Returns the number
/// removed; 0 if the file system has no locks.
int remove_abandoned_folders(const std::filesystem::path& path,
                             const std::function<bool(const std::string&)>& ours);

namespace detail {
/// For file systems without exchange: moves `theirs` aside, then gives its name to `ours`.
void replace_folder_in_steps(const std::filesystem::path& ours,
                             const std::filesystem::path& theirs);
}  // namespace detail

}  // namespace wellspring
