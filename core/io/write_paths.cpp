#include "core/io/write_paths.h"

#include "core/error.h"
#include "core/io/files.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace wellspring::detail {
namespace fs = std::filesystem;

void fail_write(const fs::path& path, const char* verb, int error) {
  std::string advice;
  if (error == ENOSPC || error == EDQUOT) advice = "free some space or use another folder";
  if (error == EMFILE || error == ENFILE)
    advice = "close other programs or raise the limit on open files (ulimit -n)";
  if (error == EFBIG) advice = "raise the file size limit (ulimit -f)";
  if (error == EACCES || error == EROFS) advice = "use a folder that you can write to";
  fail(ErrorKind::runtime, {fmt::format("{}: cannot {}", path.string(), verb),
                            std::generic_category().message(error), advice});
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

std::string temporary_prefix_of(const fs::path& path) {
  return fmt::format("{}{}-", kTemporaryPrefix, path.filename().string());
}

fs::path temporary_name(const fs::path& path) {
  require_writable_folder_of(path);
  static std::atomic<unsigned> count = 0;
  return folder_of(path) / fmt::format("{}{}-{}", temporary_prefix_of(path), ::getpid(), count++);
}

fs::path resolve_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // limit of Linux, path_resolution(7)
  std::error_code error;          // set if the path does not exist or is not a link
  if (const std::string_view kind = special_file(fs::status(path, error).type()); !kind.empty()) {
    fail(ErrorKind::runtime, {fmt::format("{}: is {}", path.string(), kind),
                              "an output must be a regular file, which is replaced as a whole",
                              "give the name of a file"});
  }
  fs::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) return at;
    at = without_slash(folder_of(at) / to);  // an absolute target is used unchanged
  }
  fail_write(path, "create", ELOOP);
}

void require_writable_folder_of(const fs::path& path) {
  const fs::path folder = folder_of(path);
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fail(ErrorKind::runtime,
         {fmt::format("{}: cannot create", path.string()),
          fmt::format("{} {}", folder.string(),
                      fs::exists(folder, error) ? "is not a folder" : "does not exist"),
          missing_part(folder)});
  }
  if (::access(folder.c_str(), W_OK) != 0) fail_write(path, "create", errno);
}

void sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_write(folder, "open the folder", errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some network file systems cannot sync folders and return EINVAL: ignore it.
  if (error != 0 && error != EINVAL) fail_write(folder, "sync the folder", error);
}

}  // namespace wellspring::detail
