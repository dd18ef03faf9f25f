#include "core/io/stored_array.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/idx.h"
#include "core/signals.h"
#include "core/text/text.h"
#include "core/text/unicode.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace wellspring {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 18;
constexpr std::uint16_t kGzip = 0xFFFF;  ///< method of a whole file of gzip members (RFC 1952)
constexpr std::uint64_t kUnknownSize = UINT64_MAX;

/// Receives a part of the content at `offset`; returns false to stop reading.
using TakePart = std::function<bool(std::uint64_t offset, Bytes part)>;

/// A member's content, or a whole .npy file.
struct Content {
  const InputFile& file;
  const ZipEntry& entry;
  std::uint64_t begin;
  const std::string& name;
};

/// Bytes of the file starting at `done`, at most one piece.
Bytes read_piece(const Content& content, std::uint64_t done, std::vector<std::byte>& piece) {
  piece.resize(std::min(kPieceBytes, content.entry.compressed - done));
  content.file.read(content.begin + done, piece);
  return piece;
}

bool stream_stored(const Content& content, const TakePart& take) {
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < content.entry.size; done += piece.size())
    if (!take(done, read_piece(content, done, piece))) return false;
  return true;
}

/// Owns zlib's state.
class Inflater {
 public:
  explicit Inflater(std::uint16_t method) {
    constexpr int kRaw = -MAX_WBITS, kWithHeader = MAX_WBITS + 16;  // zlib.h, inflateInit2
    if (inflateInit2(&stream_, method == kGzip ? kWithHeader : kRaw) != Z_OK)
      fail(ErrorKind::runtime, {"cannot initialise zlib"});
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream* operator->() { return &stream_; }
  bool begin_member() { return inflateReset(&stream_) == Z_OK; }
  int inflate_more() { return inflate(&stream_, Z_NO_FLUSH); }

 private:
  z_stream stream_ = {};
};

bool stream_deflated(const Content& content, const TakePart& take) {
  Inflater inflater(content.entry.method);
  std::vector<std::byte> piece, out(kPieceBytes);
  std::uint64_t used = 0, done = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (inflater->avail_in == 0 && used < content.entry.compressed) {
      read_piece(content, used, piece);
      used += piece.size();
      inflater->next_in = reinterpret_cast<Bytef*>(piece.data());
      inflater->avail_in = static_cast<uInt>(piece.size());
    }
    inflater->next_out = reinterpret_cast<Bytef*>(out.data());
    inflater->avail_out = static_cast<uInt>(out.size());
    state = inflater.inflate_more();
    const std::size_t made = out.size() - inflater->avail_out;
    const bool goes_on = state == Z_OK || state == Z_STREAM_END;
    if (!goes_on || made > content.entry.size - done)
      fail_npy(content.name, "its compressed data are damaged",
               "recreate the file or copy it again");
    if (made > 0 && !take(done, Bytes(out).first(made))) return false;
    done += made;
    const bool more = inflater->avail_in > 0 || used < content.entry.compressed;
    if (state == Z_STREAM_END && content.entry.method == kGzip && more && inflater.begin_member())
      state = Z_OK;
  }
  if (done != content.entry.size && content.entry.size != kUnknownSize)
    fail_npy(content.name, "its compressed data end early", "recreate the file or copy it again");
  return true;
}

/// Passes the content in order; checks a member's checksum unless `take` stops the reading.
void stream(const Content& content, bool archived, const TakePart& take) {
  std::uint32_t crc = 0;
  const auto counted_take = [&](std::uint64_t offset, Bytes part) {
    if (archived) crc = zip_crc(part, crc);
    return take(offset, part);
  };
  const bool whole = content.entry.method == zip::kStored ? stream_stored(content, counted_take)
                                                          : stream_deflated(content, counted_take);
  if (whole && archived && crc != content.entry.crc)
    fail_npy(content.name, "its checksum is wrong; it is damaged",
             "recreate the file or copy it again");
}

/// The beginning of the content, up to the length of the longest header.
std::vector<std::byte> beginning(const Content& content) {
  constexpr std::size_t kMost = 12 + kLongestNpyHeader;
  std::vector<std::byte> begin;
  stream(content, false, [&](std::uint64_t, Bytes part) {
    begin.insert(begin.end(), part.begin(), part.end());
    return begin.size() < kMost;
  });
  return begin;
}

/// Position in C order of the element at `at` in Fortran order.
std::uint64_t c_position(const std::vector<std::int64_t>& shape, std::uint64_t at) {
  std::uint64_t stride = 1, position = 0;
  for (const std::int64_t extent : shape) stride *= static_cast<std::uint64_t>(extent);
  for (const std::int64_t extent : shape) {
    const auto size = static_cast<std::uint64_t>(extent);
    stride /= size;
    position += at % size * stride;
    at /= size;
  }
  return position;
}

ZipEntry stored(std::uint64_t size) {
  ZipEntry entry;
  entry.size = entry.compressed = size;
  return entry;
}

/// Throws data errors for methods other than stored and deflate, or an impossible deflate size.
void check_method(const ZipEntry& entry, const std::string& name) {
  if (entry.method != zip::kStored && entry.method != zip::kDeflated && entry.method != kGzip)
    fail_npy(name, fmt::format("it is compressed with zip method {}", entry.method),
             "write it with numpy.savez or numpy.savez_compressed");
  // Deflate expands a byte to at most 1032 bytes (zlib's technical details).
  if (entry.method != zip::kStored && entry.size / 1032 > entry.compressed)
    fail_npy(name, "its compressed data are too short for its size");
}

}  // namespace

StoredArray::StoredArray(std::shared_ptr<const InputFile> file)
    : file_(std::move(file)),
      name_((refuse_other_kinds(*file_, {FileKind::npy}, "a NumPy array (.npy)"),
             file_->path().string())),
      entry_(stored(file_->size())),
      header_(parse_npy_header(beginning({*file_, entry_, begin_, name_}), entry_.size, name_)) {}

StoredArray::StoredArray(std::shared_ptr<const InputFile> archive, const ZipEntry& entry)
    : file_(std::move(archive)),
      name_(fmt::format("{}: '{}'", file_->path().string(),
                        entry.name.substr(0, entry.name.rfind(".npy")))),
      entry_(entry),
      archived_(true),
      begin_((check_method(entry, name_), zip_content(*file_, entry))),
      header_(parse_npy_header(beginning({*file_, entry_, begin_, name_}), entry_.size, name_)) {
  if (held_bytes() == 0)  // read in place: check it once
    stream({*file_, entry_, begin_, name_}, true, [](std::uint64_t, Bytes) {
      stop_if_interrupted();  // a large member takes more than a second per GiB
      return true;
    });
}

StoredArray::StoredArray(std::shared_ptr<const InputFile> file, NpyHeader header, ZipEntry entry)
    : file_(std::move(file)),
      name_(file_->path().string()),
      entry_(std::move(entry)),
      header_(std::move(header)) {}

std::shared_ptr<StoredArray> StoredArray::of_idx(std::shared_ptr<const InputFile> file) {
  const std::string name = file->path().string();
  ZipEntry entry = stored(file->size());
  std::optional<std::uint64_t> size = entry.size;
  if (file_kind(*file) == FileKind::gzip) {
    entry.method = kGzip;
    entry.size = kUnknownSize;  // gzip stores the size of each member, modulo 2^32
    size.reset();
  }
  NpyHeader header = parse_idx_header(beginning({*file, entry, 0, name}), size, name);
  entry.size = header.data_offset + header.spec.count() * header.numbers.bytes;
  check_method(entry, name);
  return std::shared_ptr<StoredArray>(
      new StoredArray(std::move(file), std::move(header), std::move(entry)));
}

std::uint64_t StoredArray::held_bytes() const {
  const bool in_place = entry_.method == zip::kStored && !header_.fortran;
  return in_place ? 0 : entry_.size - header_.data_offset;
}

/// Writes the numbers as stored, but in C order.
void StoredArray::fill(std::span<std::byte> memory) const {
  const std::size_t width = header_.numbers.bytes;
  stream({*file_, entry_, begin_, name_}, archived_, [&](std::uint64_t offset, Bytes part) {
    if (offset + part.size() <= header_.data_offset) return true;
    if (offset < header_.data_offset) part = part.subspan(header_.data_offset - offset);
    std::uint64_t at = std::max(offset, header_.data_offset) - header_.data_offset;
    if (!header_.fortran) {
      std::ranges::copy(part, memory.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    while (!part.empty()) {  // a part may begin in the middle of a number
      const std::size_t skipped = at % width, count = std::min(width - skipped, part.size());
      const std::uint64_t to = c_position(header_.spec.shape, at / width) * width + skipped;
      std::memcpy(memory.data() + to, part.data(), count);
      part = part.subspan(count);
      at += count;
    }
    return true;
  });
}

void StoredArray::hold(std::span<std::byte> memory) {
  std::call_once(first_read_, [] {});
  if (held_ != nullptr)
    std::ranges::copy(own_, memory.begin());
  else
    fill(memory);
  held_ = memory.data();
  own_ = {};
}

const std::byte* StoredArray::held() const {
  std::call_once(first_read_, [this] {
    own_.resize(held_bytes());
    fill(own_);
    held_ = own_.data();
  });
  return held_;
}

void StoredArray::read(std::uint64_t first, std::uint64_t count, std::byte* out) const {
  const NpyNumbers& numbers = header_.numbers;
  const std::uint64_t offset = first * numbers.bytes, size = count * numbers.bytes;
  if (size == 0) return;
  std::vector<std::byte> raw;
  Bytes stored;
  if (held_bytes() > 0) {
    stored = {held() + offset, size};
  } else if (numbers.is_plain()) {
    file_->read(begin_ + header_.data_offset + offset, {out, size});
    return;
  } else {
    raw.resize(size);
    file_->read(begin_ + header_.data_offset + offset, raw);
    stored = raw;
  }
  std::ranges::copy(numbers.is_plain() ? stored : Bytes(raw = numbers.converted(stored)), out);
}

NpyArray StoredArray::whole() const {
  NpyArray array{spec(), std::vector<std::byte>(spec().bytes())};
  read(0, spec().count(), array.data.data());
  return array;
}

namespace {

/// Opens a file that may be a zip archive of arrays, and reads its directory.
std::vector<ZipEntry> read_archive(const InputFile& file) {
  constexpr const char* kWanted = "a NumPy archive (.npz)";
  refuse_other_kinds(file, {FileKind::npz, FileKind::zip}, kWanted);
  std::vector<ZipEntry> entries = read_zip_directory(file);
  std::erase_if(entries, [](const ZipEntry& entry) { return !entry.name.ends_with(".npy"); });
  if (entries.empty()) refuse_other_kinds(file, {FileKind::npz}, kWanted);
  return entries;
}

}  // namespace

NpzFile::NpzFile(const std::filesystem::path& path)
    : file_(std::make_shared<const InputFile>(path)), entries_(read_archive(*file_)) {}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipEntry& entry : entries_)
    names.push_back(entry.name.substr(0, entry.name.size() - 4));
  return names;
}

const ZipEntry& NpzFile::entry_of(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name + ".npy", &ZipEntry::name);
  if (found != entries_.end()) return *found;
  fail(ErrorKind::data,
       {fmt::format("{}: '{}' is not in the archive", file_->path().string(), name), "",
        name_advice(name, names())});
}

std::shared_ptr<StoredArray> NpzFile::array(const std::string& name) const {
  return std::make_shared<StoredArray>(file_, entry_of(name));
}

namespace {

bool is_scalar_text(const NpyText& header) {
  return header.descriptor.starts_with("'<U") && header.shape.empty();
}

}  // namespace

bool NpzFile::is_text(const std::string& name) const {
  const auto entry = std::ranges::find(entries_, name + ".npy", &ZipEntry::name);
  if (entry == entries_.end()) return false;
  const std::string where = fmt::format("{}: '{}'", file_->path().string(), name);
  check_method(*entry, where);
  return is_scalar_text(
      parse_npy_text(beginning({*file_, *entry, zip_content(*file_, *entry), where}), where));
}

std::string NpzFile::text(const std::string& name) const {
  const ZipEntry& entry = entry_of(name);
  const std::string where = fmt::format("{}: '{}'", file_->path().string(), name);
  check_method(entry, where);
  std::vector<std::byte> member;
  stream({*file_, entry, zip_content(*file_, entry), where}, true, [&](std::uint64_t, Bytes part) {
    member.insert(member.end(), part.begin(), part.end());
    return true;
  });
  const NpyText header = parse_npy_text(member, where);
  if (!is_scalar_text(header)) fail_npy(where, "it is not a scalar string");
  const Bytes data = Bytes(member).subspan(header.data_offset);
  std::u32string text(data.size() / 4, U'\0');
  std::memcpy(text.data(), data.data(), text.size() * 4);
  while (!text.empty() && text.back() == U'\0') text.pop_back();  // like NumPy
  return to_utf8(text);
}

NpyArray read_npy(const std::filesystem::path& path) {
  return StoredArray(std::make_shared<const InputFile>(path)).whole();
}

std::vector<std::string> npz_members(const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const ZipEntry& entry : read_zip_directory(InputFile(path))) names.push_back(entry.name);
  return names;
}

NpyArray read_npz(const std::filesystem::path& path, const std::string& name) {
  return NpzFile(path).array(name)->whole();
}

std::string read_npz_text(const std::filesystem::path& path, const std::string& name) {
  return NpzFile(path).text(name);
}

}  // namespace wellspring
