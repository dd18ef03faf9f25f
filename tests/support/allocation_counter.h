// Counts the heap allocations of this process, to test that a steady state makes none. The test
// program must link allocation_counter.cpp, which replaces operator new and posix_memalign. Host
// only.
#pragma once

#include <cstdint>

namespace wellspring::test {

/// Calls of operator new so far, on all threads. Constant under the sanitizers, which use their own
/// operator new.
std::uint64_t heap_allocation_count() noexcept;
/// Number of blocks from operator new that are not freed yet; also constant under the sanitizers.
std::int64_t heap_blocks_alive() noexcept;
/// Calls of posix_memalign so far, with which oneDNN allocates; also constant under the sanitizers.
std::uint64_t aligned_allocation_count() noexcept;

}  // namespace wellspring::test
