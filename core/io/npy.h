// NumPy files: .npy (one array) and .npz (named arrays in a zip archive). core/io/stored_array.h
// reads arrays in parts. Called by `export`, data sets and tests; host only.
#pragma once

#include "core/io/bytes.h"
#include "core/io/element_type.h"
#include "core/io/files.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// Type and extents of a C-ordered array. NumPy has no bf16; it is refused.
struct ArraySpec {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< {} is a scalar

  std::uint64_t count() const;
  std::uint64_t bytes() const { return count() * element_size(type); }
};

/// Everything before the data of a .npy file (format version 1.0, a multiple of 64 bytes).
std::string npy_header(const ArraySpec& spec);
/// A .npy file with a scalar string in NumPy's fixed-width Unicode ("<U12", UTF-32), which
/// numpy.load reads without pickle. Throws a data error if `utf8` is not UTF-8.
std::string npy_text(std::string_view utf8);
/// Writes an array as a file, atomically.
void write_npy(const std::filesystem::path& path, const ArraySpec& spec, Bytes data);

/// Sizes and offsets of at least this value need 64-bit fields (PKWARE's APPNOTE 6.3, 4.4.8).
inline constexpr std::uint64_t kZip64From = 0xFFFFFFFF;

/// Writes a .npz archive; the file appears at `commit`. Members are uncompressed, so that readers
/// can map them. Dates are fixed, so that equal arrays give identical files. Several arrays can be
/// filled concurrently: each has its own space in the file, and nothing is kept in memory.
class NpzWriter {
 public:
  using Array = std::size_t;  ///< an open array

  /// `zip64_from`: at most kZip64From; smaller only in tests, to avoid files of 4 GiB.
  explicit NpzWriter(const std::filesystem::path& path, std::uint64_t zip64_from = kZip64From)
      : file_(path), zip64_from_(zip64_from) {}

  /// Adds a whole array.
  void add(const std::string& name, const ArraySpec& spec, Bytes data);
  /// Adds a complete member with its full name: "metadata.npy".
  void add_file(const std::string& name, Bytes data);
  /// Adds an array in pieces: open, append until it is full, close.
  Array open(const std::string& name, const ArraySpec& spec);
  /// The same with an unknown number of rows; the first extent in `spec` is ignored. Until it is
  /// closed, nothing else can be opened or added.
  Array open_growing(const std::string& name, const ArraySpec& spec);
  void append(Array array, Bytes data);
  void close(Array array);
  /// Adds the directory. Every array must be closed.
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0;  ///< offset of the local header
    std::uint64_t data = 0;    ///< offset of the data
    std::uint64_t size = 0;    ///< total size; current size while growing
    std::uint64_t filled = 0;
    std::uint32_t crc = 0;
    bool wide = false;  ///< has 64-bit sizes
    bool open = true;
    std::optional<ArraySpec> growing;
  };
  bool needs64(std::uint64_t value) const { return value >= zip64_from_; }
  std::uint32_t field32(std::uint64_t value) const;
  void append_common(std::string& out, const Member& member, bool wide) const;
  std::string local_header(const Member& member) const;
  Array begin_member(Member member);
  Member& open_member(Array array);
  void close_growing(Member& member);

  AtomicFile file_;
  std::uint64_t zip64_from_;
  std::uint64_t end_ = 0;  ///< end of the written or reserved space
  std::vector<Member> members_;
};

/// An array read from a .npy file or a .npz archive.
struct NpyArray {
  ArraySpec spec;
  std::vector<std::byte> data;

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// Throws data errors for a damaged file or an unsupported element type.
NpyArray read_npy(const std::filesystem::path& path);
/// Names of the members, in archive order: "x.npy".
std::vector<std::string> npz_members(const std::filesystem::path& path);
/// The array `name` (without ".npy"). Throws the errors of read_npy, and data errors if the file is
/// not a zip archive, has no such member (with the nearest name) or has a wrong checksum.
NpyArray read_npz(const std::filesystem::path& path, const std::string& name);
/// A scalar string, as UTF-8.
std::string read_npz_text(const std::filesystem::path& path, const std::string& name);

}  // namespace wellspring
