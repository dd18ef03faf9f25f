// Named arrays in HDF5 files, NumPy archives and folders of NumPy files. Used by the formats of
// array files; host only.
#pragma once

#include "core/io/hdf5.h"
#include "core/io/stored_array.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace wellspring {

/// An array of numbers of any type, with at least one dimension; read on demand.
class NumberArray {
 public:
  explicit NumberArray(Hdf5Array array);
  NumberArray(std::string name, std::shared_ptr<StoredArray> array);

  const std::string& name() const { return name_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t rows() const { return shape_[0]; }
  bool is_whole() const { return whole_; }
  bool is_bytes() const { return type_text_ == "U8"; }
  /// True if a later read() can fail only because the file has changed.
  bool is_checked() const { return std::holds_alternative<Stored>(data_); }
  /// For messages: "F32 [2, 3]".
  std::string text() const;
  /// Reads rows [first, first + count) as numbers of type T (std::uint8_t, std::int64_t, float,
  /// double) into `out`; see Hdf5Array::read. An integer T requires whole numbers.
  template <class T>
  void read(std::int64_t first, std::int64_t count, T* out) const;
  /// The text attribute of that name; empty if there is no such attribute.
  std::optional<std::string> text_attribute(const std::string& name) const;

 private:
  std::string name_, type_text_;
  std::vector<std::int64_t> shape_;
  bool whole_ = false;
  using Stored = std::shared_ptr<StoredArray>;
  std::variant<Hdf5Array, Stored> data_;
};

extern template void NumberArray::read(std::int64_t, std::int64_t, std::uint8_t*) const;
extern template void NumberArray::read(std::int64_t, std::int64_t, std::int64_t*) const;
extern template void NumberArray::read(std::int64_t, std::int64_t, float*) const;
extern template void NumberArray::read(std::int64_t, std::int64_t, double*) const;

class ArrayInput {
 public:
  virtual ~ArrayInput() = default;
  const std::filesystem::path& path() const { return path_; }
  virtual const std::vector<std::string>& names() const = 0;
  virtual bool has(std::string_view name) const;
  /// Errors (data): missing (with the nearest name), not an array of numbers, damaged.
  virtual NumberArray array(const std::string& name) const = 0;
  /// The scalar text of that name; empty if the file lacks it or has anything else there. Error
  /// (data): damaged.
  virtual std::optional<std::string> text(const std::string& name) const = 0;
  /// "a.npz: 'x'", for messages.
  virtual std::string where(const std::string& name) const;

  /// Host memory for the arrays in use that cannot be read in place (compressed, Fortran order).
  std::uint64_t held_bytes() const;
  /// Holds these arrays in `memory`; see StoredArray::hold.
  void hold(std::span<std::byte> memory) const;

  /// Throws an error (data) about the file's entry `name`.
  [[noreturn]] void refuse(const std::string& name, const std::string& problem,
                           const std::string& why, const std::string& advice) const;
  /// Throws a data error that names the array's type and shape.
  [[noreturn]] void refuse(const NumberArray& array, const std::string& why,
                           const std::string& advice) const;
  /// An array of exactly this shape. Errors (data): as for array(), and a different shape. `what`
  /// names the array that sets the number of rows: "'x' has 20 rows".
  NumberArray array_of(const std::string& name, const std::vector<std::int64_t>& shape,
                       const std::string& what) const;

 protected:
  explicit ArrayInput(std::filesystem::path path) : path_(std::move(path)) {}
  /// The array as numbers. Error (data): a scalar.
  NumberArray opened(const std::string& name, std::shared_ptr<StoredArray> array) const;

 private:
  std::filesystem::path path_;
  mutable std::vector<std::weak_ptr<StoredArray>> opened_;
};

/// Errors (data): missing, not of this format, damaged.
std::unique_ptr<ArrayInput> open_hdf5_input(const std::filesystem::path& path);
std::unique_ptr<ArrayInput> open_npz_input(const std::filesystem::path& path);
/// The .npy and IDX files in the folder of `path`, named by their paths relative to this folder.
std::unique_ptr<ArrayInput> open_npy_input(const std::filesystem::path& path);

}  // namespace wellspring
