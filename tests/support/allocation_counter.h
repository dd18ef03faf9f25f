// Counts the heap allocations of this process, for tests that a steady state makes none. Link
// allocation_counter.cpp, which replaces operator new, into the test program. Host only.
#pragma once

#include <cstdint>

namespace wellspring::test {

/// Calls of operator new so far, on all threads. Constant under the sanitizers, which use their own
/// operator new.
std::uint64_t heap_allocation_count() noexcept;
/// Number of blocks from operator new that are not freed yet; also constant under the sanitizers.
std::int64_t heap_blocks_alive() noexcept;

}  // namespace wellspring::test
