#include "core/io/files.h"

#include "core/error.h"
#include "core/io/write_paths.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace wellspring {
namespace fs = std::filesystem;

using detail::fail_write;
using detail::folder_of;
using detail::require_writable_folder_of;
using detail::resolve_links;
using detail::sync_folder;
using detail::temporary_name;
using detail::without_slash;

namespace {

[[noreturn]] void fail_read(const fs::path& path, int error) {
  fail(ErrorKind::data,
       {fmt::format("{}: cannot read", path.string()), std::generic_category().message(error)});
}

[[noreturn]] void fail_missing(const fs::path& path, const char* what) {
  fail(ErrorKind::data,
       {fmt::format("{}: no such {}", path.string(), what), "", missing_part(path)});
}

/// Delay before each retry of a failed write.
constexpr std::array kRetryWaits = {std::chrono::milliseconds(50), std::chrono::milliseconds(150),
                                    std::chrono::milliseconds(450),
                                    std::chrono::milliseconds(1350)};

/// True for failures that may be temporary.
bool may_pass(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO || error == ESTALE;
}

void write_fully(const fs::path& path, int descriptor, Bytes bytes, std::size_t retries = 0) {
  std::size_t retried = 0;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && may_pass(errno) && retried < retries) {
      std::this_thread::sleep_for(kRetryWaits.at(retried++));
      continue;
    }
    if (count <= 0) fail_write(path, "write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

/// True if the path exists. An unreadable path is an error, not a missing path.
bool is_there(const fs::path& path) {
  std::error_code error;
  const bool found = fs::exists(path, error);
  if (error) fail_read(path, error.value());
  return found;
}

}  // namespace

void require_creatable(const fs::path& path) {
  require_writable_folder_of(resolve_links(path));
  std::error_code error;  // an unreadable path does not count as a folder
  if (fs::is_directory(path, error)) {
    fail(ErrorKind::runtime, {fmt::format("{}: cannot create a file", path.string()),
                              "a folder has this name", "use the name of a file in it"});
  }
}

std::string missing_part(const fs::path& path) {
  std::error_code error;
  fs::path present;
  const fs::path missing = without_slash(fs::absolute(path, error).lexically_normal());
  for (const fs::path& part : missing) {
    const fs::path next = present / part;
    if (!fs::exists(next, error)) {
      std::vector<std::string> names;
      for (fs::directory_iterator entry(present, error), end; !error && entry != end;
           entry.increment(error)) {
        names.push_back(entry->path().filename().string());
      }
      std::sort(names.begin(), names.end());  // the file system's order is arbitrary
      const auto nearest = nearest_name(part.string(), names);
      return fmt::format("'{}' exists, but has no '{}'{}", present.string(), part.string(),
                         nearest ? fmt::format("; did you mean '{}'?", *nearest) : "");
    }
    present = next;
  }
  return "";
}

void require_file(const fs::path& path) {
  if (!is_there(path)) fail_missing(path, "file");
  if (fs::is_directory(path)) {
    fail(ErrorKind::data, {fmt::format("{}: is a folder", path.string()), "expected a file"});
  }
  if (const std::string_view kind = special_file(fs::status(path).type()); !kind.empty()) {
    fail(ErrorKind::data,
         {fmt::format("{}: is {}", path.string(), kind), "expected a regular file"});
  }
}

std::string_view special_file(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo:
      return "a named pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return "";
  }
}

void require_folder(const fs::path& path) {
  if (!is_there(path)) fail_missing(path, "folder");
  if (!fs::is_directory(path)) {
    fail(ErrorKind::data, {fmt::format("{}: is not a folder", path.string()), "expected a folder"});
  }
}

std::string read_text(const fs::path& path) {
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

std::vector<std::byte> read_bytes(const fs::path& path) {
  const InputFile file(path);
  std::vector<std::byte> bytes(file.size());
  file.read(0, bytes);
  return bytes;
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_write(path, "create the folder", error.value());
}

namespace {

/// "process 4711 on node17", as written by a FolderLock; "another process" if unknown.
std::string lock_holder(int descriptor) {
  char text[256];
  const ssize_t count = ::pread(descriptor, text, sizeof text, 0);
  const std::string_view holder =
      trim(std::string_view(text, static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
  return holder.empty() ? "another process" : std::string(holder);
}

std::string this_process() {
  char host[256] = "";
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("process {}{}{}\n", ::getpid(), host[0] == '\0' ? "" : " on ", host);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder, const std::string& advice) {
  make_folders(folder);
  const fs::path path = folder / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_write(path, "create", errno);
  held_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (held_) {
    const std::string text = this_process();
    // Only a message uses this text, so ignore errors such as a full disk.
    [[maybe_unused]] const bool told =
        ::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, text.data(), text.size(), 0) > 0;
  } else if (errno == EWOULDBLOCK) {
    const std::string holder = lock_holder(descriptor_);
    ::close(descriptor_);
    fail(ErrorKind::runtime, {fmt::format("{}: in use by {}", folder.string(), holder),
                              "two writers would overwrite each other's files", advice});
  }
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(fs::path path) : path_(std::move(path)) {
  require_file(path_);
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_read(path_, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail_read(path_, error);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(path_, errno);
    if (count == 0) {
      fail(ErrorKind::data, {fmt::format("{}: the file is too short", path_.string()),
                             fmt::format("{} missing at offset {}",
                                         counted(out.size(), "byte is", "bytes are"), offset)});
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

OutputFile::OutputFile(fs::path path, Mode mode) : path_(std::move(path)) {
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
  switch (mode) {
    case Mode::create:
      flags |= O_EXCL;
      break;
    case Mode::replace:
      flags |= O_TRUNC;
      break;
    case Mode::append:
      flags |= O_APPEND;
      break;
  }
  descriptor_ = ::open(path_.c_str(), flags, 0666);
  if (descriptor_ < 0) fail_write(path_, "create", errno);
}

std::optional<OutputFile> OutputFile::unnamed(const fs::path& path) {
  if (::access("/proc/self/fd", X_OK) != 0) return std::nullopt;  // the file could never be named
  const int descriptor = ::open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor < 0) return std::nullopt;
  return OutputFile(path, descriptor);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(written_, other.written_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(Bytes bytes) {
  write_fully(path_, descriptor_, bytes);
  written_ += bytes.size();
}

void OutputFile::write_patiently(Bytes bytes) {
  write_fully(path_, descriptor_, bytes, kRetryWaits.size());
  written_ += bytes.size();
}

void OutputFile::patch(std::uint64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_write(path_, "write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void OutputFile::sync() const {
  // fsync() of a pipe or device fails with EINVAL.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_write(path_, "sync", errno);
}

fs::path OutputFile::reopen_path() const {
  const fs::path self = fmt::format("/proc/self/fd/{}", descriptor_);
  return fs::exists(self) ? self : path_;  // without /proc the file has a name
}

bool OutputFile::publish(const fs::path& name) {
  sync();
  // See open(2), O_TMPFILE; without /proc, naming the file needs extra privileges.
  const fs::path self = reopen_path();
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) fail_write(name, "create", errno);
  return false;
}

void OutputFile::finish() {
  if (descriptor_ < 0) return;
  sync();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_write(path_, "close", errno);
}

namespace {

OutputFile unnamed_or_temporary(const fs::path& path) {
  require_writable_folder_of(path);
  if (std::optional<OutputFile> file = OutputFile::unnamed(path)) return *std::move(file);
  return {temporary_name(path), OutputFile::Mode::create};
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path)
    : path_(resolve_links(path)),
      file_(unnamed_or_temporary(path_)),
      temporary_(file_.path() == path_ ? fs::path() : file_.path()) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  // Only rename() replaces an old file, and it needs a named file.
  if (temporary_.empty() && !file_.publish(path_)) {
    const fs::path name = temporary_name(path_);
    if (!file_.publish(name)) fail_write(name, "create", EEXIST);
    temporary_ = name;
  }
  file_.finish();
  if (!temporary_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail_write(path_, "replace", errno);
  temporary_.clear();
  sync_folder(folder_of(path_));
}

void write_file(const fs::path& path, Bytes bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const fs::path& path, std::string_view text) {
  write_file(path, bytes_of(text));
}

}  // namespace wellspring
