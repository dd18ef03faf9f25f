// Files that are whole or not there: reading, writing with every error seen, and publishing a file
// at once, so that a run killed at any point leaves the older one or the new one; folders likewise
// in core/io/atomic_folder.h. Called by checkpoints, exports, reports and readers; host only.
#pragma once

#include "core/io/bytes.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// Error (data) unless a file (a folder) is there, which no pipe, socket or device is: to open one
/// may wait for ever. The advice names the part of the path that is missing and what lies beside it
/// under a similar name.
void require_file(const std::filesystem::path& path);
void require_folder(const std::filesystem::path& path);
/// That advice: "'/data' exists, 'cifr' in it does not; did you mean 'cifar'?", or "" for a path
/// that is there.
std::string missing_part(const std::filesystem::path& path);

/// "a named pipe", "a socket", "a device"; "" for files, folders, links and what is not there.
std::string_view special_file(std::filesystem::file_type type);

/// The whole file. Errors (data): missing, a folder, unreadable.
std::string read_text(const std::filesystem::path& path);
std::vector<std::byte> read_bytes(const std::filesystem::path& path);

/// Error (runtime) where no file could be created under this name, as far as one can know before.
void require_creatable(const std::filesystem::path& path);

/// The folder and its parents. Error (runtime) if that cannot be.
void make_folders(const std::filesystem::path& path);

/// A file being read at any offset.
class InputFile {
 public:
  /// Errors (data): missing, a folder, unreadable.
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset`. Errors (data): the file ends before, or cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file being written from its beginning or its end. Nothing is buffered here: what `write`
/// returned from, the kernel has. Errors (runtime) name the path and the system's reason.
class OutputFile : public ByteSink {
 public:
  enum class Mode { create, replace, append };  ///< create: it must not be there

  OutputFile(std::filesystem::path path, Mode mode);
  /// A file that has no name yet, in the folder of `path`: whatever ends the process, nothing of it
  /// stays. Nothing where the file system has no such files (NFS).
  static std::optional<OutputFile> unnamed(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile() override;  ///< closes without the promise of `finish`

  using ByteSink::write;
  void write(Bytes bytes) override;
  /// Overwrites bytes already written, for sizes and checksums that are known late.
  void patch(std::uint64_t offset, Bytes bytes);
  /// Brings everything to the disk and gives an unnamed file its name. False where something else
  /// has it.
  bool publish(const std::filesystem::path& name);
  /// Brings everything to the disk and closes; errors that only now come to light are errors.
  void finish();

  const std::filesystem::path& path() const { return path_; }
  /// A path by which a library can open this very file while it is open here, named or not.
  std::filesystem::path reopen_path() const;
  /// Bytes written through this object.
  std::uint64_t written() const { return written_; }

 private:
  OutputFile(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  void sync() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
};

/// A file that replaces `path` at `commit`: written without a name, or under a temporary one, in
/// the same folder, synced, named, and the folder synced. Without a commit nothing of it stays, and
/// an older file is as it was. A symbolic link stays one: the file that it leads to is replaced, or
/// made. Error (runtime) for devices and pipes.
class AtomicFile : public ByteSink {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() override;

  using ByteSink::write;
  void write(Bytes bytes) override { file_.write(bytes); }
  OutputFile& file() { return file_; }
  void commit();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  std::filesystem::path temporary_;  ///< what is there under a name that is not yet its own, or ""
};

/// The whole file at once, through an AtomicFile.
void write_file(const std::filesystem::path& path, Bytes bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

/// Keeps a folder to one process: a lock on the file ".lock" in it, which the system gives back
/// when the process ends, however it ends. The file stays; it tells who wrote there last.
class FolderLock {
 public:
  /// Makes the folder where it is missing. Error (runtime) while another FolderLock holds it: it
  /// names that process and ends with `advice`.
  FolderLock(const std::filesystem::path& folder, const std::string& advice);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  /// False on a file system without locks (Lustre mounted without them): nothing is kept then.
  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace wellspring
