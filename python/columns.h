// The columns of a batch as Python arrays that share its memory, and the caller's arrays as columns.
// Called by the bindings, with the GIL held; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/device.h"

#include "python/batch_memory.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string_view>
#include <vector>

namespace wellspring::python {

/// Axes of images.
enum class ImageAxes : std::uint8_t { channels_last, channels_first };

/// f32, bf16, f16 or u8. Throws a config error that names the argument and the possible types.
ElementType parse_dtype(std::string_view name);
/// "NHWC" or "NCHW".
ImageAxes parse_axes(std::string_view name);

/// Loads NumPy. Called once, before any other function of this file.
void open_numpy();

/// [(name, type, shape)] of a batch's columns; types as in "f32".
nanobind::list describe_columns(const TypedBatch& batch);

/// A batch in the caller's memory.
struct CallersBatch {
  TypedBatch batch;
  /// Keep that memory alive.
  std::array<nanobind::object, kBatchColumns> arrays;
  std::vector<nanobind::ndarray<>> imported;
};

/// The arrays of all batches of one size, type and device. What the batches have in common is
/// computed once.
class BatchArrays {
 public:
  /// `batch`: without data.
  BatchArrays(const TypedBatch& batch, Device device, ImageAxes axes);
  /// True for batches of this size and type, with these axes.
  bool fit(std::int64_t rows, ElementType type, ImageAxes axes) const {
    return batch_.view.size == rows && batch_.type == type && axes_ == axes;
  }

  /// A wellspring.Batch of the columns in `memory`: NumPy arrays, except for bf16 and on GPUs. There, the
  /// columns are objects with the DLPack protocol.
  nanobind::dict of(const std::shared_ptr<BatchMemory>& memory) const;
  /// The batch with the pointers of the caller's `arrays`, {name: array}; the other columns are not made.
  /// Throws a config error that names the argument unless each array is a column of the batch on the
  /// device with its type, shape and memory order, and x is among them.
  CallersBatch from(const nanobind::dict& arrays) const;

 private:
  /// Shape and strides of a column. The first `axes` numbers count.
  struct Extents {
    std::size_t axes = 0;
    std::array<std::size_t, 4> shape = {};
    std::array<std::int64_t, 4> strides = {};  ///< elements
    std::array<std::int64_t, 4> bytes = {};    ///< strides in bytes
    int numpy_type = 0;                        ///< type of NumPy's C interface
  };
  static bool same_shape(const Extents& wanted, const nanobind::ndarray<>& array);
  static bool same_strides(const Extents& wanted, const nanobind::ndarray<>& array);
  Extents extents_of(const BatchColumn& column) const;
  /// Data of a NumPy array that holds column i; null for other objects, which need the checks of
  /// imported_array().
  void* numpy_data(std::size_t i, PyObject* object) const;
  /// The caller's array for column i, after all checks.
  nanobind::ndarray<> imported_array(std::size_t i, nanobind::handle object) const;
  nanobind::object array_of(std::size_t i, void* data, const nanobind::capsule& owner) const;

  friend nanobind::list describe_columns(const TypedBatch& batch);

  TypedBatch batch_;
  Device device_;
  ImageAxes axes_;
  std::array<BatchColumn, kBatchColumns> columns_;
  std::array<Extents, kBatchColumns> extents_;
};

/// {name: array} as a wellspring.Batch: itself if it is one.
nanobind::object as_batch(const nanobind::dict& arrays);

}  // namespace wellspring::python
