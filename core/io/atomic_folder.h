// Folders that are whole or not there, and what killed processes leave of them. Called by
// checkpoints and exports; host only.
#pragma once

#include "core/io/files.h"

#include <filesystem>
#include <functional>
#include <string>

namespace wellspring {

/// A folder of files that appears at `commit` with everything in it, in place of an older one of
/// that name. The two change places in one operation; on file systems without it (NFS) a run killed
/// at that very moment leaves the older one as PATH.old. Until then its files lie in a temporary
/// folder beside it, which is locked as long as this object lives, where the file system has locks.
/// A symbolic link stays one, as of AtomicFile.
class AtomicFolder {
 public:
  explicit AtomicFolder(const std::filesystem::path& path);
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;
  ~AtomicFolder();

  /// A new file in it; close it (`finish`) before `commit`.
  OutputFile create(const std::string& name);
  /// Where the files lie before `commit`.
  const std::filesystem::path& temporary() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;  ///< of the folder, with its lock
  bool committed_ = false;
};

/// Removes a folder with all that is in it. A process that is killed meanwhile leaves it whole, or
/// a stale temporary. Error (runtime) where it cannot be removed.
void remove_folder(const std::filesystem::path& path);

/// Removes what killed runs left of AtomicFile and AtomicFolder in this folder; only its one writer
/// may call it. Returns how many it removed.
int remove_stale_temporaries(const std::filesystem::path& folder);

/// Removes what killed processes left of AtomicFolders of this path, among others that live:
/// folders of this user with the name of such a temporary, whose lock nobody holds and which hold
/// regular files alone that `ours` knows by their names. Returns how many; none where the file
/// system has no locks.
int remove_abandoned_folders(const std::filesystem::path& path,
                             const std::function<bool(const std::string&)>& ours);

namespace detail {
/// Where two names cannot be exchanged: `theirs` goes aside, `ours` takes its place.
void replace_folder_in_steps(const std::filesystem::path& ours,
                             const std::filesystem::path& theirs);
}  // namespace detail

}  // namespace wellspring
