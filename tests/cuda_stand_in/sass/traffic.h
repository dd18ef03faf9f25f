// Counts the memory traffic of a warp's instructions in units of the hardware. Called by the
// operations on memory; host only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wellspring::sass {

struct Traffic {
  std::uint64_t sectors = 0;        ///< units of 32 bytes in global memory
  std::uint64_t bytes_read = 0;     ///< from global memory, sum over all threads
  std::uint64_t bytes_written = 0;  ///< to global memory, also by atomic operations
  std::uint64_t narrow = 0;         ///< accesses of threads to fewer than 4 bytes of global memory
  std::uint64_t local_bytes = 0;    ///< sum over all threads
  std::uint64_t wavefronts = 0;     ///< passes of a warp through shared memory
  std::uint64_t conflicts = 0;      ///< those that other banks would save

  Traffic& operator+=(const Traffic& other);
  Traffic operator-(const Traffic& other) const;
};

/// Addresses of the threads of a warp; `lanes` has a bit for each thread that takes part.
using Addresses = std::array<std::uint64_t, 32>;

/// Distinct sectors of L2 that one instruction touches. None of its accesses, which are aligned and
/// have up to 16 bytes, touches two.
std::uint64_t sectors_of(const Addresses& addresses, std::uint32_t lanes);

struct Passes {
  std::uint64_t wavefronts = 0, conflicts = 0;
};
/// Passes that one instruction needs, and how many of them would not be needed if its words were
/// spread evenly over the banks. In a pass, each of the 32 banks delivers one word of 4 bytes,
/// to any number of threads (CUDA C++ Programming Guide, "Shared Memory" of compute capability 5.x
/// and later). Accesses of 8 bytes are made by half a warp at a time, and of 16 by a quarter.
/// `atomic`: threads that change the same word take turns. This is an upper bound: `calo_gflash` is
/// faster on an H100 than these turns would allow.
Passes passes_of(const Addresses& addresses, std::uint32_t lanes, std::size_t bytes, bool atomic);

}  // namespace wellspring::sass
