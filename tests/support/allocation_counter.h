// Counts what this process takes from the heap, for tests that a steady state takes nothing. Link
// allocation_counter.cpp into the test program, which replaces operator new. Host only.
#pragma once

#include <cstdint>

namespace wellspring::test {

/// Calls of operator new so far, on all threads. Stands still under the sanitizers, which bring
/// their own operator new.
std::uint64_t heap_allocation_count() noexcept;
/// Blocks taken by operator new and not given back yet; stands still likewise.
std::int64_t heap_blocks_alive() noexcept;

}  // namespace wellspring::test
