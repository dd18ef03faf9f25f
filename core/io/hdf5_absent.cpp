// HDF5 files in a build without the library (WELLSPRING_HDF5=OFF): every use is an error. Host only.
#include "core/error.h"
#include "core/io/hdf5.h"

namespace wellspring {
namespace {

[[noreturn]] void fail_absent(const std::filesystem::path& path) {
  fail(ErrorKind::config, {path.string() + ": HDF5 files are not supported by this program",
                           "it was built with WELLSPRING_HDF5=OFF",
                           "use .npz files, or build with WELLSPRING_HDF5=ON"});
}

}  // namespace

namespace detail {
bool Hdf5Handle::close() noexcept {
  return true;
}
}  // namespace detail

struct Hdf5Writer::Open {};

void require_hdf5(const std::filesystem::path& path) {
  fail_absent(path);
}

Hdf5Writer::Hdf5Writer(const std::filesystem::path& path, const Compression& compression)
    : file_(path), path_(path), compression_(compression) {
  fail_absent(path);
}
Hdf5Writer::~Hdf5Writer() = default;
Hdf5Writer::Array Hdf5Writer::open(const std::string&, const ArraySpec&) {
  fail_absent(path_);
}
Hdf5Writer::Array Hdf5Writer::open_growing(const std::string&, const ArraySpec&) {
  fail_absent(path_);
}
void Hdf5Writer::append(Array, Bytes) {
  fail_absent(path_);
}
void Hdf5Writer::set(Array, const std::string&, const Value&) {
  fail_absent(path_);
}
void Hdf5Writer::set(const std::string&, const Value&) {
  fail_absent(path_);
}
void Hdf5Writer::add_text(const std::string&, std::string_view) {
  fail_absent(path_);
}
void Hdf5Writer::commit() {
  fail_absent(path_);
}

std::int64_t Hdf5Array::row_elements() const {
  fail_absent(path_);
}
template <class T>
void Hdf5Array::read(std::int64_t, std::int64_t, T*) const {
  fail_absent(path_);
}
template void Hdf5Array::read(std::int64_t, std::int64_t, std::uint8_t*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, std::int64_t*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, float*) const;
template void Hdf5Array::read(std::int64_t, std::int64_t, double*) const;
std::optional<std::string> Hdf5Array::text_attribute(const std::string&) const {
  fail_absent(path_);
}

Hdf5File::Hdf5File(const std::filesystem::path& path) : path_(path) {
  fail_absent(path);
}
bool Hdf5File::has(const std::string&) const {
  fail_absent(path_);
}
Hdf5Array Hdf5File::array(const std::string&) const {
  fail_absent(path_);
}
bool Hdf5File::is_text(const std::string&) const {
  fail_absent(path_);
}
std::string Hdf5File::text(const std::string&) const {
  fail_absent(path_);
}

}  // namespace wellspring
