// NumPy's array files: .npy (one array) and .npz (named arrays, a stored zip archive), as
// numpy.load reads them. Called by `export` and tests; host only.
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

/// A C-ordered array's type and extents. bf16 does not exist in NumPy and is refused.
struct ArraySpec {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  ///< {} is a scalar

  std::uint64_t count() const;
  std::uint64_t bytes() const { return count() * element_size(type); }
};

/// What stands before the data of a .npy file (format version 1.0, a multiple of 64 bytes).
std::string npy_header(const ArraySpec& spec);
/// A text as a whole .npy file of no dimensions: NumPy's fixed-width Unicode ("<U12", UTF-32),
/// which numpy.load reads without pickle and str() gives back. Error (data) where it is not UTF-8.
std::string npy_text(std::string_view utf8);
/// One array as a file, written whole or not at all.
void write_npy(const std::filesystem::path& path, const ArraySpec& spec, Bytes data);

/// Sizes and offsets from here on stand in 64-bit fields (PKWARE's APPNOTE 6.3, 4.4.8).
inline constexpr std::uint64_t kZip64From = 0xFFFFFFFF;

/// Writes a .npz archive; the file appears at `commit`. Members are stored, not compressed, so that
/// readers may map them; dates are fixed, so that equal arrays make equal files. Arrays may be
/// filled side by side: a place as large as each lies ready for it, and nothing is kept in memory.
class NpzWriter {
 public:
  using Array = std::size_t;  ///< one that is open

  /// `zip64_from`: for tests, which then need no file of 4 GiB; at most kZip64From.
  explicit NpzWriter(const std::filesystem::path& path, std::uint64_t zip64_from = kZip64From)
      : file_(path), zip64_from_(zip64_from) {}

  /// A whole array.
  void add(const std::string& name, const ArraySpec& spec, Bytes data);
  /// A member that is there already, under its whole name: "metadata.npy".
  void add_file(const std::string& name, Bytes data);
  /// An array in pieces: open, append until it is full, close.
  Array open(const std::string& name, const ArraySpec& spec);
  /// The same of an array whose first extent is known when it is closed; the one in `spec` is not
  /// read. Nothing can be opened or added behind it before that.
  Array open_growing(const std::string& name, const ArraySpec& spec);
  void append(Array array, Bytes data);
  void close(Array array);
  /// Adds the directory. Every array must be closed.
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0;  ///< of its local header
    std::uint64_t data = 0;    ///< where its bytes begin
    std::uint64_t size = 0;    ///< as announced; what there is, of one that grows
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
  std::uint64_t end_ = 0;  ///< of what is written or has its place
  std::vector<Member> members_;
};

/// A .npy file or a member of a .npz archive, read back.
struct NpyArray {
  ArraySpec spec;
  std::vector<std::byte> data;

  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// What a .npy file holds and where its data begins, for reading parts of it.
struct NpyHeader {
  ArraySpec spec;
  std::uint64_t data_offset = 0;  ///< in the file
};
/// Reads the header and compares the file's size with it. Errors (data) as parse_npy.
NpyHeader read_npy_header(const InputFile& file);

/// Errors (data): damaged, Fortran order, another byte order or an element type we do not have.
NpyArray parse_npy(Bytes file, const std::string& name);
NpyArray read_npy(const std::filesystem::path& path);
/// The names of the members, in the archive's order: "x.npy".
std::vector<std::string> npz_members(const std::filesystem::path& path);
/// The array `name` (without ".npy"). Errors (data) as parse_npy, and: not a zip archive, no such
/// member (with the nearest name), compressed, a wrong checksum.
NpyArray read_npz(const std::filesystem::path& path, const std::string& name);
/// The same of a text without dimensions, as UTF-8.
std::string read_npz_text(const std::filesystem::path& path, const std::string& name);

}  // namespace wellspring
