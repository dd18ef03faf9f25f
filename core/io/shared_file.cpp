#include "core/io/shared_file.h"

#include "core/error.h"
#include "core/io/files.h"
#include "core/io/sha256.h"
#include "core/io/write_paths.h"
#include "core/signals.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace wellspring {

namespace fs = std::filesystem;
using detail::fail_write;

/// The first bytes of the file.
struct SharedFile::Header {
  std::uint64_t bytes;   ///< 0: not complete
  std::uint32_t joined;  ///< number of processes that have opened it
};

namespace {

constexpr std::uint64_t kHeaderBytes = 64;
constexpr const char* kPrefix = "wellspring-cache-";

/// Waits for the lock. Throws Interrupted after a signal.
void lock_shared(int descriptor, const fs::path& path) {
  while (::flock(descriptor, LOCK_SH) != 0) {
    if (errno != EINTR) fail_write(path, "lock", errno);
    stop_if_interrupted();
  }
}

bool has_name(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Removes files left by processes that were killed before all ranks had opened the file. A file
/// that is still in use is locked by its users.
void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(kPrefix)) continue;
    const int descriptor = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) continue;  // another user's
    struct stat status {};
    const bool complete = ::fstat(descriptor, &status) == 0 && status.st_size > 0;
    if (complete && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && has_name(descriptor))
      ::unlink(path.c_str());
    ::close(descriptor);
  }
}

/// Allocates all bytes now, so that no later access can fail because the file system is full.
void reserve(int descriptor, const SharedFile::Options& options, std::uint64_t bytes) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::runtime,
         {fmt::format("{}: no room for a cache of {}", options.folder.string(), human_bytes(bytes)),
          why, options.advice});
  };
  struct statvfs space {};
  if (::fstatvfs(descriptor, &space) != 0) fail_write(options.folder, "examine", errno);
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (bytes > free) refuse(human_bytes(free) + " are free");
  for (;;) {
    const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    if (error == 0) return;
    if (error != EINTR) refuse(std::generic_category().message(error));
    stop_if_interrupted();
  }
}

}  // namespace

SharedFile::Header& SharedFile::header() const {
  return *reinterpret_cast<Header*>(mapped_);
}

SharedFile::SharedFile(const Options& options) : folder_(options.folder) {
  require_folder(folder_);
  remove_abandoned(folder_);
  try {
    while (!(options.sharers == 1 ? create(options) : join(options))) close();
  } catch (...) {
    close();
    throw;
  }
}

/// Creates a file for a single process, which needs no name.
bool SharedFile::create(const Options& options) {
  std::string name = (folder_ / kPrefix).string() + "XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail_write(name, "create", errno);
  ::unlink(name.c_str());
  reserve(descriptor_, options, kHeaderBytes + options.bytes);
  map(options);
  return true;
}

/// Opens the file of this job, or creates it. Returns false if another process removes it
/// meanwhile; the caller then tries again.
bool SharedFile::join(const Options& options) {
  path_ = folder_ / (kPrefix + Sha256().update(bytes_of(options.job)).hex().substr(0, 16));
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor_ < 0) fail_write(path_, "create", errno);
  const auto size = [&] {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
  };
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {  // no process uses it
    if (!has_name(descriptor_)) return false;
    if (size() > 0) {  // left by a killed process
      ::unlink(path_.c_str());
      return false;
    }
    try {
      reserve(descriptor_, options, kHeaderBytes + options.bytes);
      map(options);
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
    header() = {options.bytes, 1};
    // Meanwhile, remove_abandoned() in another process may have removed the file.
    lock_shared(descriptor_, path_);
    return has_name(descriptor_) ||
           std::atomic_ref(header().joined) == static_cast<std::uint32_t>(options.sharers);
  }
  if (errno != EWOULDBLOCK) fail_write(path_, "lock", errno);
  lock_shared(descriptor_, path_);  // the first process has filled in the header
  if (!has_name(descriptor_) || size() == 0) return false;
  if (static_cast<std::uint64_t>(size()) != kHeaderBytes + options.bytes)
    fail(ErrorKind::runtime, {path_.string() + ": the cache belongs to another job",
                              "its size differs from that of this job's rows",
                              "wait until that job has ended, or remove it"});
  map(options);
  const std::uint32_t joined = std::atomic_ref(header().joined).fetch_add(1) + 1;
  if (joined == static_cast<std::uint32_t>(options.sharers)) ::unlink(path_.c_str());
  return true;
}

void SharedFile::map(const Options& options) {
  mapped_bytes_ = static_cast<std::size_t>(kHeaderBytes + options.mapped);
  void* const at =
      ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (at == MAP_FAILED) fail_write(folder_, "map a cache in", errno);
  mapped_ = static_cast<std::byte*>(at);
}

void SharedFile::close() {
  if (mapped_ != nullptr) ::munmap(mapped_, mapped_bytes_);
  mapped_ = nullptr;
  if (descriptor_ < 0) return;
  // The last user removes a file that not all processes have opened.
  if (!path_.empty() && has_name(descriptor_) && ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 &&
      has_name(descriptor_))
    ::unlink(path_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_bytes_(other.mapped_bytes_) {}

SharedFile::~SharedFile() {
  close();
}

std::span<std::byte> SharedFile::memory() const {
  return {mapped_ + kHeaderBytes, mapped_bytes_ - kHeaderBytes};
}

void SharedFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  offset += kHeaderBytes;
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      fail(ErrorKind::data, {folder_.string() + ": a cache cannot be read",
                             count < 0 ? std::generic_category().message(errno) : "it is too short",
                             "check the disk, or remove this tier from cache:"});
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void SharedFile::write(std::uint64_t offset, Bytes bytes) {
  offset += kHeaderBytes;
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_write(folder_, "write a cache in", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace wellspring
