// Counts the blocks of random numbers that host code draws. For tests; host only. Only debug and
// sanitizer builds count; tests that need the count skip in other builds.
#pragma once

#include "kernels/random/philox.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace wellspring::test {

/// Number of random blocks that `work` draws.
inline std::uint64_t blocks_drawn_by([[maybe_unused]] const std::function<void()>& work) {
#if WS_COUNTS_DRAWS
  const std::uint64_t before = detail::blocks_drawn;
  work();
  return detail::blocks_drawn - before;
#else
  return 0;
#endif
}

}  // namespace wellspring::test

#if WS_COUNTS_DRAWS
#define SKIP_UNLESS_DRAWS_ARE_COUNTED() static_cast<void>(0)
#else
#define SKIP_UNLESS_DRAWS_ARE_COUNTED() \
  GTEST_SKIP() << "draws are counted in debug and sanitizer builds: ./test --preset asan"
#endif
