// The columns of a batch as Python arrays that share its memory, and the caller's arrays as columns.
// Called by the bindings, with the GIL held; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/runtime/device.h"

#include "python/batch_memory.h"
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <vector>

namespace wellspring::python {

/// Axes of images.
enum class ImageAxes : std::uint8_t { channels_last, channels_first };

/// f32, bf16, f16 or u8. Throws a config error that names the argument and the possible types.
ElementType parse_dtype(const std::string& name);
/// "NHWC" or "NCHW".
ImageAxes parse_axes(const std::string& name);

/// [(name, type, shape)] of a batch's columns; types as in "f32".
nanobind::list describe_columns(const TypedBatch& batch);
/// {name: array}. NumPy arrays, except for bf16 and on GPUs: there, objects with the DLPack protocol.
nanobind::dict to_arrays(const std::shared_ptr<BatchMemory>& memory, Device device, ImageAxes axes);

/// A batch in the caller's memory.
struct CallersBatch {
  TypedBatch batch;
  std::vector<nanobind::ndarray<>> held;  ///< keeps that memory alive
};
/// `batch` with the pointers of the caller's `arrays`, {name: array}; the other columns are not made.
/// Throws a config error that names the argument unless each array is a column of the batch on
/// `device` with its type, shape and memory order, and x is among them.
CallersBatch from_arrays(const TypedBatch& batch, const nanobind::dict& arrays, Device device,
                         ImageAxes axes);

}  // namespace wellspring::python
