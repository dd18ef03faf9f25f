// Arrays of numbers in files, read in parts: a .npy or IDX file, or a member of an .npz archive.
// Called by data sets; host only.
#pragma once

#include "core/io/npy.h"
#include "core/io/npy_numbers.h"
#include "core/io/zip_directory.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// An array that is read in place if the file allows it. The first read of a compressed array, or
/// of one in Fortran order, loads all of it into memory.
class StoredArray {
 public:
  /// A .npy file. Throws the data errors of parse_npy_header.
  explicit StoredArray(std::shared_ptr<const InputFile> file);
  /// An IDX file, which may be gzip-compressed in several members. Throws the data errors of
  /// core/io/idx.h; compressed data are checked when they are read.
  static std::shared_ptr<StoredArray> of_idx(std::shared_ptr<const InputFile> file);
  /// A member of an archive. Throws the same errors, and one for a damaged archive. An uncompressed
  /// member is read now, for its checksum; a signal stops this with Interrupted. A compressed member
  /// is checked when it is read.
  StoredArray(std::shared_ptr<const InputFile> archive, const ZipEntry& entry);
  StoredArray(const StoredArray&) = delete;
  StoredArray& operator=(const StoredArray&) = delete;

  const ArraySpec& spec() const { return header_.spec; }
  /// Host memory that holds the array, bytes; 0: it is read in place.
  std::uint64_t held_bytes() const;
  /// Holds the array in `memory` [held_bytes()], which must outlive all reads; otherwise the first
  /// read allocates memory. Not during a read. Throws a data error if the array is damaged.
  void hold(std::span<std::byte> memory);
  /// Copies numbers [first, first + count), in C order and as spec().type, to `out`. Thread-safe.
  /// Throws a data error if the file has become shorter or is damaged.
  void read(std::uint64_t first, std::uint64_t count, std::byte* out) const;
  /// The whole array.
  NpyArray whole() const;

 private:
  StoredArray(std::shared_ptr<const InputFile> file, NpyHeader header, ZipEntry entry);
  void fill(std::span<std::byte> memory) const;
  const std::byte* held() const;

  std::shared_ptr<const InputFile> file_;
  std::string name_;  ///< for messages
  ZipEntry entry_;    ///< a whole .npy file counts as a stored entry
  bool archived_ = false;
  std::uint64_t begin_ = 0;  ///< offset of the content in the file, bytes
  NpyHeader header_;

  mutable std::once_flag first_read_;
  mutable std::vector<std::byte> own_;  ///< used if hold() was not called
  mutable const std::byte* held_ = nullptr;
};

/// The members of an archive that are arrays.
class NpzFile {
 public:
  /// Throws a data error if the file is missing, not an archive or damaged.
  explicit NpzFile(const std::filesystem::path& path);
  /// Names without ".npy", in archive order.
  std::vector<std::string> names() const;
  /// Throws a data error for a missing array (with the nearest name), and StoredArray's errors.
  std::shared_ptr<StoredArray> array(const std::string& name) const;
  /// True if the array exists and is a scalar string. Throws a data error if it is damaged.
  bool is_text(const std::string& name) const;
  /// A scalar string, as UTF-8. Throws data errors.
  std::string text(const std::string& name) const;

 private:
  const ZipEntry& entry_of(const std::string& name) const;

  std::shared_ptr<const InputFile> file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace wellspring
