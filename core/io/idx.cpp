#include "core/io/idx.h"

#include "core/error.h"
#include "core/io/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

namespace wellspring {
namespace {

struct IdxType {
  std::uint8_t code;
  const char* descriptor;
};
constexpr std::array kIdxTypes = {IdxType{0x08, "|u1"}, IdxType{0x09, "|i1"}, IdxType{0x0B, ">i2"},
                                  IdxType{0x0C, ">i4"}, IdxType{0x0D, ">f4"}, IdxType{0x0E, ">f8"}};

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  fail(ErrorKind::data,
       {name + ": not an IDX file, or damaged", why, "download or copy the file again"});
}

std::uint8_t byte_at(Bytes bytes, std::size_t at) {
  return std::to_integer<std::uint8_t>(bytes[at]);
}

std::uint32_t big_endian(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | byte_at(bytes, at + i);
  return value;
}

}  // namespace

bool is_idx_name(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return name.ends_with("byte") && name.find("idx") != std::string_view::npos;
}

bool is_idx(const InputFile& file) {
  if (is_idx_name(file.path().filename().string())) return true;
  std::array<std::byte, 2> begin{std::byte{1}};
  if (file.size() >= begin.size()) file.read(0, begin);
  return begin == std::array<std::byte, 2>{};
}

std::string labels_next_to_idx(const std::filesystem::path& images) {
  std::string name = images.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::size_t what = name.find("images"), extents = name.find("idx3");
  if (what == std::string::npos || extents == std::string::npos) return "";
  name.replace(what, 6, "labels").replace(extents, 4, "idx1");
  for (const std::string& found : {name, name + ".gz"})
    if (std::filesystem::exists(images.parent_path() / found)) return found;
  return "";
}

NpyHeader parse_idx_header(Bytes file, std::optional<std::uint64_t> size, const std::string& name) {
  constexpr std::size_t kMostExtents = 8;
  if (file.size() < 4 || byte_at(file, 0) != 0 || byte_at(file, 1) != 0)
    refuse(name, "it does not begin with two zero bytes");
  const std::uint8_t code = byte_at(file, 2);
  const auto type = std::ranges::find(kIdxTypes, code, &IdxType::code);
  if (type == kIdxTypes.end()) refuse(name, fmt::format("its type is {:#04x}", code));
  const std::size_t extents = byte_at(file, 3), begin = 4 + 4 * extents;
  if (extents == 0 || extents > kMostExtents || file.size() < begin)
    refuse(name, fmt::format("it has {} extents", extents));
  NpyHeader header{.spec = {}, .numbers = *npy_numbers(type->descriptor), .data_offset = begin};
  header.spec.type = header.numbers.type;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < extents; ++i) {
    const std::uint32_t extent = big_endian(file, 4 + 4 * i);
    header.spec.shape.push_back(extent);
    if (extent > 0 && count > std::numeric_limits<std::uint64_t>::max() / 8 / extent)
      refuse(name, "it has too many numbers");
    count *= extent;
  }
  if (size && count * header.numbers.bytes != *size - begin)
    refuse(name, fmt::format("extents [{}] need {} bytes of data, it has {}",
                             fmt::join(header.spec.shape, ", "), count * header.numbers.bytes,
                             *size - begin));
  return header;
}

}  // namespace wellspring
