// NumPy's array files: .npy (one array) and .npz (named arrays, a stored zip archive), as
// numpy.load reads them. Called by `export` and tests; host only.
#pragma once

#include "core/bytes.h"
#include "core/element_type.h"
#include "core/files.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
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
/// One array as a file, written whole or not at all.
void write_npy(const std::filesystem::path& path, const ArraySpec& spec, Bytes data);

/// Writes a .npz archive array by array; the file appears at `commit`. Members are stored, not
/// compressed, so that readers may map them; dates are fixed, so that equal arrays make equal
/// files.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path) : file_(path) {}

  /// A whole array.
  void add(const std::string& name, const ArraySpec& spec, Bytes data);
  /// A member that is no array, such as metadata.json; numpy.load gives its bytes.
  void add_file(const std::string& name, Bytes data);
  /// An array in pieces: begin, append until it is full, end.
  void begin(const std::string& name, const ArraySpec& spec);
  void append(Bytes data);
  void end();
  void commit();

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0;  ///< of its local header
    std::uint64_t size = 0;
    std::uint32_t crc = 0;
  };
  void begin_member(const std::string& name, std::uint64_t size);

  AtomicFile file_;
  std::vector<Member> members_;
  std::optional<std::uint64_t> left_;  ///< bytes the open member still wants
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

}  // namespace wellspring
