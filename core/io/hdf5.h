// HDF5 files: named arrays and strings with attributes. The only user of the HDF5 library. Called
// by `export`, the data-set format `hdf5` and tests; host only.
//
// The library's state is not thread-safe, so every call takes a process-wide lock, and objects of
// these classes may be used from any thread. The library prints nothing and does nothing at exit.
#pragma once

#include "core/io/compression.h"
#include "core/io/files.h"
#include "core/io/hdf5_chunks.h"
#include "core/io/npy.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace wellspring {

namespace detail {

/// An owned identifier of the library.
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(std::int64_t id) : id_(id) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Handle() { close(); }

  std::int64_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// False on failure.
  bool close() noexcept;

 private:
  std::int64_t id_ = -1;
};

}  // namespace detail

/// Throws a config error, for this path, if the program was built without the library.
void require_hdf5(const std::filesystem::path& path);

/// Longest text of an attribute, in bytes. Together with names and types it must stay below 64 KiB,
/// the limit of a message in an object header (HDF5 File Format Specification 3.0, IV.A.2.m).
inline constexpr std::size_t kLongestHdf5Attribute = 60000;

/// Writes a file that appears at `commit`, like AtomicFile. Arrays are C-ordered and
/// little-endian; no dates are stored, so equal arrays give identical files. Memory use does not
/// depend on the sizes of the arrays. Runtime errors give the path and the system's reason.
class Hdf5Writer {
 public:
  using Array = std::size_t;
  using Value = std::variant<std::int64_t, double, std::string>;

  explicit Hdf5Writer(const std::filesystem::path& path, const Compression& compression = {});
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Opens an array of u8, i32, i64, f32 or f64 that append() fills row by row.
  Array open(const std::string& name, const ArraySpec& spec);
  /// The same with an unknown number of rows; the first extent in `spec` is ignored.
  Array open_growing(const std::string& name, const ArraySpec& spec);
  /// Appends whole rows.
  void append(Array array, Bytes rows);
  /// Sets an attribute of an array or of the file.
  void set(Array array, const std::string& name, const Value& value);
  void set(const std::string& name, const Value& value);
  /// Adds a scalar UTF-8 string.
  void add_text(const std::string& name, std::string_view utf8);
  /// Throws std::logic_error if an array is not full.
  void commit();

 private:
  struct Open;
  Open& opened(Array array);
  Array open_array(const std::string& name, ArraySpec spec, bool grows);
  [[noreturn]] void refuse(const std::string& doing) const;

  AtomicFile file_;
  std::filesystem::path path_;
  Compression compression_;
  detail::Hdf5Handle hdf5_;
  std::vector<std::unique_ptr<Open>> arrays_;
};

/// An array in a file.
class Hdf5Array {
 public:
  enum class Numbers { whole, real };

  const std::string& name() const { return name_; }
  Numbers numbers() const { return numbers_; }
  int bits() const { return bits_; }  ///< per number: 8, 16, 32 or 64
  bool is_signed() const { return signed_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  /// Numbers per row.
  std::int64_t row_elements() const;
  /// Reads rows [first, first + count) converted to T (std::uint8_t, std::int64_t, float, double)
  /// into `out` [count, row_elements]. Values outside T's range become the nearest value or
  /// infinity. Throws a data error if the file is damaged or has become shorter.
  template <class T>
  void read(std::int64_t first, std::int64_t count, T* out) const;
  /// The attribute `name`, if it exists and is a string.
  std::optional<std::string> text_attribute(const std::string& name) const;

 private:
  friend class Hdf5File;
  Hdf5Array() = default;
  void read_as(std::int64_t type, std::int64_t first, std::int64_t count, void* out) const;

  std::filesystem::path path_;
  std::string name_;
  Numbers numbers_ = Numbers::real;
  int bits_ = 0;
  bool signed_ = true;
  std::vector<std::int64_t> shape_;
  std::uint64_t file_size_ = 0;  ///< at opening, bytes
  mutable Hdf5Chunks chunks_;
  detail::Hdf5Handle dataset_;
};

/// Limit of Hdf5File::names(). Further names are not listed but can be opened.
inline constexpr std::size_t kMostHdf5Names = 1000;

/// A file opened for reading. Never opens anything outside the file: external links, external raw
/// data, virtual arrays and filter plugins are refused.
class Hdf5File {
 public:
  /// Throws a data error if the file is missing, not HDF5, truncated or damaged.
  explicit Hdf5File(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Names in the root group, and in groups as "group/name", sorted; at most kMostHdf5Names.
  const std::vector<std::string>& names() const { return names_; }
  /// `name` may be a path through groups.
  bool has(const std::string& name) const;
  /// An array of numbers with at least one dimension. It may be in a group ("train/x") and may
  /// contain enumerations, since h5py writes booleans that way. Throws data errors for a missing
  /// name (with the nearest one), anything other than such an array, a filter other than deflate,
  /// lz4, zstd, shuffle, fletcher32, szip, nbit or scale-offset, or more data than the file can
  /// contain.
  Hdf5Array array(const std::string& name) const;
  /// True if `name` is a scalar string.
  bool is_text(const std::string& name) const;
  /// A scalar string. Throws data errors.
  std::string text(const std::string& name) const;

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& problem,
                           const std::string& why, const std::string& advice) const;
  [[noreturn]] void refuse_damaged(const std::string& name) const;
  detail::Hdf5Handle open_dataset(const std::string& name) const;

  std::filesystem::path path_;
  std::uint64_t size_ = 0;
  detail::Hdf5Handle hdf5_;
  std::vector<std::string> names_;
};

extern template void Hdf5Array::read(std::int64_t, std::int64_t, std::uint8_t*) const;
extern template void Hdf5Array::read(std::int64_t, std::int64_t, std::int64_t*) const;
extern template void Hdf5Array::read(std::int64_t, std::int64_t, float*) const;
extern template void Hdf5Array::read(std::int64_t, std::int64_t, double*) const;

}  // namespace wellspring
