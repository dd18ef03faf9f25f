#include "core/io/npy.h"

#include "core/error.h"
#include "core/io/npy_numbers.h"
#include "core/io/zip_directory.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/text/unicode.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace wellspring {

using namespace zip;

namespace {

// ---- .npy: numpy/lib/format.py

constexpr std::string_view kNpyMagic("\x93NUMPY\x01\x00", 8);

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

/// The text after "'key':" in the header's Python dictionary, up to and including `end`.
std::string_view header_value(std::string_view header, std::string_view key, char end,
                              const std::string& name) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  const std::size_t begin = at == std::string_view::npos ? at : at + key.size() + 3;
  const std::size_t stop = begin == std::string_view::npos ? begin : header.find(end, begin);
  if (stop == std::string_view::npos) fail_npy(name, fmt::format("its header lacks '{}'", key));
  return trim(header.substr(begin, stop - begin + 1));
}

/// Parses a Python tuple: "(2, 3)", "(2,)" or "()".
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

/// The header, padded with spaces to at least `least` bytes and a multiple of 64.
std::string header_of_size(std::string_view descriptor, std::span<const std::int64_t> extents,
                           std::size_t least) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += fmt::format("{}, ", extent);
  // Python's tuples: "()", "(2,)", "(2, 3)".
  if (extents.size() == 1) shape.pop_back();
  if (extents.size() > 1) shape.resize(shape.size() - 2);
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor, shape);
  const std::size_t before = kNpyMagic.size() + 2;
  const std::size_t total = std::max(least, (before + dictionary.size() + 1 + 63) / 64 * 64);
  dictionary.resize(total - before - 1, ' ');
  std::string header(kNpyMagic);
  append_number<std::uint16_t>(header, static_cast<std::uint16_t>(total - before));
  return header + dictionary + '\n';
}

// ---- .npz: core/io/zip_directory.h
std::string extra64(std::span<const std::uint64_t> values) {
  std::string out;
  if (values.empty()) return out;
  append_number<std::uint16_t>(out, 1);
  append_number<std::uint16_t>(out, static_cast<std::uint16_t>(8 * values.size()));
  for (const std::uint64_t value : values) append_number<std::uint64_t>(out, value);
  return out;
}

}  // namespace

void fail_npy(const std::string& name, const std::string& why, const std::string& advice) {
  fail(ErrorKind::data, {fmt::format("{}: cannot read the NumPy array", name), why, advice});
}

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
  // An empty string is written as one NUL, which NumPy strips: it has no zero-length strings.
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
  members_[array].crc = 0;  // covers only the data until the header is known
  return array;
}

void NpzWriter::append(Array array, Bytes data) {
  Member& member = open_member(array);
  if (!member.growing && data.size() > member.size - member.filled)
    throw std::logic_error("too much data for an array of the archive");
  file_.file().patch(member.data + member.filled, data);
  member.filled += data.size();
  member.crc = zip_crc(data, member.crc);
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
      crc32_combine(zip_crc(bytes_of(header)), member.crc, static_cast<z_off_t>(data)));
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

// ---- Reading

namespace {

/// `quoted`: a descriptor from the header, "'<f4'".
NpyNumbers numbers_of(std::string_view quoted, const std::string& name) {
  if (quoted.size() > 2 && quoted.front() == '\'' && quoted.back() == '\'') {
    if (const auto numbers = npy_numbers(quoted.substr(1, quoted.size() - 2))) return *numbers;
  }
  // Kinds of strings: numpy.dtype.kind.
  const std::size_t kind = quoted.find_first_of("USOT");
  if (quoted.starts_with('\'') && kind <= 2)
    fail_npy(name, fmt::format("its type is {}: strings or Python objects", quoted),
             kStringsAdvice);
  fail_npy(name, fmt::format("its type is {}", quoted),
           "store integers or floats: x.astype('int64'), x.astype('float32')");
}

}  // namespace

NpyText parse_npy_text(Bytes file, const std::string& name) {
  constexpr std::size_t kBeforeLength = 8;  // magic and version
  if (file.size() < kBeforeLength || text_of(file.first(6)) != kNpyMagic.substr(0, 6))
    fail_npy(name, "its first bytes are not NumPy's signature");
  const auto version = static_cast<int>(file[6]);
  if (version < 1 || version > 3)
    fail_npy(name, fmt::format("its format version is {}; 1 to 3 are supported", version),
             "write it with numpy.save");
  // Versions 2 and 3 have a wider length field. 3 also allows UTF-8 names; only records have names.
  const std::size_t before = kBeforeLength + (version == 1 ? 2 : 4);
  if (file.size() < before) fail_npy(name, "it is truncated");
  const std::size_t size = version == 1 ? number_at<std::uint16_t>(file, kBeforeLength)
                                        : number_at<std::uint32_t>(file, kBeforeLength);
  if (size > kLongestNpyHeader) fail_npy(name, "its header is too long for an array of numbers");
  if (size > file.size() - before) fail_npy(name, "it is truncated");
  const std::string_view text = text_of(file.subspan(before, size));
  NpyText found;
  const std::string_view descriptor = header_value(text, "descr", ',', name);
  found.descriptor = descriptor.substr(0, descriptor.size() - 1);
  found.shape = parse_shape(header_value(text, "shape", ')', name), name);
  const std::string_view order = header_value(text, "fortran_order", ',', name);
  if (order != "True," && order != "False,") fail_npy(name, "its order is neither C nor Fortran");
  found.fortran = order == "True,";
  found.data_offset = before + size;
  return found;
}

NpyHeader parse_npy_header(Bytes file, std::uint64_t size, const std::string& name) {
  const NpyText text = parse_npy_text(file, name);
  NpyHeader header{{}, numbers_of(text.descriptor, name), text.data_offset, false};
  header.spec = {header.numbers.type, text.shape};
  header.fortran = text.fortran && text.shape.size() > 1;
  // The product of the extents may overflow: check each factor.
  std::uint64_t bytes = header.numbers.bytes;
  for (const std::int64_t extent : header.spec.shape) {
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / factor) {
      fail_npy(name, "its shape is too large");
    }
    bytes *= factor;
  }
  if (bytes != size - header.data_offset) {
    fail_npy(name, fmt::format("it has {} of data, but its shape needs {}",
                               counted(size - header.data_offset, "byte"), bytes));
  }
  return header;
}

}  // namespace wellspring
