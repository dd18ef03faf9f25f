// Compiles the header of a generator into a shared object, and explains the compiler's errors.
// Called by generators/own/object_cache.h and `doctor`; host only.
#pragma once

#include "kernels/runtime/device.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring::own {

/// A compiler of this machine.
struct Compiler {
  std::filesystem::path program;
  std::string version;  ///< the line of --version that has it
};
/// $WELLSPRING_CXX, the compiler of this program, or g++ on PATH. Throws a config error that names
/// the package to install.
Compiler find_compiler();
/// $WELLSPRING_NVCC, the nvcc of this program, nvcc on PATH, or /usr/local/cuda/bin/nvcc. Throws a
/// config error that says how to install it.
Compiler find_nvcc();

/// Kind of an object.
struct Target {
  std::string arch = {};  ///< architecture of the device code, such as "sm_90"; "": host code only
  /// With WS_EXPECT and the counter of random blocks, as in sanitizer builds; optimised less, because
  /// it only makes samples for checks.
  bool checked = false;
};
/// Compilers and target of an object.
struct Toolchain {
  Compiler host;
  Target target;
  Compiler nvcc;  ///< used if there is device code

  /// Versions of the compilers.
  std::string version() const;
};
/// Throws a config error if a compiler is missing, or if there is an architecture and this program has
/// no CUDA back end.
Toolchain find_toolchain(const Target& target);
/// Architecture of a GPU.
std::string arch_of(Device device);

/// The file that contains this library: the program or the Python module.
std::filesystem::path this_binary();

/// Folders of Wellspring's headers: of the installation, or of the source and build trees. Throws a
/// config error if they are missing.
std::vector<std::filesystem::path> header_folders();

/// Flags of every header that is compiled for `target`.
std::vector<std::string> compile_flags(const Target& target);

/// Writes a file of the cache. Throws a config error if it cannot, for example because the disk is
/// full: another folder can be configured.
void write_to_cache(const std::filesystem::path& file, std::string_view text);
/// The same error, with the reason.
[[noreturn]] void refuse_cache(const std::filesystem::path& file, const std::string& reason);

/// Throws a config error if the text of `header` can define no functor: it neither mentions the name
/// nor includes a file. Takes no time, unlike the compiler's message.
void expect_functor(const std::filesystem::path& header);

/// Files that a header includes, without headers of the system and of CUDA.
struct IncludedFiles {
  std::vector<std::filesystem::path> host, device;
  /// First places where the user's code promotes float to double: "rings.h:12:3".
  std::vector<std::string> promotions;
};
/// Compiles `header` into `folder`/generator.so. With device code, the object contains a cubin and
/// the handles of its kernels (kernel_handles.h). Throws a config error with the user's file, line
/// and column.
IncludedFiles compile_header(const std::filesystem::path& header, const Toolchain& toolchain,
                             const std::filesystem::path& folder);

/// Functions of the C library's <math.h> that an object calls and whose last bits differ between
/// machines.
std::vector<std::string> inexact_calls(const std::filesystem::path& object);

/// The error to report for the messages of g++ or nvcc about `header`; see compile_header.
std::string explain_errors(const std::string& messages, const std::filesystem::path& header);

}  // namespace wellspring::own
