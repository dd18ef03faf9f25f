#include "core/io/atomic_folder.h"

#include "core/error.h"
#include "core/io/write_paths.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace wellspring {
namespace fs = std::filesystem;

using detail::fail_write;
using detail::folder_of;
using detail::kTemporaryPrefix;
using detail::resolve_links;
using detail::sync_folder;
using detail::temporary_name;
using detail::without_slash;

namespace {

void sync_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_write(path, "open", errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0 && error != EINVAL) fail_write(path, "sync", error);
}

/// Opens and locks a new folder (without a lock if the file system has no locks). Returns -1 if
/// another process removed it as abandoned before it was locked.
int lock_new_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    const int error = errno;
    if (error == ENOENT) return -1;
    ::rmdir(folder.c_str());
    fail_write(folder, "open the folder", error);
  }
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_nlink > 0) return descriptor;
  ::close(descriptor);
  return -1;
}

/// True if the folder contains only regular files with names that `ours` accepts.
bool holds_only(const fs::path& folder, const std::function<bool(const std::string&)>& ours) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool regular = fs::is_regular_file(entry->symlink_status(error));
    if (error || !regular || !ours(entry->path().filename().string())) return false;
  }
  return !error;
}

bool remove_if_abandoned(const fs::path& folder,
                         const std::function<bool(const std::string&)>& ours) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat status {};
  bool removed = false;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &status) == 0 &&
      status.st_uid == ::geteuid() && holds_only(folder, ours)) {
    std::error_code error;
    removed = fs::remove_all(folder, error) > 0 && !error;
  }
  ::close(descriptor);
  return removed;
}

/// True for "4711-0", the end of a temporary_name.
bool is_process_and_count(std::string_view text) {
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && digits(text.substr(0, dash)) &&
         digits(text.substr(dash + 1));
}

}  // namespace

AtomicFolder::AtomicFolder(const fs::path& path) : path_(resolve_links(without_slash(path))) {
  while (descriptor_ < 0) {
    temporary_ = temporary_name(path_);
    if (::mkdir(temporary_.c_str(), 0777) != 0) fail_write(temporary_, "create the folder", errno);
    descriptor_ = lock_new_folder(temporary_);
  }
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;  // a destructor cannot report errors
  if (!committed_) fs::remove_all(temporary_, ignored);
  ::close(descriptor_);
}

OutputFile AtomicFolder::create(const std::string& name) {
  return OutputFile(temporary_ / name, OutputFile::Mode::create);
}

void AtomicFolder::commit() {
  std::error_code error;
  for (fs::directory_iterator entry(temporary_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) sync_file(entry->path());
  }
  if (error) fail_write(temporary_, "list the folder", error.value());
  sync_folder(temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    // rename() cannot replace a folder that is not empty.
    const bool occupied = errno == ENOTEMPTY || errno == EEXIST;
    if (!occupied) fail_write(path_, "rename the new folder", errno);
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
      fs::remove_all(temporary_, error);  // the old folder; on failure it remains as a temporary
    } else if (errno == EINVAL || errno == ENOSYS) {
      detail::replace_folder_in_steps(temporary_, path_);
    } else {
      fail_write(path_, "replace the old folder", errno);
    }
  }
  committed_ = true;
  sync_folder(folder_of(path_));
}

void detail::replace_folder_in_steps(const fs::path& ours, const fs::path& theirs) {
  fs::path aside = theirs;
  aside += ".old";
  std::error_code ignored;  // if it cannot be removed, the next rename fails
  fs::remove_all(aside, ignored);
  if (::rename(theirs.c_str(), aside.c_str()) != 0) {
    fail_write(theirs, "move the old folder aside", errno);
  }
  if (::rename(ours.c_str(), theirs.c_str()) != 0) {
    const int error = errno;
    if (::rename(aside.c_str(), theirs.c_str()) != 0) {
      fail_write(theirs, "restore the old folder", errno);
    }
    fail_write(theirs, "rename the new folder", error);
  }
  fs::remove_all(aside, ignored);
}

void remove_folder(const fs::path& path) {
  const fs::path aside = temporary_name(path);
  if (::rename(path.c_str(), aside.c_str()) != 0) fail_write(path, "remove", errno);
  std::error_code ignored;  // if this fails, it remains as a stale temporary
  fs::remove_all(aside, ignored);
}

void replace_link(const fs::path& link, const fs::path& target) {
  if (read_link(link) == target) return;
  const fs::path temporary = temporary_name(link);
  if (::symlink(target.c_str(), temporary.c_str()) != 0) {
    const int reason = errno;
    const bool has_links = reason != EPERM && reason != EOPNOTSUPP && reason != ENOSYS;
    if (has_links) fail_write(link, "create the link", reason);
    return write_file(link, target.string() + "\n");
  }
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    fail_write(link, "replace the link", reason);
  }
  sync_folder(folder_of(link));
}

std::optional<fs::path> read_link(const fs::path& link) {
  constexpr std::uintmax_t kLongest = 256;  // a name and the end of the line
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (!error) return target;
  if (!fs::is_regular_file(link, error) || fs::file_size(link, error) > kLongest || error)
    return std::nullopt;
  std::string name = read_text(link);
  if (!name.ends_with('\n')) return std::nullopt;
  name.pop_back();
  return fs::path(name);
}

int remove_abandoned_folders(const fs::path& path,
                             const std::function<bool(const std::string&)>& ours) {
  const fs::path written = resolve_links(without_slash(path));
  const std::string prefix = detail::temporary_prefix_of(written);
  std::vector<fs::path> found;
  std::error_code error;  // nothing is removed from an unreadable folder
  for (fs::directory_iterator entry(folder_of(written), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) &&
        is_process_and_count(std::string_view(name).substr(prefix.size())))
      found.push_back(entry->path());
  }
  return static_cast<int>(std::ranges::count_if(
      found, [&](const fs::path& folder) { return remove_if_abandoned(folder, ours); }));
}

int remove_stale_temporaries(const fs::path& folder) {
  std::vector<fs::path> stale;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kTemporaryPrefix)) {
      stale.push_back(entry->path());
    }
  }
  for (const fs::path& path : stale) {
    fs::remove_all(path, error);
    if (error) fail_write(path, "remove", error.value());
  }
  return static_cast<int>(stale.size());
}

}  // namespace wellspring
