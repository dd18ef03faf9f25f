#include "python/columns.h"

#include "core/error.h"
#include "core/text/text.h"
#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <nanobind/stl/string.h>
#include <span>
#include <string_view>

namespace nb = nanobind;

namespace wellspring::python {
namespace {

using nb::dlpack::dtype_code;

nb::dlpack::dtype dlpack_type(ElementType type) {
  switch (type) {
    case ElementType::i32:
      return nb::dtype<std::int32_t>();
    case ElementType::f16:
      return {static_cast<std::uint8_t>(dtype_code::Float), 16, 1};
    case ElementType::u8:
      return nb::dtype<std::uint8_t>();
    case ElementType::bf16:
      return {static_cast<std::uint8_t>(dtype_code::Bfloat), 16, 1};
    default:
      return nb::dtype<float>();
  }
}

/// "f32", "i64".
std::string type_name(nb::dlpack::dtype type) {
  const char* kind = "?";
  if (type.code == static_cast<std::uint8_t>(dtype_code::Float)) kind = "f";
  if (type.code == static_cast<std::uint8_t>(dtype_code::Bfloat)) kind = "bf";
  if (type.code == static_cast<std::uint8_t>(dtype_code::Int)) kind = "i";
  if (type.code == static_cast<std::uint8_t>(dtype_code::UInt)) kind = "u";
  return fmt::format("{}{}", kind, type.bits);
}

int device_type(Device device) {
  return device.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value;
}

/// Extents and strides of a column, in elements. Batches are made in a few microseconds, so nothing
/// here allocates.
class Extents {
 public:
  Extents(const BatchView& batch, const BatchColumn& column, ImageAxes axes) {
    const SampleLayout& layout = batch.layout;
    const std::string_view name = column.name;
    const bool image = layout.kind == SampleKind::image;
    add(batch.size);
    if (name == "x" && image) {
      add(layout.height);
      add(layout.width);
      add(layout.channels);
    } else if (name == "x" && layout.kind == SampleKind::set) {
      add(layout.items);
      add(layout.features);
    } else if (name == "plane") {
      add(layout.height);
      add(layout.width);
    } else if (name != "label" && name != "weight" && name != "count") {
      add(column.width);
    }
    std::int64_t stride = 1;
    for (std::size_t i = axes_; i-- > 0; stride *= static_cast<std::int64_t>(shape_[i]))
      strides_[i] = stride;
    if (name == "x" && image && axes == ImageAxes::channels_first) {
      std::rotate(shape_.begin() + 1, shape_.begin() + 3, shape_.end());
      std::rotate(strides_.begin() + 1, strides_.begin() + 3, strides_.end());
    }
  }
  std::span<const std::size_t> shape() const { return {shape_.data(), axes_}; }
  std::span<const std::int64_t> strides() const { return {strides_.data(), axes_}; }
  bool contiguous() const { return axes_ < 2 || strides_[axes_ - 1] == 1; }

 private:
  void add(std::int64_t extent) { shape_[axes_++] = static_cast<std::size_t>(extent); }

  std::size_t axes_ = 0;
  std::array<std::size_t, 4> shape_{};
  std::array<std::int64_t, 4> strides_{};
};

[[noreturn]] void refuse_column(const TypedBatch& batch, const std::string& name) {
  std::vector<std::string> names;
  for (const BatchColumn& column : batch.columns())
    if (column.width > 0) names.emplace_back(column.name);
  fail(ErrorKind::config, {fmt::format("out: these samples have no column '{}'", printable(name)),
                           "", name_advice(name, names)});
}

[[noreturn]] void refuse(const std::string& name, const std::string& problem,
                         const std::string& advice) {
  fail(ErrorKind::config, {fmt::format("out['{}'] {}", name, problem), "", advice});
}

/// Axes of length 1, and all axes of an empty array, may have any stride.
bool same_strides(const Extents& wanted, const nb::ndarray<>& array) {
  for (std::size_t i = 0; i < wanted.shape().size(); ++i)
    if (wanted.shape()[i] > 1 && array.stride(i) != wanted.strides()[i]) return false;
  return true;
}

/// The caller's array for a column, after all checks.
nb::ndarray<> checked_array(const BatchView& batch, const BatchColumn& column, nb::handle object,
                            Device device, ImageAxes axes) {
  nb::ndarray<> array;
  const std::string name = column.name;
  if (!nb::try_cast(object, array, /*convert=*/false))
    refuse(name, "is not a writable array with the DLPack or buffer protocol",
           "pass a NumPy array or a tensor that may be written");
  const Extents wanted(batch, column, axes);
  const nb::dlpack::dtype type = dlpack_type(column.type);
  if (array.dtype() != type)
    refuse(
        name,
        fmt::format("has elements of type {}, not {}", type_name(array.dtype()), type_name(type)),
        name == "x" ? "its type and the argument dtype must agree" : "make it with that type");
  const std::span<const std::int64_t> shape(array.shape_ptr(), array.ndim());
  const auto same = [](std::int64_t a, std::size_t b) { return a == static_cast<std::int64_t>(b); };
  if (!std::ranges::equal(shape, wanted.shape(), same))
    refuse(name,
           fmt::format("has the shape ({}), not ({})", fmt::join(shape, ", "),
                       fmt::join(wanted.shape(), ", ")),
           "make it with that shape; `count` is its first axis");
  if (array.device_type() != device_type(device) ||
      (device.is_cuda() && array.device_id() != device.index))
    refuse(name, "is not on the generator's device, " + device.to_string(),
           "move it there, or make a generator for its device");
  if (!same_strides(wanted, array))
    refuse(name,
           fmt::format("is not contiguous: strides ({}), not ({})",
                       fmt::join(array.stride_ptr(), array.stride_ptr() + array.ndim(), ", "),
                       fmt::join(wanted.strides(), ", ")),
           axes == ImageAxes::channels_first
               ? "images are stored with channels last (torch.channels_last) under layout='NCHW'"
               : "pass a contiguous array");
  if (reinterpret_cast<std::uintptr_t>(array.data()) % element_size(column.type) != 0)
    refuse(name, "is not aligned to its elements", "pass an aligned array");
  return array;
}

nb::object array_of(const BatchView& batch, const BatchColumn& column, const nb::capsule& owner,
                    Device device, ImageAxes axes) {
  const Extents extents(batch, column, axes);
  return nb::cast(nb::ndarray<nb::array_api>(
      column.data, extents.shape().size(), extents.shape().data(), owner, extents.strides().data(),
      dlpack_type(column.type), device_type(device), device.index));
}

/// NumPy's class of arrays and its types.
struct Numpy {
  nb::object ndarray, f32, f16, i32, u8;

  static const Numpy& get() {
    static const Numpy* const types = [] {  // kept to the end of the process, like modules
      const nb::module_ numpy = nb::module_::import_("numpy");
      const auto type = [&](const char* name) { return numpy.attr("dtype")(name); };
      return new Numpy{numpy.attr("ndarray"), type("float32"), type("float16"), type("int32"),
                       type("uint8")};
    }();
    return *types;
  }
  const nb::object& type(ElementType type) const {
    if (type == ElementType::f16) return f16;
    if (type == ElementType::i32) return i32;
    return type == ElementType::u8 ? u8 : f32;
  }
};

template <class Number>
nb::tuple tuple_of(std::span<const Number> numbers, std::size_t unit = 1) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SetItem(
        tuple.ptr(), static_cast<Py_ssize_t>(i),
        PyLong_FromSsize_t(static_cast<Py_ssize_t>(numbers[i]) * static_cast<Py_ssize_t>(unit)));
  return nb::borrow<nb::tuple>(tuple);
}

/// Columns as NumPy arrays, which refer to one buffer that keeps `memory`.
class NumpyArrays {
 public:
  NumpyArrays(const TypedBatch& batch, const nb::capsule& owner, ImageAxes axes)
      : batch_(batch.view), axes_(axes) {
    std::byte* end = nullptr;
    for (const BatchColumn& column : batch.columns()) {
      if (column.data == nullptr) continue;
      auto* const begin = static_cast<std::byte*>(column.data);
      const auto bytes = static_cast<std::size_t>(batch_.size) * column.row_bytes();
      if (begin_ == nullptr || begin < begin_) begin_ = begin;
      end = std::max(end, begin + bytes);
    }
    const auto bytes = static_cast<std::size_t>(end - begin_);
    buffer_ = nb::cast(nb::ndarray<nb::array_api, std::uint8_t>(begin_, {bytes}, owner));
  }
  nb::object operator()(const BatchColumn& column) const {
    const Extents extents(batch_, column, axes_);
    const Numpy& numpy = Numpy::get();
    const nb::tuple shape = tuple_of(extents.shape());
    const auto offset = static_cast<std::byte*>(column.data) - begin_;
    if (extents.contiguous()) return numpy.ndarray(shape, numpy.type(column.type), buffer_, offset);
    return numpy.ndarray(shape, numpy.type(column.type), buffer_, offset,
                         tuple_of(extents.strides(), element_size(column.type)));
  }

 private:
  BatchView batch_;
  ImageAxes axes_;
  std::byte* begin_ = nullptr;
  nb::object buffer_;
};

/// Format characters of the buffer protocol (Python, module struct).
char buffer_format(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return 'f';
    case ElementType::i32:
      return 'i';
    case ElementType::f16:
      return 'e';
    case ElementType::u8:
      return 'B';
    default:
      return 0;
  }
}

/// The memory of a NumPy array that fits a column in every respect. checked_array() is three times
/// slower, and explains what does not fit.
void* fitting_data(const BatchView& batch, const BatchColumn& column, nb::handle object,
                   ImageAxes axes, CallersBatch& callers) {
  if (object.type().ptr() != Numpy::get().ndarray.ptr()) return nullptr;
  auto got = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), got.get(), PyBUF_RECORDS) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  const Py_buffer& buffer = *callers.buffers.emplace_back(got.release());
  const Extents wanted(batch, column, axes);
  const std::size_t bytes = element_size(column.type);
  bool fits = buffer.format[0] == buffer_format(column.type) && buffer.format[1] == 0 &&
              static_cast<std::size_t>(buffer.ndim) == wanted.shape().size() &&
              reinterpret_cast<std::uintptr_t>(buffer.buf) % bytes == 0;
  for (std::size_t i = 0; fits && i < wanted.shape().size(); ++i)
    fits = static_cast<std::size_t>(buffer.shape[i]) == wanted.shape()[i] &&
           (buffer.shape[i] == 1 ||
            buffer.strides[i] == wanted.strides()[i] * static_cast<std::int64_t>(bytes));
  return fits ? buffer.buf : nullptr;
}

}  // namespace

ElementType parse_dtype(const std::string& name) {
  struct Known {
    const char *name, *long_name;
    ElementType type;
  };
  for (const Known& known :
       {Known{"f32", "float32", ElementType::f32}, Known{"bf16", "bfloat16", ElementType::bf16},
        Known{"f16", "float16", ElementType::f16}, Known{"u8", "uint8", ElementType::u8}})
    if (name == known.name || name == known.long_name) return known.type;
  fail(ErrorKind::config, {fmt::format("dtype: '{}' is not a type of samples", printable(name)), "",
                           "choose 'f32', 'bf16', 'f16' or 'u8', and convert the result"});
}

ImageAxes parse_axes(const std::string& name) {
  if (name == "NHWC") return ImageAxes::channels_last;
  if (name == "NCHW") return ImageAxes::channels_first;
  fail(ErrorKind::config, {fmt::format("layout: '{}' is not an order of axes", printable(name)), "",
                           "choose 'NHWC' or 'NCHW'"});
}

nb::list describe_columns(const TypedBatch& batch) {
  nb::list list;
  for (const BatchColumn& column : batch.columns()) {
    if (column.width == 0) continue;
    nb::list shape;
    for (const std::size_t extent : Extents(batch.view, column, ImageAxes::channels_last).shape())
      shape.append(extent);
    list.append(nb::make_tuple(column.name, type_name(dlpack_type(column.type)), nb::tuple(shape)));
  }
  return list;
}

nb::dict to_arrays(const std::shared_ptr<BatchMemory>& memory, Device device, ImageAxes axes) {
  using Owner = std::shared_ptr<BatchMemory>;
  const nb::capsule owner(new Owner(memory),
                          [](void* kept) noexcept { delete static_cast<Owner*>(kept); });
  nb::dict arrays;
  const TypedBatch batch = memory->batch();
  if (device.is_cuda()) {
    for (const BatchColumn& column : batch.columns())
      if (column.data != nullptr)
        arrays[column.name] = array_of(batch.view, column, owner, device, axes);
    return arrays;
  }
  const NumpyArrays as_numpy(batch, owner, axes);
  for (const BatchColumn& column : batch.columns())
    if (column.data != nullptr)
      arrays[column.name] = column.type == ElementType::bf16  // NumPy has no such type
                                ? array_of(batch.view, column, owner, device, axes)
                                : as_numpy(column);
  return arrays;
}

CallersBatch from_arrays(const TypedBatch& batch, const nb::dict& arrays, Device device,
                         ImageAxes axes) {
  CallersBatch callers;
  auto columns = batch.columns();
  for (BatchColumn& column : columns) column.data = nullptr;
  for (const auto [key, object] : arrays) {
    const auto column = std::ranges::find_if(columns, [&](const BatchColumn& c) {
      return c.width > 0 && PyUnicode_Check(key.ptr()) != 0 &&
             PyUnicode_CompareWithASCIIString(key.ptr(), c.name) == 0;
    });
    if (column == columns.end()) refuse_column(batch, nb::str(key).c_str());
    if (device.is_cpu()) column->data = fitting_data(batch.view, *column, object, axes, callers);
    if (column->data != nullptr) continue;
    callers.arrays.push_back(checked_array(batch.view, *column, object, device, axes));
    column->data = callers.arrays.back().data();
  }
  if (columns.front().data == nullptr)
    fail(ErrorKind::config, {"out has no array 'x'", "x is always made", "add it"});
  callers.batch = {with_columns(batch.view, columns), batch.type};
  return callers;
}

}  // namespace wellspring::python
