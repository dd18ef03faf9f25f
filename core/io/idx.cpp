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

std::uint32_t little_endian(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | byte_at(bytes, at + i);
  return value;
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

NpyHeader parse_idx_header(Bytes file, std::uint64_t size, const std::string& name) {
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
  if (count * header.numbers.bytes != size - begin)
    refuse(name, fmt::format("extents [{}] need {} bytes of data, it has {}",
                             fmt::join(header.spec.shape, ", "), count * header.numbers.bytes,
                             size - begin));
  return header;
}

GzipContent gzip_content(const InputFile& file) {
  // RFC 1952, 2.3: magic, method, flags, time (4), extra flags, system; optional fields; trailer.
  constexpr std::size_t kFixed = 10, kTrailer = 8, kMost = 1 << 16;
  enum Flag : std::uint8_t { header_crc = 2, extra = 4, file_name = 8, comment = 16 };
  const std::string name = file.path().string();
  if (file.size() < kFixed + kTrailer) refuse(name, "it is shorter than a gzip header");
  std::vector<std::byte> head(std::min<std::uint64_t>(file.size() - kTrailer, kMost));
  file.read(0, head);
  if (byte_at(head, 0) != 0x1f || byte_at(head, 1) != 0x8b || byte_at(head, 2) != 8)
    refuse(name, "it has no gzip header");
  const std::uint8_t flags = byte_at(head, 3);
  std::size_t at = kFixed;
  if ((flags & extra) != 0 && at + 2 <= head.size())
    at += 2 + static_cast<std::size_t>(byte_at(head, at)) +
          (static_cast<std::size_t>(byte_at(head, at + 1)) << 8);
  for (const Flag text : {file_name, comment})
    if ((flags & text) != 0) {
      while (at < head.size() && byte_at(head, at) != 0) ++at;
      ++at;
    }
  if ((flags & header_crc) != 0) at += 2;
  if (at >= head.size()) refuse(name, "its gzip header is damaged");
  std::array<std::byte, kTrailer> trailer;
  file.read(file.size() - kTrailer, trailer);
  GzipContent content;
  content.begin = at;
  content.entry.method = zip::kDeflated;
  content.entry.compressed = file.size() - at - kTrailer;
  content.entry.crc = little_endian(trailer, 0);
  content.entry.size = little_endian(trailer, 4);
  return content;
}

}  // namespace wellspring
