// NumPy files of kinds that this program does not write: compressed archives, other versions and
// orders. Tests only; host only.
#pragma once

#include "core/io/npy.h"
#include "core/io/zip_directory.h"
#include "tests/support/temporary_folder.h"

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace wellspring::test {

/// A raw deflate stream.
inline std::string deflated(const std::string& content) {
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A zip archive with these names and contents, all stored or all deflated; members have comments.
inline void write_zip(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, std::string>>& members,
                      std::uint16_t method) {
  std::string file, directory;
  for (const auto& [name, content] : members) {
    const std::string data = method == zip::kDeflated ? deflated(content) : content;
    std::string common;
    append_number<std::uint16_t>(common, zip::kPlain);
    append_number<std::uint16_t>(common, 0);
    append_number<std::uint16_t>(common, method);
    append_number<std::uint32_t>(common, 0x00210000);  // time and date
    append_number<std::uint32_t>(common, zip_crc(bytes_of(content)));
    append_number<std::uint32_t>(common, static_cast<std::uint32_t>(data.size()));
    append_number<std::uint32_t>(common, static_cast<std::uint32_t>(content.size()));
    append_number<std::uint16_t>(common, static_cast<std::uint16_t>(name.size()));
    append_number<std::uint16_t>(common, 0);
    append_number<std::uint32_t>(directory, zip::kCentralHeader);
    append_number<std::uint16_t>(directory, zip::kPlain);
    const std::string comment = "a comment";
    directory += common;
    append_number<std::uint16_t>(directory, static_cast<std::uint16_t>(comment.size()));
    directory += std::string(8, '\0');
    append_number<std::uint32_t>(directory, static_cast<std::uint32_t>(file.size()));
    directory += name + comment;
    append_number<std::uint32_t>(file, zip::kLocalHeader);
    file += common + name + data;
  }
  std::string end;
  append_number<std::uint32_t>(end, zip::kEnd);
  append_number<std::uint32_t>(end, 0);
  append_number<std::uint16_t>(end, static_cast<std::uint16_t>(members.size()));
  append_number<std::uint16_t>(end, static_cast<std::uint16_t>(members.size()));
  append_number<std::uint32_t>(end, static_cast<std::uint32_t>(directory.size()));
  append_number<std::uint32_t>(end, static_cast<std::uint32_t>(file.size()));
  append_number<std::uint16_t>(end, 0);
  spill(path, file + directory + end);
}

/// Writes an archive like numpy.savez_compressed: members "NAME.npy" with these contents.
inline void write_compressed_npz(const std::filesystem::path& path,
                                 std::vector<std::pair<std::string, std::string>> members) {
  for (auto& [name, content] : members) name += ".npy";
  write_zip(path, members, zip::kDeflated);
}

/// The bytes of a .npy file.
template <class T>
std::string npy_file(const ArraySpec& spec, const std::vector<T>& values) {
  return npy_header(spec) + std::string(text_of(bytes_of(values)));
}

/// A .npy file of strings of one ASCII character each, NumPy's type <U1.
inline std::string npy_strings(const std::string& characters) {
  std::string file = npy_header({ElementType::i32, {static_cast<std::int64_t>(characters.size())}});
  file.replace(file.find("<i4"), 3, "<U1");
  for (const char c : characters) append_number<std::uint32_t>(file, static_cast<std::uint8_t>(c));
  return file;
}

/// The same file with a header of version 2 or 3, whose length field has four bytes.
inline std::string with_version(std::string file, int version) {
  file[6] = static_cast<char>(version);
  file.insert(10, 2, '\0');
  return file;
}

/// The file of an array whose numbers are in Fortran order.
inline std::string in_fortran_order(std::string file) {
  return file.replace(file.find("False,"), 6, "True, ");
}

/// The values of an array of an archive.
template <class T>
std::vector<T> npz_values(const std::filesystem::path& path, const std::string& name) {
  const NpyArray found = read_npz(path, name);
  return {found.as<T>().begin(), found.as<T>().end()};
}

}  // namespace wellspring::test
