#include "sources/files/array_input.h"

#include "core/error.h"
#include "core/io/idx.h"

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

/// Calls `use` with a number of the array's type.
template <class Use>
void with_type(ElementType type, const Use& use) {
  if (type == ElementType::u8) return use(std::uint8_t{});
  if (type == ElementType::i32) return use(std::int32_t{});
  if (type == ElementType::i64) return use(std::int64_t{});
  if (type == ElementType::f32) return use(float{});
  use(double{});
}

class Hdf5Input final : public ArrayInput {
 public:
  explicit Hdf5Input(const std::filesystem::path& path) : ArrayInput(path), file_(path) {}
  const std::vector<std::string>& names() const override { return file_.names(); }
  NumberArray array(const std::string& name) const override {
    return NumberArray(file_.array(name));
  }
  std::optional<std::string> text(const std::string& name) const override {
    return file_.is_text(name) ? std::optional(file_.text(name)) : std::nullopt;
  }

 private:
  Hdf5File file_;
};

class NpzInput final : public ArrayInput {
 public:
  explicit NpzInput(const std::filesystem::path& path)
      : ArrayInput(path), file_(path), names_(file_.names()) {
    std::ranges::sort(names_);
  }
  const std::vector<std::string>& names() const override { return names_; }
  NumberArray array(const std::string& name) const override {
    return opened(name, file_.array(name));
  }
  std::optional<std::string> text(const std::string& name) const override {
    return file_.is_text(name) ? std::optional(file_.text(name)) : std::nullopt;
  }

 private:
  NpzFile file_;
  std::vector<std::string> names_;
};

class NpyInput final : public ArrayInput {
 public:
  explicit NpyInput(const std::filesystem::path& path)
      : ArrayInput(path), names_{path.filename().string()} {}
  /// Only the data set's own array; other arrays are not searched for.
  const std::vector<std::string>& names() const override { return names_; }
  bool has(std::string_view name) const override {
    return (name.ends_with(".npy") || is_idx_name(name)) &&
           std::filesystem::is_regular_file(file_of(name));
  }
  NumberArray array(const std::string& name) const override {
    auto file = std::make_shared<const InputFile>(file_of(name));
    const bool idx = !name.ends_with(".npy") && is_idx(*file);
    return opened(name, idx ? StoredArray::of_idx(std::move(file))
                            : std::make_shared<StoredArray>(std::move(file)));
  }
  std::optional<std::string> text(const std::string& /*name*/) const override {
    return std::nullopt;  // these files hold numbers
  }
  std::string where(const std::string& name) const override { return file_of(name).string(); }

 private:
  std::filesystem::path file_of(std::string_view name) const { return path().parent_path() / name; }

  std::vector<std::string> names_;
};

}  // namespace

NumberArray::NumberArray(Hdf5Array array)
    : name_(array.name()),
      type_text_(wellspring::type_text(array)),
      shape_(array.shape()),
      whole_(array.numbers() == Hdf5Array::Numbers::whole),
      data_(std::move(array)) {}

NumberArray::NumberArray(std::string name, std::shared_ptr<StoredArray> array)
    : name_(std::move(name)),
      type_text_(element_name(array->spec().type)),
      shape_(array->spec().shape),
      data_(std::move(array)) {
  with_type(std::get<Stored>(data_)->spec().type,
            [this]<class S>(S) { whole_ = std::is_integral_v<S>; });
}

std::string NumberArray::text() const {
  return fmt::format("{} [{}]", type_text_, fmt::join(shape_, ", "));
}

template <class T>
void NumberArray::read(std::int64_t first, std::int64_t count, T* out) const {
  if (const auto* const array = std::get_if<Hdf5Array>(&data_))
    return array->read(first, count, out);
  const StoredArray& array = *std::get<Stored>(data_);
  const std::uint64_t all = array.spec().count();
  const std::uint64_t width = rows() == 0 ? 0 : all / static_cast<std::uint64_t>(rows());
  const std::uint64_t begin = static_cast<std::uint64_t>(first) * width,
                      size = static_cast<std::uint64_t>(count) * width;
  with_type(array.spec().type, [&]<class S>(S) {
    if constexpr (std::is_same_v<S, T>) {
      array.read(begin, size, reinterpret_cast<std::byte*>(out));
    } else {
      std::vector<S> numbers(size);
      array.read(begin, size, reinterpret_cast<std::byte*>(numbers.data()));
      std::ranges::transform(numbers, out, [](S number) { return static_cast<T>(number); });
    }
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

std::string ArrayInput::where(const std::string& name) const {
  return fmt::format("{}: '{}'", path_.string(), name);
}

NumberArray ArrayInput::opened(const std::string& name, std::shared_ptr<StoredArray> array) const {
  if (array->spec().shape.empty()) refuse(name, "is a scalar", "it must be an array of rows", "");
  opened_.push_back(array);
  return {name, std::move(array)};
}

std::uint64_t ArrayInput::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& weak : opened_)
    if (const auto array = weak.lock()) bytes += array->held_bytes();
  return bytes;
}

void ArrayInput::hold(std::span<std::byte> memory) const {
  for (const auto& weak : opened_) {
    const auto array = weak.lock();
    if (!array || array->held_bytes() == 0) continue;
    array->hold(memory.first(array->held_bytes()));
    memory = memory.subspan(array->held_bytes());
  }
}

void ArrayInput::refuse(const std::string& name, const std::string& problem, const std::string& why,
                        const std::string& advice) const {
  fail(ErrorKind::data, {fmt::format("{} {}", where(name), problem), why, advice});
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
std::unique_ptr<ArrayInput> open_npy_input(const std::filesystem::path& path) {
  return std::make_unique<NpyInput>(path);
}

}  // namespace wellspring
