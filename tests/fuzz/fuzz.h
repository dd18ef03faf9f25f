// What the fuzzers share. Each is one file, NAME.cpp, with its first inputs in corpus/NAME: it
// hands the input to a parser, lets the Error pass that bad input shall give, and checks what the
// parser promises of the rest. Anything else that is thrown, and whatever the sanitizers see, ends
// the fuzzer.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

namespace wellspring::fuzz {

using Input = std::span<const std::uint8_t>;

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// A folder for what must lie in files; TMPDIR says where.
class InputFolder {
 public:
  InputFolder() {
    std::string name = std::filesystem::temp_directory_path() / "wellspring-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
    path_ = name;
  }
  ~InputFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// The input as a file of this folder.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = path_ / name;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    if (!stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
      throw std::runtime_error("cannot write " + file.string());
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// Ends the fuzzer where a promise of the parser does not hold.
inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Runs `read`. An Error of the kinds that are about input is a refusal; of another it is a
/// finding.
template <class Read>
void refused_or(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::config || error.kind() == ErrorKind::data,
           "bad input is an error of configuration or data");
    expect(*error.what() != '\0', "a refusal says why");
  }
}

}  // namespace wellspring::fuzz

/// The function that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
