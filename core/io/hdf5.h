// HDF5 files: arrays and texts under names, with attributes. The one place that knows the HDF5
// library. Called by `export`, the data-set format `hdf5` and tests; host only.
//
// The library has state of its own that threads may not share: every call goes through one lock of
// the process, so that objects of these classes may be used from any thread. It prints nothing, and
// leaves nothing to do at the end of the process.
#pragma once

#include "core/io/files.h"
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

/// An identifier of the library, closed when it goes.
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
  /// False where that failed.
  bool close() noexcept;

 private:
  std::int64_t id_ = -1;
};

}  // namespace detail

/// Longest text of an attribute, bytes: with names and types it must stay below 64 KiB, the most
/// that a message of an object's header may have (HDF5 File Format Specification 3.0, IV.A.2.m).
inline constexpr std::size_t kLongestHdf5Attribute = 60000;

/// A file that is written array by array and appears at `commit`, as AtomicFile. Arrays are C
/// ordered, little-endian, not compressed; no dates are stored, so that equal arrays make equal
/// files. What memory it takes does not depend on the arrays' sizes. Errors (runtime): the path,
/// and the system's reason.
class Hdf5Writer {
 public:
  using Array = std::size_t;
  using Value = std::variant<std::int64_t, double, std::string>;

  explicit Hdf5Writer(const std::filesystem::path& path);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// An array that is filled by append, row after row of its first extent. u8, i32, i64, f32, f64.
  Array open(const std::string& name, const ArraySpec& spec);
  /// The same of an array whose first extent is how many rows came; the one in `spec` is not read.
  Array open_growing(const std::string& name, const ArraySpec& spec);
  /// Whole rows.
  void append(Array array, Bytes rows);
  /// An attribute of an array, or of the whole file.
  void set(Array array, const std::string& name, const Value& value);
  void set(const std::string& name, const Value& value);
  /// A text without dimensions, UTF-8.
  void add_text(const std::string& name, std::string_view utf8);
  /// Throws std::logic_error where an array is not full.
  void commit();

 private:
  struct Open;
  Open& opened(Array array);
  Array open_array(const std::string& name, ArraySpec spec, bool grows);
  [[noreturn]] void refuse(const std::string& doing) const;

  AtomicFile file_;
  std::filesystem::path path_;
  detail::Hdf5Handle hdf5_;
  std::vector<std::unique_ptr<Open>> arrays_;
};

/// An array of a file.
class Hdf5Array {
 public:
  enum class Numbers { whole, real };

  const std::string& name() const { return name_; }
  Numbers numbers() const { return numbers_; }
  int bits() const { return bits_; }  ///< of a number: 8, 16, 32 or 64
  bool is_signed() const { return signed_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  /// Numbers of a row of the first extent.
  std::int64_t row_elements() const;
  /// Reads rows [first, first + count) as numbers of type T (std::uint8_t, std::int64_t, float,
  /// double), converted; what T cannot hold becomes its nearest value, or infinite. `out` [count,
  /// row_elements]. Error (data): damaged.
  template <class T>
  void read(std::int64_t first, std::int64_t count, T* out) const;
  /// The attribute of that name, where it is there and a text.
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
  detail::Hdf5Handle dataset_;
};

/// A file that is read. Nothing outside of it is ever opened: links to other files, raw data beside
/// it, virtual arrays and filters from elsewhere are refused.
class Hdf5File {
 public:
  /// Errors (data): missing, no HDF5, cut short, damaged.
  explicit Hdf5File(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  /// Names of what the root holds, sorted.
  const std::vector<std::string>& names() const { return names_; }
  bool has(std::string_view name) const;
  /// An array of numbers with at least one dimension; also of whole numbers with names, as h5py
  /// writes True and False. Errors (data): it is not there (with the
  /// nearest name), no such array, compressed by a filter that is not deflate, shuffle, fletcher32,
  /// szip, nbit or scale-offset, more data than the file can hold.
  Hdf5Array array(const std::string& name) const;
  /// A text without dimensions. Errors (data).
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
