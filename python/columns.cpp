#include "python/columns.h"

#include "core/error.h"
#include "core/text/text.h"
#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
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

/// Shape and strides of a column, in elements. The first `axes` numbers count.
struct Extents {
  std::size_t axes = 0;
  std::array<std::size_t, 4> shape = {};
  std::array<std::int64_t, 4> strides = {};
};

Extents extents_of(const BatchView& batch, const BatchColumn& column, ImageAxes axes) {
  const SampleLayout& layout = batch.layout;
  const std::string_view name = column.name;
  const bool image = name == "x" && layout.kind == SampleKind::image;
  Extents extents;
  const auto add = [&](std::initializer_list<std::int64_t> more) {
    for (const std::int64_t extent : more)
      extents.shape[extents.axes++] = static_cast<std::size_t>(extent);
  };
  add({batch.size});
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
  if (image && axes == ImageAxes::channels_first) {
    std::rotate(extents.shape.begin() + 1, extents.shape.end() - 1, extents.shape.end());
    std::rotate(extents.strides.begin() + 1, extents.strides.end() - 1, extents.strides.end());
  }
  return extents;
}

/// "3, 32, 32"
template <class Numbers>
auto listed(const Numbers& numbers, std::size_t count) {
  return fmt::join(&numbers[0], &numbers[0] + count, ", ");
}

[[noreturn]] void refuse(std::string_view name, const std::string& problem,
                         const std::string& advice) {
  fail(ErrorKind::config, {fmt::format("out['{}'] {}", name, problem), "", advice});
}

bool same_shape(const Extents& wanted, const nb::ndarray<>& array) {
  if (array.ndim() != wanted.axes) return false;
  for (std::size_t i = 0; i < wanted.axes; ++i)
    if (array.shape(i) != wanted.shape[i]) return false;
  return true;
}

/// Axes of length 1, and all axes of an empty array, may have any stride.
bool same_strides(const Extents& wanted, const nb::ndarray<>& array) {
  for (std::size_t i = 0; i < wanted.axes; ++i)
    if (wanted.shape[i] > 1 && array.stride(i) != wanted.strides[i]) return false;
  return true;
}

/// The caller's array for a column, after all checks.
nb::ndarray<> checked_array(const BatchView& batch, const BatchColumn& column, nb::handle object,
                            Device device, ImageAxes axes) {
  nb::ndarray<> array;
  const std::string_view name = column.name;
  if (!nb::try_cast(object, array, /*convert=*/false))
    refuse(name, "is not a writable array with the DLPack or buffer protocol",
           "pass a NumPy array or a tensor that may be written");
  const Extents wanted = extents_of(batch, column, axes);
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
  if (array.device_type() != device_type(device) ||
      (device.is_cuda() && array.device_id() != device.index))
    refuse(name, "is not on the generator's device, " + device.to_string(),
           "move it there, or make a generator for its device");
  if (!same_strides(wanted, array))
    refuse(
        name,
        fmt::format("is not contiguous: strides ({}), not ({})",
                    listed(array.stride_ptr(), array.ndim()), listed(wanted.strides, wanted.axes)),
        axes == ImageAxes::channels_first
            ? "images are stored with channels last (torch.channels_last) under layout='NCHW'"
            : "pass a contiguous array");
  if (reinterpret_cast<std::uintptr_t>(array.data()) % element_size(column.type) != 0)
    refuse(name, "is not aligned to its elements", "pass an aligned array");
  return array;
}

/// Error: `name` is not one of the columns.
[[noreturn]] void refuse_column(std::string_view name, std::span<const BatchColumn> columns) {
  std::vector<std::string> names;
  for (const BatchColumn& column : columns)
    if (column.width > 0) names.emplace_back(column.name);
  fail(ErrorKind::config, {fmt::format("out: these samples have no column '{}'", printable(name)),
                           "", name_advice(name, names)});
}

nb::object array_of(const BatchView& batch, const BatchColumn& column, const nb::capsule& owner,
                    Device device, ImageAxes axes) {
  const Extents extents = extents_of(batch, column, axes);
  const nb::dlpack::dtype type = dlpack_type(column.type);
  const auto make = [&]<class Framework>(Framework) {
    const nb::ndarray<Framework> array(column.data, extents.axes, extents.shape.data(), owner,
                                       extents.strides.data(), type, device_type(device),
                                       device.index);
    return nb::cast(array);
  };
  if (device.is_cpu() && column.type != ElementType::bf16) return make(nb::numpy{});
  return make(nb::array_api{});
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
    const Extents extents = extents_of(batch.view, column, ImageAxes::channels_last);
    nb::list shape;
    for (std::size_t i = 0; i < extents.axes; ++i) shape.append(extents.shape[i]);
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
  for (const BatchColumn& column : batch.columns())
    if (column.data != nullptr)
      arrays[column.name] = array_of(batch.view, column, owner, device, axes);
  return arrays;
}

CallersBatch from_arrays(const TypedBatch& batch, const nb::dict& arrays, Device device,
                         ImageAxes axes) {
  CallersBatch callers;
  callers.held.reserve(arrays.size());
  auto columns = batch.columns();
  for (BatchColumn& column : columns) column.data = nullptr;
  for (const auto [key, object] : arrays) {
    const nb::str text(key);
    const std::string_view name = text.c_str();
    const auto column = std::ranges::find_if(
        columns, [&](const BatchColumn& c) { return c.width > 0 && name == c.name; });
    if (column == columns.end()) refuse_column(name, columns);
    callers.held.push_back(checked_array(batch.view, *column, object, device, axes));
    column->data = callers.held.back().data();
  }
  if (columns.front().data == nullptr)
    fail(ErrorKind::config, {"out has no array 'x'", "x is always made", "add it"});
  callers.batch = {with_columns(batch.view, columns), batch.type};
  return callers;
}

}  // namespace wellspring::python
