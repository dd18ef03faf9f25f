#include "core/io/file_kind.h"

#include "core/error.h"
#include "core/io/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace wellspring {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kConvertImage =
    "convert it to PNG, e.g. with ImageMagick: mogrify -format png FILE";
constexpr std::string_view kExportArrays = "save its arrays with numpy.savez, and use the .npz";

struct Words {
  FileKind kind;
  std::string_view name, advice;
};

constexpr Words kWords[] = {
    {FileKind::unknown, "a file of unknown type", ""},
    {FileKind::jpeg, "a JPEG image", ""},
    {FileKind::png, "a PNG image", ""},
    {FileKind::webp, "a WebP image", kConvertImage},
    {FileKind::netpbm, "a PPM, PGM or PBM image", kConvertImage},
    {FileKind::bmp, "a BMP image", kConvertImage},
    {FileKind::gif, "a GIF image", kConvertImage},
    {FileKind::tiff, "a TIFF image", kConvertImage},
    {FileKind::avif, "an AVIF image", kConvertImage},
    {FileKind::heif, "a HEIF image", kConvertImage},
    {FileKind::jpeg2000, "a JPEG 2000 image", kConvertImage},
    {FileKind::jpeg_xl, "a JPEG XL image", kConvertImage},
    {FileKind::tar, "a tar archive", ""},
    {FileKind::zip, "a zip archive", "unpack it (unzip FILE) and use the folder"},
    {FileKind::gzip, "compressed with gzip", "decompress it: gunzip FILE"},
    {FileKind::bzip2, "compressed with bzip2", "decompress it: bunzip2 FILE"},
    {FileKind::xz, "compressed with xz", "decompress it: unxz FILE"},
    {FileKind::zstd, "compressed with zstd", "decompress it: unzstd FILE"},
    {FileKind::seven_zip, "a 7z archive", "unpack it (7z x FILE) and use the folder"},
    {FileKind::rar, "a RAR archive", "unpack it (unrar x FILE) and use the folder"},
    {FileKind::npy, "a NumPy array (.npy)", ""},
    {FileKind::npz, "a NumPy archive (.npz)", ""},
    {FileKind::hdf5, "an HDF5 file", ""},
    {FileKind::safetensors, "a safetensors file", ""},
    {FileKind::pytorch, "a PyTorch checkpoint", "convert it with scripts/torch-weights"},
    {FileKind::pickle, "a Python pickle", kExportArrays},
    {FileKind::matlab, "a MATLAB file", kExportArrays},
    {FileKind::gguf, "a GGUF file", "convert the weights to safetensors"},
    {FileKind::parquet, "a Parquet file", kExportArrays},
    {FileKind::arrow, "an Arrow file", kExportArrays},
    {FileKind::root, "a ROOT file", kExportArrays},
    {FileKind::web_page, "a web page", "download the file again: the server returned a web page"},
    {FileKind::git_lfs, "a Git LFS pointer", "fetch the file itself: git lfs pull"},
    {FileKind::pdf, "a PDF document", ""},
};

/// Bytes at a fixed position that identify a kind. Sources: the formats' specifications and the
/// database of file(1).
struct Magic {
  FileKind kind;
  std::size_t at;
  std::string_view bytes;
};

constexpr Magic kMagic[] = {
    {FileKind::jpeg, 0, "\xff\xd8\xff"sv},
    {FileKind::png, 0, "\x89PNG\r\n\x1a\n"sv},
    {FileKind::webp, 8, "WEBP"sv},
    {FileKind::gif, 0, "GIF8"sv},
    {FileKind::tiff, 0, "II*\0"sv},
    {FileKind::tiff, 0, "MM\0*"sv},
    {FileKind::tiff, 0, "II+\0"sv},  // BigTIFF
    {FileKind::tiff, 0, "MM\0+"sv},
    {FileKind::avif, 4, "ftypavif"sv},
    {FileKind::heif, 4, "ftyphei"sv},
    {FileKind::heif, 4, "ftypmif1"sv},
    {FileKind::jpeg2000, 0, "\0\0\0\x0cjP  "sv},
    {FileKind::jpeg2000, 0, "\xff\x4f\xff\x51"sv},
    {FileKind::jpeg_xl, 0, "\0\0\0\x0cJXL "sv},
    {FileKind::jpeg_xl, 0, "\xff\x0a"sv},
    {FileKind::tar, 257, "ustar"sv},
    {FileKind::gzip, 0, "\x1f\x8b"sv},
    {FileKind::bzip2, 0, "BZh"sv},
    {FileKind::xz, 0, "\xfd\x37zXZ\0"sv},
    {FileKind::zstd, 0, "\x28\xb5\x2f\xfd"sv},
    {FileKind::seven_zip, 0, "7z\xbc\xaf\x27\x1c"sv},
    {FileKind::rar, 0, "Rar!\x1a\x07"sv},
    {FileKind::npy, 0, "\x93NUMPY"sv},
    {FileKind::hdf5, 0, "\x89HDF\r\n\x1a\n"sv},
    // Files of torch.save before PyTorch 1.6 begin with the number 0x1950a86a20f9469cfc6c.
    {FileKind::pytorch, 2, "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv},
    {FileKind::matlab, 0, "MATLAB 5.0 MAT-file"sv},
    {FileKind::gguf, 0, "GGUF"sv},
    {FileKind::parquet, 0, "PAR1"sv},
    {FileKind::arrow, 0, "ARROW1"sv},
    {FileKind::arrow, 0, "FEA1"sv},
    {FileKind::root, 0, "root\0"sv},
    {FileKind::git_lfs, 0, "version https://git-lfs"sv},
    {FileKind::pdf, 0, "%PDF-"sv},
};

std::uint64_t little_endian(std::string_view head, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;)
    value = value << 8 | (at + i < head.size() ? static_cast<unsigned char>(head[at + i]) : 0);
  return value;
}

/// NumPy and PyTorch write zip archives; the name of the first member tells them apart.
FileKind zip_kind(std::string_view head) {
  constexpr std::size_t kNameLength = 26, kName = 30;  // PKWARE APPNOTE 4.3.7
  if (head.size() <= kName) return FileKind::zip;
  const std::string_view name = head.substr(kName, little_endian(head, kNameLength, 2));
  if (name.ends_with(".npy")) return FileKind::npz;
  if (name.ends_with("data.pkl") || name.ends_with("constants.pkl")) return FileKind::pytorch;
  return FileKind::zip;
}

bool is_bmp(std::string_view head) {
  // After "BM" and the size of the file, four bytes are zero; the header has one of these sizes.
  constexpr std::uint64_t kHeaderBytes[] = {12, 40, 52, 56, 64, 108, 124};
  return head.starts_with("BM") && little_endian(head, 6, 4) == 0 &&
         std::ranges::count(kHeaderBytes, little_endian(head, 14, 4)) == 1;
}

bool is_netpbm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '7' &&
         std::isspace(static_cast<unsigned char>(head[2])) != 0;
}

bool is_web_page(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  const auto begins = [&](std::string_view tag) {
    return head.size() >= tag.size() &&
           std::equal(tag.begin(), tag.end(), head.begin(),
                      [](char a, unsigned char b) { return a == std::tolower(b); });
  };
  return begins("<!doctype html") || begins("<html");
}

/// True for the length of a JSON header, followed by its first bytes.
bool is_safetensors(std::string_view head) {
  return head.size() > 9 && little_endian(head, 0, 8) < 100'000'000 && head.substr(8, 2) == "{\"";
}

bool is_pickle(std::string_view head) {  // PROTO, since protocol 2
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

const Words& words(FileKind kind) {
  return *std::ranges::find(kWords, kind, &Words::kind);
}

}  // namespace

FileKind file_kind(std::span<const std::uint8_t> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), kFileKindBytes));
  if (is_safetensors(head)) return FileKind::safetensors;  // its length may look like another kind
  if (head.starts_with("PK\3\4")) return zip_kind(head);
  for (const Magic& magic : kMagic) {
    if (head.size() >= magic.at && head.substr(magic.at).starts_with(magic.bytes))
      return magic.kind;
  }
  if (is_bmp(head)) return FileKind::bmp;
  if (is_netpbm(head)) return FileKind::netpbm;
  if (is_web_page(head)) return FileKind::web_page;
  return is_pickle(head) ? FileKind::pickle : FileKind::unknown;
}

FileKind file_kind(const InputFile& file) {
  std::array<std::uint8_t, kFileKindBytes> head;
  const std::span used = std::span(head).first(std::min<std::uint64_t>(head.size(), file.size()));
  file.read(0, std::as_writable_bytes(used));
  return file_kind(used);
}

std::string_view kind_name(FileKind kind) {
  return words(kind).name;
}

std::string_view kind_advice(FileKind kind) {
  return words(kind).advice;
}

void refuse_other_kinds(const InputFile& file, std::initializer_list<FileKind> wanted,
                        std::string_view what) {
  if (file.size() == 0)
    fail(ErrorKind::data,
         {fmt::format("{}: the file is empty", file.path().string()),
          fmt::format("it should be {}", what), "create the file again or copy it again"});
  const FileKind kind = file_kind(file);
  if (kind == FileKind::unknown || std::ranges::count(wanted, kind) != 0) return;
  fail(ErrorKind::data, {fmt::format("{}: not {}", file.path().string(), what),
                         fmt::format("it is {}", kind_name(kind)), std::string(kind_advice(kind))});
}

}  // namespace wellspring
