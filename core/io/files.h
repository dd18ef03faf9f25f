// File input and output with complete error checks and atomic publishing: a run killed at any point
// leaves the old file or the new one. Folders: core/io/atomic_folder.h. Called by checkpoints,
// exports, reports and readers; host only.
#pragma once

#include "core/io/bytes.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// Throws a data error unless the path is a file (require_file) or a folder (require_folder).
/// Pipes, sockets and devices are refused, because opening one may block forever. The advice names
/// the missing part of the path and a similar name.
void require_file(const std::filesystem::path& path);
void require_folder(const std::filesystem::path& path);
/// The advice in these errors: "'/data' exists, but has no 'cifr'; did you mean 'cifar'?"; "" if
/// the path exists.
std::string missing_part(const std::filesystem::path& path);

/// "a named pipe", "a socket", "a device"; "" for files, folders, links and missing paths.
std::string_view special_file(std::filesystem::file_type type);

/// The whole file. Throws a data error if it is missing, a folder or unreadable.
std::string read_text(const std::filesystem::path& path);
std::vector<std::byte> read_bytes(const std::filesystem::path& path);

/// Throws a runtime error if a file with this name certainly cannot be created.
void require_creatable(const std::filesystem::path& path);

/// Creates the folder and its parents. Throws a runtime error on failure.
void make_folders(const std::filesystem::path& path);

/// A file opened for reading at any offset.
class InputFile {
 public:
  /// Throws a data error if the file is missing, a folder or unreadable.
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset`. Throws a data error if the file is too short or cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file opened for writing, from its beginning or its end. Unbuffered: after `write` returns, the
/// kernel has the bytes. Runtime errors name the path and the system's reason.
class OutputFile : public ByteSink {
 public:
  enum class Mode { create, replace, append };  ///< create: the file must not exist

  OutputFile(std::filesystem::path path, Mode mode);
  /// A file without a name in the folder of `path`; it vanishes when the process ends unless it is
  /// published. Empty if the file system does not support this (NFS).
  static std::optional<OutputFile> unnamed(const std::filesystem::path& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile() override;  ///< closes without the guarantees of `finish`

  using ByteSink::write;
  void write(Bytes bytes) override;
  /// The same, but if the disk is full or fails, retries for two seconds, starting at the first
  /// unwritten byte.
  void write_patiently(Bytes bytes);
  /// Overwrites bytes, for sizes and checksums that are only known after the data is written.
  void patch(std::uint64_t offset, Bytes bytes);
  /// Syncs to disk and gives an unnamed file its name. False if the name is taken.
  bool publish(const std::filesystem::path& name);
  /// Syncs to disk and closes; reports late errors.
  void finish();

  const std::filesystem::path& path() const { return path_; }
  /// A path through which a library can open this file, even a nameless one, while it is open here.
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

/// A file that replaces `path` at `commit`. It is written in the same folder, without a name or
/// with a temporary one, then synced and renamed; finally the folder is synced. Without `commit`
/// the new file vanishes and an old file stays unchanged. A symbolic link is kept: its target is
/// replaced or created. Throws a runtime error for devices and pipes.
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
  std::filesystem::path temporary_;  ///< temporary name, or ""
};

/// Writes a whole file through an AtomicFile.
void write_file(const std::filesystem::path& path, Bytes bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

/// Reserves a folder for one process by locking the file ".lock" in it. The system releases the
/// lock when the process ends for any reason. The file remains and names the last writer.
class FolderLock {
 public:
  /// Creates the folder if it is missing. If another FolderLock holds it, throws a runtime error
  /// that names the holder and ends with `advice`.
  FolderLock(const std::filesystem::path& folder, const std::string& advice);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

  /// False on a file system without locks (for example Lustre without flock): nothing is reserved.
  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace wellspring
