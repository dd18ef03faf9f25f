// Counts what operator new gave and operator delete has not yet taken back, in the whole test
// program. Host only.
#pragma once

#include <cstdint>

namespace wellspring::testing {

/// Allocations that live now.
std::int64_t live_allocations();

}  // namespace wellspring::testing
