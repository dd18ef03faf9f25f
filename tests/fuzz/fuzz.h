// Common code of the fuzzers; host only. Each fuzzer is one file, NAME.cpp, with its initial inputs
// in corpus/NAME. It passes the input to a parser, accepts the Error that bad input must cause, and
// checks the parser's promises for accepted input. Any other exception and any sanitizer report
// ends the fuzzer.
#pragma once

#include "core/error.h"
#include "tests/support/temporary_folder.h"

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

namespace wellspring::fuzz {

using Input = std::span<const std::uint8_t>;

inline std::string_view text_of(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

/// A folder for input files, in TMPDIR.
class InputFolder : public test::TemporaryFolder {
 public:
  /// Writes the input to a file in this folder.
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path file = *this / name;
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    if (!stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
      throw std::runtime_error("cannot write " + file.string());
    return file;
  }
};

/// Ends the fuzzer if a promise of the parser is broken.
inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// Runs `read`. An Error of a kind for bad input is a refusal; any other Error is a finding.
template <class Read>
void refused_or(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::config || error.kind() == ErrorKind::data,
           "bad input gives an error of configuration or data");
    expect(*error.what() != '\0', "a refusal says why");
  }
}

}  // namespace wellspring::fuzz

/// The function that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
