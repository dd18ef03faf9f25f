#include "sources/files/tar.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/signals.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace wellspring {
namespace {

constexpr std::uint64_t kBlock = 512;
/// Long names and extended headers are small; larger ones indicate damage.
constexpr std::uint64_t kLargestExtension = std::uint64_t{1} << 20;

using Block = std::array<std::uint8_t, kBlock>;

/// Offset and width of a header's field, from the two sources named in tar.h.
struct Field {
  std::size_t offset, width;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kLink{157, 100}, kMagic{257, 5},
    kPrefix{345, 155};
constexpr std::size_t kTypeOffset = 156;

std::string_view text_of(const Block& block, Field field) {
  const char* begin = reinterpret_cast<const char*>(block.data()) + field.offset;
  return {begin, strnlen(begin, field.width)};
}

/// Octal digits surrounded by blanks, or (GNU) a big-endian binary number marked by the top bit.
std::optional<std::uint64_t> number_of(const Block& block, Field field) {
  const std::uint8_t* begin = block.data() + field.offset;
  std::uint64_t value = 0;
  if (begin[0] & 0x80) {
    if (begin[0] != 0x80) return std::nullopt;  // negative, or beyond 2^88
    for (std::size_t i = 1; i < field.width; ++i) {
      if (value >> 56) return std::nullopt;
      value = value << 8 | begin[i];
    }
    return value;
  }
  std::string_view digits = text_of(block, field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

/// Sum of all bytes of the header, with blanks in the checksum field. Old programs summed signed
/// bytes; the standard advises accepting both.
bool checksum_holds(const Block& block) {
  const auto stored = number_of(block, kChecksum);
  std::int64_t as_unsigned = 0, as_signed = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool own = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.width;
    const std::uint8_t byte = own ? std::uint8_t{' '} : block[i];
    as_unsigned += byte;
    as_signed += static_cast<std::int8_t>(byte);
  }
  return stored && (static_cast<std::int64_t>(*stored) == as_unsigned ||
                    static_cast<std::int64_t>(*stored) == as_signed);
}

/// Values of an extended header's records: "27 path=some/long/name\n" (27: its whole length).
struct PaxValues {
  std::optional<std::string> path, link;
  std::optional<std::uint64_t> size;
};

std::optional<PaxValues> parse_pax(std::string_view text) {
  PaxValues values;
  while (!text.empty() && text.front() != '\0') {
    std::size_t length = 0, digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 9) {
      length = length * 10 + static_cast<std::size_t>(text[digits++] - '0');
    }
    if (digits == 0 || length <= digits + 2 || length > text.size() || text[digits] != ' ' ||
        text[length - 1] != '\n') {
      return std::nullopt;
    }
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") values.path = std::string(value);
    if (key == "linkpath") values.link = std::string(value);
    if (key == "size") {
      std::uint64_t size = 0;
      for (const char digit : value) {
        if (digit < '0' || digit > '9' || size > (UINT64_MAX - 9) / 10) return std::nullopt;
        size = size * 10 + static_cast<std::uint64_t>(digit - '0');
      }
      values.size = size;
    }
    text.remove_prefix(length);
  }
  return values;
}

std::string tidy(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  while (path.starts_with("/")) path.erase(0, 1);
  while (path.ends_with("/")) path.pop_back();
  return path == "." ? "" : path;
}

class IndexReader {
 public:
  explicit IndexReader(const InputFile& file) : file_(file) {}

  std::vector<TarMember> read(const std::function<void(std::int64_t)>& watch) {
    refuse_other_formats();
    std::vector<TarMember> members;
    Block block;
    while (next_header(block)) {
      stop_if_interrupted();
      if (watch) watch(static_cast<std::int64_t>(members.size()));
      const std::uint64_t header = position_;
      position_ += kBlock;
      std::uint64_t bytes = number_of(block, kSize).value_or(UINT64_MAX);
      const char type = static_cast<char>(block[kTypeOffset]);
      if (bytes == UINT64_MAX) damaged(header, "its size is not a number");
      if (type == 'L' || type == 'x' || type == 'g' || type == 'K') {
        read_extension(type, bytes, header);
        continue;
      }
      if (type == 'S') {
        fail(ErrorKind::data,
             {file_.path().string() + ": contains a sparse file (" + name_of(block) + ")",
              "sparse files are not supported", "create the archive again without --sparse"});
      }
      if (size_) bytes = *size_;
      const std::string path = path_ ? *path_ : name_of(block);
      TarMember member{tidy(path), kind_of(type, path), position_, bytes};
      if (type == '1' && !member.path.empty())
        links_.emplace(members.size(), tidy(link_ ? *link_ : std::string(text_of(block, kLink))));
      path_.reset();
      link_.reset();
      size_.reset();
      if (member.kind == TarMemberKind::other) bytes = 0;  // links and devices have no content
      skip(bytes, member.path);
      if (!member.path.empty()) members.push_back(std::move(member));
    }
    follow_links(members);
    return members;
  }

 private:
  [[noreturn]] void damaged(std::uint64_t offset, const std::string& why) const {
    fail(ErrorKind::data,
         {fmt::format("{}: damaged tar header at byte {}", file_.path().string(), offset), why,
          "copy or download the archive again"});
  }
  [[noreturn]] void cut_off(const std::string& where) const {
    fail(ErrorKind::data,
         {fmt::format("{}: the tar archive is truncated {}", file_.path().string(), where),
          "the file ends after " + counted(file_.size(), "byte"),
          "copy or download the archive again"});
  }

  [[noreturn]] void no_archive() const {
    fail(ErrorKind::data, {file_.path().string() + ": not a tar or zip archive", "",
                           "use a .tar or .zip file, or a folder of class folders"});
  }

  void refuse_other_formats() const {
    if (file_.size() == 0) {
      fail(ErrorKind::data,
           {file_.path().string() + ": is empty", "an archive has at least one entry",
            "copy or download the archive again"});
    }
    refuse_other_kinds(file_, {FileKind::tar}, "a tar or zip archive");
  }

  /// Reads the header at position_. Returns false at the end mark, a block of zeros.
  bool next_header(Block& block) const {
    if (file_.size() < kBlock) no_archive();
    if (file_.size() < position_ + kBlock) cut_off("before its end mark");
    file_.read(position_, std::as_writable_bytes(std::span(block)));
    if (std::all_of(block.begin(), block.end(), [](std::uint8_t b) { return b == 0; })) {
      return false;
    }
    if (!checksum_holds(block)) {
      if (position_ == 0 && text_of(block, kMagic) != "ustar") no_archive();
      damaged(position_, "its checksum does not match");
    }
    return true;
  }

  void read_extension(char type, std::uint64_t bytes, std::uint64_t header) {
    if (bytes > kLargestExtension) damaged(header, "an extended header is too long");
    std::string text(bytes, '\0');
    const std::uint64_t begin = position_;
    skip(bytes, "an extended header");
    file_.read(begin, std::as_writable_bytes(std::span(text)));
    if (type == 'L') path_ = text.substr(0, text.find('\0'));
    if (type == 'K') link_ = text.substr(0, text.find('\0'));
    if (type != 'x') return;  // 'g' holds defaults, which are not used
    const auto values = parse_pax(text);
    if (!values) damaged(header, "an extended header is malformed");
    if (values->path) path_ = values->path;
    if (values->link) link_ = values->link;
    if (values->size) size_ = values->size;
  }

  /// A hard link is another name of an earlier member and becomes a file with the same bytes.
  void follow_links(std::vector<TarMember>& members) const {
    if (links_.empty()) return;
    std::unordered_map<std::string_view, std::size_t> files;
    for (std::size_t i = 0; i < members.size(); ++i) {
      TarMember& member = members[i];
      if (const auto link = links_.find(i); link != links_.end()) {
        const auto target = files.find(link->second);
        if (target == files.end()) continue;  // unknown or later target: kind stays `other`
        const TarMember& file = members[target->second];
        member.kind = TarMemberKind::file;
        member.offset = file.offset;
        member.bytes = file.bytes;
      }
      if (member.kind == TarMemberKind::file) files[member.path] = i;
    }
  }

  void skip(std::uint64_t bytes, const std::string& name) {
    if (bytes > file_.size() - position_) cut_off("within " + name);
    position_ += (bytes + kBlock - 1) / kBlock * kBlock;
  }

  static std::string name_of(const Block& block) {
    const std::string_view prefix = text_of(block, kPrefix), name = text_of(block, kName);
    // GNU tar writes "ustar " and uses the prefix field differently.
    const bool posix = text_of(block, {kMagic.offset, 6}) == "ustar";
    return posix && !prefix.empty() ? fmt::format("{}/{}", prefix, name) : std::string(name);
  }

  static TarMemberKind kind_of(char type, const std::string& path) {
    if (type == '\0' && path.ends_with("/")) return TarMemberKind::folder;  // before POSIX
    if (type == '0' || type == '\0' || type == '7') return TarMemberKind::file;
    return type == '5' ? TarMemberKind::folder : TarMemberKind::other;
  }

  const InputFile& file_;
  std::uint64_t position_ = 0;
  std::optional<std::string> path_, link_;  ///< for the next member, from an extension
  std::optional<std::uint64_t> size_;
  std::unordered_map<std::size_t, std::string> links_;  ///< member index to hard-link target
};

}  // namespace

std::vector<TarMember> read_tar_index(const InputFile& file,
                                      const std::function<void(std::int64_t)>& watch) {
  return IndexReader(file).read(watch);
}

}  // namespace wellspring
