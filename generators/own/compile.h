// Compiles the header of a generator into a shared object, and explains the compiler's errors.
// Called by generators/own/object_cache.h and `doctor`; host only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::own {

/// A C++ compiler of this machine.
struct HostCompiler {
  std::filesystem::path program;
  std::string version;  ///< first line of --version
};
/// $WELLSPRING_CXX, the compiler of this program, or g++ on PATH. Throws a config error that names
/// the package to install.
HostCompiler find_compiler();

/// Folders of Wellspring's headers: of the installation, or of the source and build trees. Throws a
/// config error if they are missing.
std::vector<std::filesystem::path> header_folders();

/// Flags of every compiled header.
std::vector<std::string> compile_flags();

/// Compiles `header` into `folder`/generator.so and returns all files that it includes, except the
/// system's. Throws a config error with the user's file, line and column.
std::vector<std::filesystem::path> compile_header(const std::filesystem::path& header,
                                                  const HostCompiler& compiler,
                                                  const std::filesystem::path& folder);

/// The error to report for a compiler's messages about `header`; see compile_header.
std::string explain_errors(const std::string& messages, const std::filesystem::path& header);

}  // namespace wellspring::own
