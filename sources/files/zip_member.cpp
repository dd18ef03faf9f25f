#include "sources/files/zip_member.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <span>

namespace wellspring {
namespace {

[[noreturn]] void damaged(const std::string& location, const std::string& why) {
  fail(ErrorKind::data, {location + ": damaged member of a zip archive", why,
                         "replace the archive, or set on_error: skip"});
}

/// Fills `bytes` from a raw deflate stream; false if it ends early or is not valid.
bool inflate_to(std::vector<std::uint8_t>& bytes, std::vector<std::uint8_t>& packed) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)  // raw, without zlib's own header
    fail(ErrorKind::runtime, {"cannot initialise zlib"});
  stream.next_in = packed.data();
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int state = inflate(&stream, Z_SYNC_FLUSH);
  inflateEnd(&stream);
  return stream.avail_out == 0 && (state == Z_OK || state == Z_STREAM_END || state == Z_BUF_ERROR);
}

}  // namespace

void read_zip_member(const InputFile& archive, const ZipEntry& entry, const std::string& location,
                     std::vector<std::uint8_t>& bytes, std::uint64_t most) {
  constexpr std::uint64_t kMostInflation = 1032;  // per byte, at most (zlib.net/zlib_tech.html)
  // Larger than any camera's file: 256 megapixels at a byte each.
  constexpr std::uint64_t kMostDecompressed = std::uint64_t{256} << 20;
  const std::uint64_t begin = zip_content(archive, entry);
  const bool stored = entry.method == zip::kStored;
  if (!stored && entry.method != zip::kDeflated) {
    fail(ErrorKind::data,
         {fmt::format("{}: compressed with method {}", location, entry.method),
          "members of a zip archive must be stored or deflated, without encryption",
          "unpack the archive and give the folder"});
  }
  if (!stored && (entry.size / kMostInflation > entry.compressed ||
                  std::max(entry.size, entry.compressed) > std::numeric_limits<uInt>::max())) {
    damaged(location, "its size is impossible");
  }
  if (!stored && entry.size > kMostDecompressed)
    fail(ErrorKind::data,
         {fmt::format("{}: it decompresses to {}", location, human_bytes(entry.size)),
          fmt::format(
              "members of a zip archive may have at most {}, so that a small file cannot fill "
              "the memory",
              human_bytes(kMostDecompressed)),
          "unpack the archive and give the folder, or set on_error: skip"});
  bytes.resize(std::min(entry.size, most));
  if (stored) {
    archive.read(begin, std::as_writable_bytes(std::span(bytes)));
  } else if (!bytes.empty()) {
    std::vector<std::uint8_t> packed(entry.compressed);
    archive.read(begin, std::as_writable_bytes(std::span(packed)));
    if (!inflate_to(bytes, packed)) damaged(location, "it cannot be decompressed");
  }
  if (bytes.size() == entry.size && zip_crc(std::as_bytes(std::span(bytes))) != entry.crc)
    damaged(location, "its checksum does not match");
}

}  // namespace wellspring
