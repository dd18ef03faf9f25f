#include "core/io/zip_directory.h"

#include "core/error.h"
#include "core/io/bytes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wellspring {

using namespace zip;

namespace {

[[noreturn]] void fail_zip(const InputFile& file, const std::string& why) {
  fail(ErrorKind::data,
       {fmt::format("{}: not a zip archive, or a damaged one", file.path().string()), why,
        "recreate the file or copy it again"});
}

std::vector<std::byte> read_at(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) fail_zip(file, "it is truncated");
  std::vector<std::byte> bytes(size);
  file.read(offset, bytes);
  return bytes;
}

/// Offset of the central directory and its number of entries.
std::pair<std::uint64_t, std::uint64_t> find_directory(const InputFile& file) {
  constexpr std::uint64_t kLongestComment = 65535, kLocatorSize = 20, kEnd64Size = 56;
  const std::uint64_t tail = std::min(file.size(), kEndSize + kLongestComment + kLocatorSize);
  const std::uint64_t base = file.size() - tail;
  const auto bytes = read_at(file, base, tail);
  for (std::uint64_t at = tail < kEndSize ? 0 : tail - kEndSize + 1; at-- > 0;) {
    if (number_at<std::uint32_t>(bytes, at) != kEnd) continue;
    const auto entries = number_at<std::uint16_t>(bytes, at + 10);
    const auto offset = number_at<std::uint32_t>(bytes, at + 16);
    const bool located =
        at >= kLocatorSize && number_at<std::uint32_t>(bytes, at - kLocatorSize) == kEnd64Locator;
    if (!located) return {offset, entries};
    const auto end =
        read_at(file, number_at<std::uint64_t>(bytes, at - kLocatorSize + 8), kEnd64Size);
    if (number_at<std::uint32_t>(end, 0) != kEnd64)
      fail_zip(file, "its 64-bit end record is damaged");
    return {number_at<std::uint64_t>(end, 48), number_at<std::uint64_t>(end, 32)};
  }
  fail_zip(file, "it has no directory at its end");
}

/// Replaces fields that refer to 64-bit values with those values, in the extra field's order.
void read_extra64(const InputFile& file, Bytes extra, ZipEntry& entry) {
  const std::array<std::uint64_t*, 3> fields = {&entry.size, &entry.compressed, &entry.offset};
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const std::size_t size = number_at<std::uint16_t>(extra, 2);
    if (size > extra.size() - 4) fail_zip(file, "an extra field is damaged");
    std::size_t at = 4;
    for (std::uint64_t* field : fields) {
      if (id != 1 || *field != kIn64 || at + 8 > 4 + size) continue;
      *field = number_at<std::uint64_t>(extra, at);
      at += 8;
    }
    extra = extra.subspan(4 + size);
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const InputFile& file) {
  auto [offset, count] = find_directory(file);
  std::vector<ZipEntry> entries;
  for (; count > 0; --count) {
    const auto fixed = read_at(file, offset, kCentralHeaderSize);
    if (number_at<std::uint32_t>(fixed, 0) != kCentralHeader)
      fail_zip(file, "its directory is damaged");
    const std::uint64_t name_size = number_at<std::uint16_t>(fixed, 28);
    const std::uint64_t extra_size = number_at<std::uint16_t>(fixed, 30);
    const std::uint64_t comment_size = number_at<std::uint16_t>(fixed, 32);
    const auto rest = read_at(file, offset + kCentralHeaderSize, name_size + extra_size);
    ZipEntry entry;
    entry.name = text_of(Bytes(rest).first(name_size));
    entry.method = number_at<std::uint16_t>(fixed, 10);
    entry.crc = number_at<std::uint32_t>(fixed, 16);
    entry.size = number_at<std::uint32_t>(fixed, 24);
    entry.offset = number_at<std::uint32_t>(fixed, 42);
    entry.compressed = number_at<std::uint32_t>(fixed, 20);
    read_extra64(file, Bytes(rest).subspan(name_size), entry);
    entries.push_back(std::move(entry));
    offset += kCentralHeaderSize + name_size + extra_size + comment_size;
  }
  return entries;
}

std::uint64_t zip_content(const InputFile& file, const ZipEntry& entry) {
  const auto local = read_at(file, entry.offset, kLocalHeaderSize);
  if (number_at<std::uint32_t>(local, 0) != kLocalHeader) fail_zip(file, "a member is damaged");
  const std::uint64_t begin = entry.offset + kLocalHeaderSize +
                              number_at<std::uint16_t>(local, 26) +
                              number_at<std::uint16_t>(local, 28);
  if (begin > file.size() || entry.compressed > file.size() - begin)
    fail_zip(file, "it is truncated");
  if (entry.method == kStored && entry.size != entry.compressed)
    fail_zip(file, "the sizes of a member differ");
  return begin;
}

std::uint32_t zip_crc(Bytes bytes, std::uint32_t crc) {
  if (bytes.empty()) return crc;  // a null pointer means "initial value" to zlib
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace wellspring
