#include "python/columns.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <nanobind/stl/string.h>
#include <span>
#include <string>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

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

int numpy_type(ElementType type) {
  switch (type) {
    case ElementType::i32:
      return NPY_INT32;
    case ElementType::f16:
      return NPY_HALF;
    case ElementType::u8:
      return NPY_UINT8;
    default:
      return NPY_FLOAT;
  }
}

/// NumPy has no bf16.
bool is_numpy(ElementType type, Device device) {
  return device.is_cpu() && type != ElementType::bf16;
}

/// References that live as long as the process, like the classes of errors.cpp.
struct Names {
  std::array<PyObject*, kBatchColumns> columns = {};
  PyObject* batch_class = nullptr;
};
Names names;

int device_type(Device device) {
  return device.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value;
}

/// Linux maps no memory below this address (default of vm.mmap_min_addr). PyTorch gives a tensor without
/// storage the address null, and its views null plus their offset, so views far into it are not found.
constexpr std::uintptr_t kLowestAddress = 65536;

/// "3, 32, 32"
template <class Numbers>
auto listed(const Numbers& numbers, std::size_t count) {
  return fmt::join(&numbers[0], &numbers[0] + count, ", ");
}

[[noreturn]] void refuse(std::string_view name, const std::string& problem,
                         const std::string& advice) {
  fail(ErrorKind::config, {fmt::format("out['{}'] {}", name, problem), "", advice});
}

/// Error: `name` is not one of the columns.
[[noreturn]] void refuse_column(std::string_view name, std::span<const BatchColumn> columns) {
  std::vector<std::string> names;
  for (const BatchColumn& column : columns)
    if (column.width > 0) names.emplace_back(column.name);
  fail(ErrorKind::config, {fmt::format("out: these samples have no column '{}'", printable(name)),
                           "", name_advice(name, names)});
}

}  // namespace

ElementType parse_dtype(std::string_view name) {
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

ImageAxes parse_axes(std::string_view name) {
  if (name == "NHWC") return ImageAxes::channels_last;
  if (name == "NCHW") return ImageAxes::channels_first;
  fail(ErrorKind::config, {fmt::format("layout: '{}' is not an order of axes", printable(name)), "",
                           "choose 'NHWC' or 'NCHW'"});
}

void open_numpy() {
  if (_import_array() < 0) nb::raise_python_error();
  const auto columns = columns_of({});
  for (std::size_t i = 0; i < columns.size(); ++i)
    names.columns[i] = PyUnicode_InternFromString(columns[i].name);
  nb::object batch_class = nb::module_::import_("wellspring._batch").attr("Batch");
  names.batch_class = batch_class.release().ptr();
}

BatchArrays::BatchArrays(const TypedBatch& batch, Device device, ImageAxes axes)
    : batch_(batch), device_(device), axes_(axes), columns_(batch.columns()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i].data = nullptr;
    extents_[i] = extents_of(columns_[i]);
  }
}

BatchArrays::Extents BatchArrays::extents_of(const BatchColumn& column) const {
  const SampleLayout& layout = batch_.view.layout;
  const std::string_view name = column.name;
  const bool image = name == "x" && layout.kind == SampleKind::image;
  Extents extents;
  const auto add = [&](std::initializer_list<std::int64_t> more) {
    for (const std::int64_t extent : more)
      extents.shape[extents.axes++] = static_cast<std::size_t>(extent);
  };
  add({batch_.view.size});
  if (image) {
    add({layout.height, layout.width, layout.channels});
  } else if (name == "x" && layout.kind == SampleKind::set) {
    add({layout.items, layout.features});
  } else if (name == "plane") {
    add({layout.height, layout.width});
  } else if (name != "label" && name != "weight" && name != "count") {
    add({column.width});
  }
  std::int64_t stride = 1;
  for (std::size_t i = extents.axes; i-- > 0;) {
    extents.strides[i] = stride;
    stride *= static_cast<std::int64_t>(extents.shape[i]);
  }
  if (image && axes_ == ImageAxes::channels_first) {
    std::rotate(extents.shape.begin() + 1, extents.shape.end() - 1, extents.shape.end());
    std::rotate(extents.strides.begin() + 1, extents.strides.end() - 1, extents.strides.end());
  }
  for (std::size_t i = 0; i < extents.axes; ++i)
    extents.bytes[i] = extents.strides[i] * static_cast<std::int64_t>(element_size(column.type));
  extents.numpy_type = numpy_type(column.type);
  return extents;
}

bool BatchArrays::same_shape(const Extents& wanted, const nb::ndarray<>& array) {
  if (array.ndim() != wanted.axes) return false;
  for (std::size_t i = 0; i < wanted.axes; ++i)
    if (array.shape(i) != wanted.shape[i]) return false;
  return true;
}

/// Axes of length 1, and all axes of an empty array, may have any stride.
bool BatchArrays::same_strides(const Extents& wanted, const nb::ndarray<>& array) {
  for (std::size_t i = 0; i < wanted.axes; ++i)
    if (wanted.shape[i] > 1 && array.stride(i) != wanted.strides[i]) return false;
  return true;
}

void* BatchArrays::numpy_data(std::size_t i, PyObject* object) const {
  static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
  if (!PyArray_CheckExact(object) || !is_numpy(columns_[i].type, device_)) return nullptr;
  auto* const array = reinterpret_cast<PyArrayObject*>(object);
  const Extents& wanted = extents_[i];
  const std::size_t bytes = wanted.axes * sizeof(npy_intp);
  const bool same = static_cast<std::size_t>(PyArray_NDIM(array)) == wanted.axes &&
                    PyArray_TYPE(array) == wanted.numpy_type && PyArray_ISBEHAVED(array) &&
                    std::memcmp(PyArray_DIMS(array), wanted.shape.data(), bytes) == 0 &&
                    std::memcmp(PyArray_STRIDES(array), wanted.bytes.data(), bytes) == 0;
  return same ? PyArray_DATA(array) : nullptr;
}

nb::ndarray<> BatchArrays::imported_array(std::size_t i, nb::handle object) const {
  nb::ndarray<> array;
  const BatchColumn& column = columns_[i];
  const std::string_view name = column.name;
  if (!nb::try_cast(object, array, /*convert=*/false))
    refuse(name, "is not a writable array with the DLPack or buffer protocol",
           "pass a NumPy array or a tensor that may be written");
  const Extents& wanted = extents_[i];
  const nb::dlpack::dtype type = dlpack_type(column.type);
  if (array.dtype() != type)
    refuse(
        name,
        fmt::format("has elements of type {}, not {}", type_name(array.dtype()), type_name(type)),
        name == "x" ? "its type and the argument dtype must agree" : "make it with that type");
  if (!same_shape(wanted, array))
    refuse(name,
           fmt::format("has the shape ({}), not ({})", listed(array.shape_ptr(), array.ndim()),
                       listed(wanted.shape, wanted.axes)),
           "make it with that shape; `count` is its first axis");
  if (array.device_type() != device_type(device_) ||
      (device_.is_cuda() && array.device_id() != device_.index))
    refuse(name, "is not on the generator's device, " + device_.to_string(),
           "move it there, or make a generator for its device");
  if (!same_strides(wanted, array))
    refuse(
        name,
        fmt::format("is not contiguous: strides ({}), not ({})",
                    listed(array.stride_ptr(), array.ndim()), listed(wanted.strides, wanted.axes)),
        axes_ == ImageAxes::channels_first
            ? "images are stored with channels last (torch.channels_last) under layout='NCHW'"
            : "pass a contiguous array");
  const auto address = reinterpret_cast<std::uintptr_t>(array.data());
  if (address < kLowestAddress)
    refuse(name, "has no memory: its storage was freed", "pass a live tensor");
  if (address % element_size(column.type) != 0)
    refuse(name, "is not aligned to its elements", "pass an aligned array");
  return array;
}

nb::object BatchArrays::array_of(std::size_t i, void* data, const nb::capsule& owner) const {
  const Extents& extents = extents_[i];
  if (!is_numpy(columns_[i].type, device_)) {
    const nb::ndarray<nb::array_api> array(data, extents.axes, extents.shape.data(), owner,
                                           extents.strides.data(), dlpack_type(columns_[i].type),
                                           device_type(device_), device_.index);
    return nb::cast(array);
  }
  std::array<npy_intp, 4> shape = {}, strides = {};
  std::ranges::copy(extents.shape, shape.begin());
  std::ranges::copy(extents.bytes, strides.begin());
  nb::object array = nb::steal(PyArray_New(&PyArray_Type, static_cast<int>(extents.axes),
                                           shape.data(), extents.numpy_type, strides.data(), data,
                                           0, NPY_ARRAY_BEHAVED, nullptr));
  if (!array.is_valid() || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()),
                                                 nb::object(owner).release().ptr()) < 0)
    nb::raise_python_error();
  return array;
}

nb::dict BatchArrays::of(const std::shared_ptr<BatchMemory>& memory) const {
  using Owner = std::shared_ptr<BatchMemory>;
  const nb::capsule owner(new Owner(memory),
                          [](void* kept) noexcept { delete static_cast<Owner*>(kept); });
  const nb::object batch = nb::steal(PyObject_CallNoArgs(names.batch_class));
  if (!batch.is_valid()) nb::raise_python_error();
  const auto columns = memory->batch().columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].data == nullptr) continue;
    const nb::object array = array_of(i, columns[i].data, owner);
    if (PyDict_SetItem(batch.ptr(), names.columns[i], array.ptr()) < 0) nb::raise_python_error();
  }
  return nb::borrow<nb::dict>(batch);
}

CallersBatch BatchArrays::from(const nb::dict& arrays) const {
  CallersBatch callers;
  auto columns = columns_;
  for (const auto [key, object] : arrays) {
    std::size_t i = 0;
    while (i < kBatchColumns && (key.ptr() != names.columns[i] || columns[i].width == 0)) ++i;
    if (i == kBatchColumns) {
      const nb::str text(key);
      const std::string_view name = text.c_str();
      i = static_cast<std::size_t>(
          std::ranges::find_if(
              columns, [&](const BatchColumn& c) { return c.width > 0 && name == c.name; }) -
          columns.begin());
      if (i == kBatchColumns) refuse_column(name, columns);
    }
    columns[i].data = numpy_data(i, object.ptr());
    if (columns[i].data != nullptr) {
      callers.arrays[i] = nb::borrow(object);
    } else {
      callers.imported.push_back(imported_array(i, object));
      columns[i].data = callers.imported.back().data();
    }
  }
  if (columns.front().data == nullptr)
    fail(ErrorKind::config, {"out has no array 'x'", "x is always made", "add it"});
  callers.batch = {with_columns(batch_.view, columns), batch_.type};
  return callers;
}

nb::object as_batch(const nb::dict& arrays) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(arrays.ptr())) == names.batch_class) return arrays;
  nb::object batch =
      nb::steal(PyObject_CallFunctionObjArgs(names.batch_class, arrays.ptr(), nullptr));
  if (!batch.is_valid()) nb::raise_python_error();
  return batch;
}

nb::list describe_columns(const TypedBatch& batch) {
  const BatchArrays arrays(batch, Device::cpu(), ImageAxes::channels_last);
  nb::list list;
  for (std::size_t c = 0; c < kBatchColumns; ++c) {
    const BatchColumn& column = arrays.columns_[c];
    if (column.width == 0) continue;
    const auto& extents = arrays.extents_[c];
    nb::list shape;
    for (std::size_t i = 0; i < extents.axes; ++i) shape.append(extents.shape[i]);
    list.append(nb::make_tuple(column.name, type_name(dlpack_type(column.type)), nb::tuple(shape)));
  }
  return list;
}

}  // namespace wellspring::python
