// NCCL's functions, loaded when a run with several GPUs first asks for them, so that other runs do
// not need the library. Declared here as in nccl.h of NCCL 2 (its interface has been stable since
// 2.4). Host only.
#pragma once

#include <array>
#include <cstddef>

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

/// Opens libnccl.so.2. Device error: it is not found, or does not have all functions.
const Functions& functions();

}  // namespace wellspring::nccl
