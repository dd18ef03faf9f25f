#include "sources/files/array_input.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace wellspring {
namespace {

std::string type_text(const Hdf5Array& array) {
  const char* const kind = array.numbers() == Hdf5Array::Numbers::real ? "F"
                           : array.is_signed()                         ? "I"
                                                                       : "U";
  return fmt::format("{}{}", kind, array.bits());
}

/// Calls `use` with the array's numbers in their stored type.
template <class Use>
void with_numbers(const NpyArray& array, const Use& use) {
  if (array.spec.type == ElementType::u8) return use(array.as<std::uint8_t>());
  if (array.spec.type == ElementType::i32) return use(array.as<std::int32_t>());
  if (array.spec.type == ElementType::i64) return use(array.as<std::int64_t>());
  if (array.spec.type == ElementType::f32) return use(array.as<float>());
  use(array.as<double>());
}

class Hdf5Input final : public ArrayInput {
 public:
  explicit Hdf5Input(const std::filesystem::path& path) : ArrayInput(path), file_(path) {}
  const std::vector<std::string>& names() const override { return file_.names(); }
  NumberArray array(const std::string& name) const override {
    return NumberArray(file_.array(name));
  }
  std::string text(const std::string& name) const override { return file_.text(name); }

 private:
  Hdf5File file_;
};

class NpzInput final : public ArrayInput {
 public:
  explicit NpzInput(const std::filesystem::path& path) : ArrayInput(path) {
    for (const std::string& member : npz_members(path))
      if (member.ends_with(".npy")) names_.push_back(member.substr(0, member.size() - 4));
    std::ranges::sort(names_);
  }
  const std::vector<std::string>& names() const override { return names_; }
  NumberArray array(const std::string& name) const override {
    NpyArray array = read_npz(path(), name);
    if (array.spec.shape.empty()) refuse(name, "is a scalar", "it must be an array of rows", "");
    return {name, std::move(array)};
  }
  std::string text(const std::string& name) const override { return read_npz_text(path(), name); }

 private:
  std::vector<std::string> names_;
};

}  // namespace

NumberArray::NumberArray(Hdf5Array array)
    : name_(array.name()),
      type_text_(wellspring::type_text(array)),
      shape_(array.shape()),
      whole_(array.numbers() == Hdf5Array::Numbers::whole),
      data_(std::move(array)) {}

NumberArray::NumberArray(std::string name, NpyArray array)
    : name_(std::move(name)),
      type_text_(element_name(array.spec.type)),
      shape_(array.spec.shape),
      data_(std::move(array)) {
  with_numbers(std::get<NpyArray>(data_),
               [this]<class T>(std::span<const T>) { whole_ = std::is_integral_v<T>; });
}

std::string NumberArray::text() const {
  return fmt::format("{} [{}]", type_text_, fmt::join(shape_, ", "));
}

template <class T>
void NumberArray::read(std::int64_t first, std::int64_t count, T* out) const {
  if (const auto* const array = std::get_if<Hdf5Array>(&data_))
    return array->read(first, count, out);
  const auto& array = std::get<NpyArray>(data_);
  const std::size_t width = rows() == 0 ? 0 : array.spec.count() / static_cast<std::size_t>(rows());
  with_numbers(array, [&](const auto& numbers) {
    const auto part = numbers.subspan(static_cast<std::size_t>(first) * width,
                                      static_cast<std::size_t>(count) * width);
    std::ranges::transform(part, out, [](auto number) { return static_cast<T>(number); });
  });
}

template void NumberArray::read(std::int64_t, std::int64_t, std::uint8_t*) const;
template void NumberArray::read(std::int64_t, std::int64_t, std::int64_t*) const;
template void NumberArray::read(std::int64_t, std::int64_t, float*) const;
template void NumberArray::read(std::int64_t, std::int64_t, double*) const;

std::optional<std::string> NumberArray::text_attribute(const std::string& name) const {
  const auto* const array = std::get_if<Hdf5Array>(&data_);
  return array == nullptr ? std::nullopt : array->text_attribute(name);
}

bool ArrayInput::has(std::string_view name) const {
  return std::ranges::find(names(), name) != names().end();
}

void ArrayInput::refuse(const std::string& name, const std::string& problem, const std::string& why,
                        const std::string& advice) const {
  fail(ErrorKind::data, {fmt::format("{}: '{}' {}", path_.string(), name, problem), why, advice});
}

void ArrayInput::refuse(const NumberArray& array, const std::string& why,
                        const std::string& advice) const {
  refuse(array.name(), "is an array of " + array.text(), why, advice);
}

NumberArray ArrayInput::array_of(const std::string& name, const std::vector<std::int64_t>& shape,
                                 const std::string& what) const {
  NumberArray found = array(name);
  if (found.shape() != shape)
    refuse(found, fmt::format("{}: the shape must be [{}]", what, fmt::join(shape, ", ")),
           "store one value per row");
  return found;
}

std::unique_ptr<ArrayInput> open_hdf5_input(const std::filesystem::path& path) {
  return std::make_unique<Hdf5Input>(path);
}
std::unique_ptr<ArrayInput> open_npz_input(const std::filesystem::path& path) {
  return std::make_unique<NpzInput>(path);
}

}  // namespace wellspring
