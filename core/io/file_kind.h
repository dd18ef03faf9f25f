// Recognises kinds of files by their first bytes, so that a reader that expects one kind can name
// another. Called by file readers; host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace wellspring {

class InputFile;

enum class FileKind : std::uint8_t {
  unknown,
  // images
  jpeg,
  png,
  webp,
  netpbm,
  bmp,
  gif,
  tiff,
  avif,
  heif,
  jpeg2000,
  jpeg_xl,
  // archives and compressed files
  tar,
  zip,
  gzip,
  bzip2,
  xz,
  zstd,
  seven_zip,
  rar,
  // arrays and weights
  npy,
  npz,
  hdf5,
  safetensors,
  pytorch,
  pickle,
  matlab,
  gguf,
  parquet,
  arrow,
  root,
  // results of failed downloads
  web_page,
  git_lfs,
  pdf,
};

/// Bytes from the beginning of a file that file_kind() reads.
inline constexpr std::size_t kFileKindBytes = 512;

/// Kind of a file that begins with `head`. An old tar archive (without "ustar") is unknown.
FileKind file_kind(std::span<const std::uint8_t> head);
FileKind file_kind(const InputFile& file);

/// "a WebP image"; "a file of an unknown kind".
std::string_view kind_name(FileKind kind);
/// How to make such a file usable; "" for unknown kinds and for kinds that the program can read.
std::string_view kind_advice(FileKind kind);

/// Throws a data error if the file is empty or of a known kind other than `wanted`: "x.npz: not an
/// .npz archive (it is a PyTorch checkpoint)" for `what` = "an .npz archive".
void refuse_other_kinds(const InputFile& file, std::initializer_list<FileKind> wanted,
                        std::string_view what);

}  // namespace wellspring
