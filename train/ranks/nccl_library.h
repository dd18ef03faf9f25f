// NCCL's functions, loaded when a run with several GPUs first asks for them, so that other runs do
// not need the library. Declared here as in nccl.h of NCCL 2 (its interface has been stable since
// 2.4). Host only.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::nccl {

struct UniqueId {
  std::array<char, 128> bytes;  // NCCL_UNIQUE_ID_BYTES
};
using Communicator = struct ncclComm*;
using Result = int;  ///< 0: success
inline constexpr int kFloat32 = 7, kSum = 0;

struct Functions {
  Result (*get_unique_id)(UniqueId*);
  Result (*init_rank)(Communicator*, int ranks, UniqueId, int rank);
  Result (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int operation,
                       Communicator, void* stream);
  Result (*abort)(Communicator);
  Result (*destroy)(Communicator);
  const char* (*error_text)(Result);
  Result (*version)(int*);
};

/// Opens the first of library_files() for this program. Device error: see open_library.
const Functions& functions();

/// "libnccl.so.2", which the loader finds, and then the libraries of PyPI's wheel that exist: next to
/// the package of the Python module `binary`, in the environment whose `bin` has the program
/// `binary`, and in `environment` ($VIRTUAL_ENV; may be null). Relative paths are ignored, because
/// anyone may write to the current folder.
std::vector<std::string> library_files(const std::filesystem::path& binary,
                                       const char* environment);
/// Opens the first file that can be opened. Device error: no file can, or it lacks a function.
Functions open_library(const std::vector<std::string>& files);

}  // namespace wellspring::nccl
