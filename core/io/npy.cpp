// Longer than 500 lines: writer and reader of one format share its constants.
#include "core/io/npy.h"

#include "core/error.h"
#include "core/io/npy_numbers.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/text/unicode.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

namespace wellspring {
namespace {

// ---- .npy: numpy/lib/format.py, "Format Version 1.0" ----

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);

std::string descriptor_of(ElementType type) {
  if (const auto numbers = npy_numbers(type)) return numbers->descriptor();
  fail(ErrorKind::data,
       {fmt::format("NumPy has no type {}", element_name(type)), "", "convert the array to F32"});
}

void check_size(const ArraySpec& spec, Bytes data) {
  if (data.size() != spec.bytes()) {
    throw std::logic_error(fmt::format("an array of {} bytes got {}", spec.bytes(), data.size()));
  }
}

[[noreturn]] void fail_npy(const std::string& name, const std::string& why,
                           const std::string& advice = "") {
  fail(ErrorKind::data, {fmt::format("{}: cannot read the NumPy array", name), why, advice});
}

/// The text after "'key':" in the header's Python dictionary, up to and including `end`.
std::string_view header_value(std::string_view header, std::string_view key, char end,
                              const std::string& name) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  const std::size_t begin = at == std::string_view::npos ? at : at + key.size() + 3;
  const std::size_t stop = begin == std::string_view::npos ? begin : header.find(end, begin);
  if (stop == std::string_view::npos) fail_npy(name, fmt::format("its header lacks '{}'", key));
  return trim(header.substr(begin, stop - begin + 1));
}

/// "(2, 3)" and "(2,)" and "()".
std::vector<std::int64_t> parse_shape(std::string_view text, const std::string& name) {
  std::vector<std::int64_t> shape;
  if (!text.starts_with('(') || !text.ends_with(')')) fail_npy(name, "its shape is not a tuple");
  text = trim(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    std::int64_t extent = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc{} || extent < 0) fail_npy(name, "its shape is not a tuple of sizes");
    shape.push_back(extent);
    text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
    if (text.empty()) break;
    if (text.front() != ',') fail_npy(name, "its shape is not a tuple of sizes");
    text = trim(text.substr(1));
  }
  return shape;
}

/// The header, padded with blanks to at least `least` bytes, a multiple of 64.
std::string header_of_size(std::string_view descriptor, std::span<const std::int64_t> extents,
                           std::size_t least) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += fmt::format("{}, ", extent);
  // Python's tuples: "()", "(2,)", "(2, 3)".
  if (extents.size() == 1) shape.pop_back();
  if (extents.size() > 1) shape.resize(shape.size() - 2);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor, shape);
  const std::size_t before = kMagic.size() + 2;
  const std::size_t total = std::max(least, (before + dictionary.size() + 1 + 63) / 64 * 64);
  dictionary.resize(total - before - 1, ' ');
  std::string header(kMagic);
  append_number<std::uint16_t>(header, static_cast<std::uint16_t>(total - before));
  return header + dictionary + '\n';
}

// ---- .npz: PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3 ----

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kLocalHeaderSize = 30, kCentralHeaderSize = 46, kEndSize = 22;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;        ///< "see the 64-bit field"
constexpr std::uint16_t kPlain = 20, kZip64 = 45;  ///< version needed, times ten
constexpr std::uint16_t kFirstDate = 0x0021;       ///< 1 January 1980, the earliest possible
constexpr std::uint32_t kFileMode = 0100644u << 16;

std::string extra64(std::span<const std::uint64_t> values) {
  std::string out;
  if (values.empty()) return out;
  append_number<std::uint16_t>(out, 1);
  append_number<std::uint16_t>(out, static_cast<std::uint16_t>(8 * values.size()));
  for (const std::uint64_t value : values) append_number<std::uint64_t>(out, value);
  return out;
}

std::uint32_t crc32_of(Bytes bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;  // a null pointer means "initial value" to zlib
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct ZipEntry {
  std::string name;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t size = 0, offset = 0;
};

[[noreturn]] void fail_zip(const InputFile& file, const std::string& why) {
  fail(ErrorKind::data, {fmt::format("{}: not an .npz archive", file.path().string()), why});
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

/// Replaces the fields that refer to 64-bit fields, in the order of the extra field.
void read_extra64(const InputFile& file, Bytes extra, ZipEntry& entry, std::uint64_t compressed) {
  const std::array<std::uint64_t*, 3> fields = {&entry.size, &compressed, &entry.offset};
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

std::vector<ZipEntry> read_directory(const InputFile& file) {
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
    read_extra64(file, Bytes(rest).subspan(name_size), entry, number_at<std::uint32_t>(fixed, 20));
    entries.push_back(std::move(entry));
    offset += kCentralHeaderSize + name_size + extra_size + comment_size;
  }
  return entries;
}

}  // namespace

std::uint64_t ArraySpec::count() const {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

std::string npy_header(const ArraySpec& spec) {
  return header_of_size(descriptor_of(spec.type), spec.shape, 0);
}

std::string npy_text(std::string_view utf8) {
  const std::u32string text = to_utf32(utf8);
  // An empty text is one NUL, which NumPy drops: it has no texts of width 0.
  std::string file =
      header_of_size(fmt::format("<U{}", std::max<std::size_t>(1, text.size())), {}, 0);
  for (const char32_t code : text) append_number<std::uint32_t>(file, code);
  if (text.empty()) append_number<std::uint32_t>(file, 0);
  return file;
}

void write_npy(const std::filesystem::path& path, const ArraySpec& spec, Bytes data) {
  check_size(spec, data);
  AtomicFile file(path);
  file.write(npy_header(spec));
  file.write(data);
  file.commit();
}

std::uint32_t NpzWriter::field32(std::uint64_t value) const {
  return needs64(value) ? kIn64 : static_cast<std::uint32_t>(value);
}

/// The common fields of local and central headers, from "version needed" to "uncompressed size".
void NpzWriter::append_common(std::string& out, const Member& member, bool wide) const {
  const std::uint32_t size = member.wide ? kIn64 : static_cast<std::uint32_t>(member.size);
  append_number<std::uint16_t>(out, wide ? kZip64 : kPlain);
  append_number<std::uint16_t>(out, 0x0800);  // flags: names are UTF-8
  append_number<std::uint16_t>(out, 0);       // method: stored
  append_number<std::uint16_t>(out, 0);       // time
  append_number<std::uint16_t>(out, kFirstDate);
  append_number<std::uint32_t>(out, member.crc);
  append_number<std::uint32_t>(out, size);  // compressed
  append_number<std::uint32_t>(out, size);
}

std::string NpzWriter::local_header(const Member& member) const {
  std::string header, extra;
  if (member.wide) extra = extra64(std::array{member.size, member.size});
  append_number<std::uint32_t>(header, kLocalHeader);
  append_common(header, member, member.wide);
  append_number<std::uint16_t>(header, static_cast<std::uint16_t>(member.name.size()));
  append_number<std::uint16_t>(header, static_cast<std::uint16_t>(extra.size()));
  return header + member.name + extra;
}

NpzWriter::Array NpzWriter::begin_member(Member member) {
  for (const Member& other : members_) {
    if (other.name == member.name)
      throw std::logic_error("duplicate member '" + member.name + "' of the archive");
    if (other.open && other.growing)
      throw std::logic_error("member '" + other.name + "' of the archive is still growing");
  }
  member.wide = member.growing || needs64(member.size);
  member.offset = end_;
  const std::string header = local_header(member);  // the checksum is patched on close
  file_.file().patch(end_, bytes_of(header));
  member.data = end_ + header.size();
  end_ = member.data + member.size;
  members_.push_back(std::move(member));
  return members_.size() - 1;
}

NpzWriter::Member& NpzWriter::open_member(Array array) {
  if (array >= members_.size() || !members_[array].open)
    throw std::logic_error("no such open array of the archive");
  return members_[array];
}

NpzWriter::Array NpzWriter::open(const std::string& name, const ArraySpec& spec) {
  const std::string header = npy_header(spec);
  Member member;
  member.name = name + ".npy";
  member.size = header.size() + spec.bytes();
  const Array array = begin_member(std::move(member));
  append(array, bytes_of(header));
  return array;
}

NpzWriter::Array NpzWriter::open_growing(const std::string& name, const ArraySpec& spec) {
  Member member;
  member.name = name + ".npy";
  member.growing = spec;
  member.growing->shape.at(0) = std::numeric_limits<std::int64_t>::max();
  const std::string header = npy_header(*member.growing);  // same length for any number of rows
  const Array array = begin_member(std::move(member));
  append(array, bytes_of(header));
  members_[array].crc = 0;  // only of the data, until the header is known
  return array;
}

void NpzWriter::append(Array array, Bytes data) {
  Member& member = open_member(array);
  if (!member.growing && data.size() > member.size - member.filled)
    throw std::logic_error("too much data for an array of the archive");
  file_.file().patch(member.data + member.filled, data);
  member.filled += data.size();
  member.crc = crc32_of(data, member.crc);
  if (member.growing) {
    member.size = member.filled;
    end_ = member.data + member.size;
  }
}

/// Updates the header with the number of rows.
void NpzWriter::close_growing(Member& member) {
  ArraySpec& spec = *member.growing;
  const std::size_t header_size = npy_header(spec).size();
  spec.shape[0] = 1;
  const std::uint64_t row = spec.bytes(), data = member.filled - header_size;
  if (row == 0 ? data != 0 : data % row != 0)
    throw std::logic_error("an array of the archive ends in the middle of a row");
  spec.shape[0] = row == 0 ? 0 : static_cast<std::int64_t>(data / row);
  const std::string header = header_of_size(descriptor_of(spec.type), spec.shape, header_size);
  file_.file().patch(member.data, bytes_of(header));
  member.crc = static_cast<std::uint32_t>(
      crc32_combine(crc32_of(bytes_of(header)), member.crc, static_cast<z_off_t>(data)));
}

void NpzWriter::close(Array array) {
  Member& member = open_member(array);
  if (member.filled != member.size) throw std::logic_error("an array of the archive is not full");
  if (member.growing) close_growing(member);
  file_.file().patch(member.offset, bytes_of(local_header(member)));
  member.open = false;
}

void NpzWriter::add(const std::string& name, const ArraySpec& spec, Bytes data) {
  check_size(spec, data);
  const Array array = open(name, spec);
  append(array, data);
  close(array);
}

void NpzWriter::add_file(const std::string& name, Bytes data) {
  Member member;
  member.name = name;
  member.size = data.size();
  const Array array = begin_member(std::move(member));
  append(array, data);
  close(array);
}

void NpzWriter::commit() {
  const std::uint64_t directory = end_;
  std::string out;
  for (const Member& member : members_) {
    if (member.open) throw std::logic_error("an array of the archive is still open");
    std::vector<std::uint64_t> wide;
    if (member.wide) wide = {member.size, member.size};
    if (needs64(member.offset)) wide.push_back(member.offset);
    const std::string extra = extra64(wide);
    append_number<std::uint32_t>(out, kCentralHeader);
    append_number<std::uint16_t>(out, (3 << 8) | kZip64);  // made by: Unix
    append_common(out, member, !extra.empty());
    append_number<std::uint16_t>(out, static_cast<std::uint16_t>(member.name.size()));
    append_number<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
    append_number<std::uint16_t>(out, 0);  // comment
    append_number<std::uint16_t>(out, 0);  // disk
    append_number<std::uint16_t>(out, 0);  // internal attributes
    append_number<std::uint32_t>(out, kFileMode);
    append_number<std::uint32_t>(out, field32(member.offset));
    out += member.name + extra;
  }
  const std::uint64_t size = out.size(), count = members_.size();
  if (needs64(directory) || needs64(size) || count >= 0xFFFF) {
    append_number<std::uint32_t>(out, kEnd64);
    append_number<std::uint64_t>(out, 44);  // size of the rest of this record
    append_number<std::uint16_t>(out, (3 << 8) | kZip64);
    append_number<std::uint16_t>(out, kZip64);
    append_number<std::uint64_t>(out, 0);  // disks
    append_number<std::uint64_t>(out, count);
    append_number<std::uint64_t>(out, count);
    append_number<std::uint64_t>(out, size);
    append_number<std::uint64_t>(out, directory);
    append_number<std::uint32_t>(out, kEnd64Locator);
    append_number<std::uint32_t>(out, 0);  // disk
    append_number<std::uint64_t>(out, directory + size);
    append_number<std::uint32_t>(out, 1);  // disks
  }
  const auto count16 = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, 0xFFFF));
  append_number<std::uint32_t>(out, kEnd);
  append_number<std::uint32_t>(out, 0);  // disks
  append_number<std::uint16_t>(out, count16);
  append_number<std::uint16_t>(out, count16);
  append_number<std::uint32_t>(out, field32(size));
  append_number<std::uint32_t>(out, field32(directory));
  append_number<std::uint16_t>(out, 0);  // comment
  file_.file().patch(end_, bytes_of(out));
  file_.commit();
}

namespace {

constexpr std::size_t kBeforeHeader = 8 + 2;  ///< magic, version and header length

struct RawHeader {
  std::string_view text;
  std::uint64_t data_offset = 0;
};
/// `file`: the beginning of the file, including the whole header.
RawHeader raw_header(Bytes file, const std::string& name) {
  if (file.size() < kBeforeHeader || text_of(file.first(6)) != kMagic.substr(0, 6)) {
    fail_npy(name, "its first bytes are not NumPy's signature");
  }
  if (text_of(file.first(8)) != kMagic) fail_npy(name, "only format version 1.0 is supported");
  const std::size_t header_size = number_at<std::uint16_t>(file, kMagic.size());
  if (header_size > file.size() - kBeforeHeader) fail_npy(name, "it is truncated");
  return {text_of(file.subspan(kBeforeHeader, header_size)), kBeforeHeader + header_size};
}

struct StoredHeader {
  NpyHeader header;
  NpyNumbers numbers;
};

/// `quoted`: a descriptor from the header, "'<f4'".
NpyNumbers numbers_of(std::string_view quoted, const std::string& name) {
  if (quoted.size() > 2 && quoted.front() == '\'' && quoted.back() == '\'') {
    if (const auto numbers = npy_numbers(quoted.substr(1, quoted.size() - 2))) return *numbers;
  }
  fail_npy(name, fmt::format("its type is {}", quoted),
           "store integers or floats: x.astype('int64'), x.astype('float32')");
}

/// `file`: as for raw_header; `size`: of the whole file.
StoredHeader parse_npy_header(Bytes file, std::uint64_t size, const std::string& name) {
  const auto [header, data_offset] = raw_header(file, name);
  const std::string_view descriptor = header_value(header, "descr", ',', name);
  StoredHeader result{{}, numbers_of(descriptor.substr(0, descriptor.size() - 1), name)};
  ArraySpec& spec = result.header.spec;
  spec.type = result.numbers.type;
  result.header.data_offset = data_offset;
  spec.shape = parse_shape(header_value(header, "shape", ')', name), name);
  if (header_value(header, "fortran_order", ',', name) != "False,") {
    fail_npy(name, "it is in Fortran order", "store it in C order: numpy.ascontiguousarray(x)");
  }
  // The product of the extents may overflow: check each factor.
  std::uint64_t bytes = result.numbers.bytes;
  for (const std::int64_t extent : spec.shape) {
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / factor) {
      fail_npy(name, "its shape is too large");
    }
    bytes *= factor;
  }
  if (bytes != size - data_offset) {
    fail_npy(name, fmt::format("it has {} of data, its shape needs {}",
                               counted(size - data_offset, "byte"), bytes));
  }
  return result;
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file) {
  constexpr std::uint64_t kLongest = kBeforeHeader + 0xFFFF;
  std::vector<std::byte> begin(std::min(file.size(), kLongest));
  file.read(0, begin);
  const std::string name = file.path().string();
  const StoredHeader found = parse_npy_header(begin, file.size(), name);
  if (!found.numbers.is_plain())
    fail_npy(
        name,
        fmt::format("its type is '{}', which cannot be read in parts", found.numbers.descriptor()),
        fmt::format("convert it: x.astype('{}')", descriptor_of(found.header.spec.type)));
  return found.header;
}

NpyArray parse_npy(Bytes file, const std::string& name) {
  const StoredHeader found = parse_npy_header(file, file.size(), name);
  const Bytes data = file.subspan(found.header.data_offset);
  return {found.header.spec, found.numbers.converted(data)};
}

NpyArray read_npy(const std::filesystem::path& path) {
  return parse_npy(read_bytes(path), path.string());
}

std::vector<std::string> npz_members(const std::filesystem::path& path) {
  std::vector<std::string> names;
  for (const ZipEntry& entry : read_directory(InputFile(path))) names.push_back(entry.name);
  return names;
}

namespace {

/// Reads the member `name`.npy and checks it.
std::vector<std::byte> read_member(const std::filesystem::path& path, const std::string& name) {
  const InputFile file(path);
  const auto entries = read_directory(file);
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const ZipEntry& candidate) {
    return candidate.name == name + ".npy";
  });
  const std::string where = fmt::format("{}: '{}'", path.string(), name);
  if (entry == entries.end()) {
    std::vector<std::string> names;
    for (const ZipEntry& other : entries) {
      names.push_back(other.name.ends_with(".npy") ? other.name.substr(0, other.name.size() - 4)
                                                   : other.name);
    }
    fail(ErrorKind::data, {where + " is not in the archive", "", name_advice(name, names)});
  }
  if (entry->method != 0)
    fail_npy(where, "it is compressed", "store it with numpy.savez, not numpy.savez_compressed");
  const auto local = read_at(file, entry->offset, kLocalHeaderSize);
  if (number_at<std::uint32_t>(local, 0) != kLocalHeader) fail_zip(file, "a member is damaged");
  const std::uint64_t skip =
      kLocalHeaderSize + number_at<std::uint16_t>(local, 26) + number_at<std::uint16_t>(local, 28);
  auto member = read_at(file, entry->offset + skip, entry->size);
  if (crc32_of(member) != entry->crc) fail_npy(where, "its checksum is wrong; it is damaged");
  return member;
}

}  // namespace

NpyArray read_npz(const std::filesystem::path& path, const std::string& name) {
  return parse_npy(read_member(path, name), fmt::format("{}: '{}'", path.string(), name));
}

std::string read_npz_text(const std::filesystem::path& path, const std::string& name) {
  const std::vector<std::byte> member = read_member(path, name);
  const std::string where = fmt::format("{}: '{}'", path.string(), name);
  const RawHeader header = raw_header(member, where);
  const std::string_view descriptor = header_value(header.text, "descr", ',', where);
  if (!descriptor.starts_with("'<U") ||
      !parse_shape(header_value(header.text, "shape", ')', where), where).empty())
    fail_npy(where, "it is not a scalar text");
  const Bytes data = Bytes(member).subspan(header.data_offset);
  std::u32string text(data.size() / 4, U'\0');
  std::memcpy(text.data(), data.data(), text.size() * 4);
  while (!text.empty() && text.back() == U'\0') text.pop_back();  // like NumPy
  return to_utf8(text);
}

}  // namespace wellspring
