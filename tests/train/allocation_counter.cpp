#include "tests/train/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace wellspring::testing {
namespace {

std::atomic<std::int64_t> live{0};

}  // namespace

std::int64_t live_allocations() {
  return live;
}

void* counted_malloc(std::size_t bytes) {
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  ++live;
  return memory;
}

void counted_free(void* memory) noexcept {
  if (memory != nullptr) --live;
  std::free(memory);
}

}  // namespace wellspring::testing

// The array forms of the standard library call these.
void* operator new(std::size_t bytes) {
  return wellspring::testing::counted_malloc(bytes);
}
void operator delete(void* memory) noexcept {
  wellspring::testing::counted_free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  wellspring::testing::counted_free(memory);
}
