#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::int64_t> alive{0};
std::atomic<std::uint64_t> aligned{0};
}  // namespace

namespace wellspring::test {
std::uint64_t heap_allocation_count() noexcept {
  return allocations.load();
}
std::int64_t heap_blocks_alive() noexcept {
  return alive.load();
}
std::uint64_t aligned_allocation_count() noexcept {
  return aligned.load();
}
}  // namespace wellspring::test

#if !defined(WELLSPRING_SANITIZED)

namespace {

void* take(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  void* const block = alignment <= alignof(std::max_align_t)
                          ? std::malloc(bytes == 0 ? 1 : bytes)
                          : std::aligned_alloc(alignment, size == 0 ? alignment : size);
  if (block == nullptr) throw std::bad_alloc();
  ++alive;
  return block;
}

void give_back(void* block) noexcept {
  if (block != nullptr) --alive;
  std::free(block);
}

}  // namespace

// All other forms of new and delete call these.
void* operator new(std::size_t bytes) {
  return take(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept {
  give_back(block);
}
void operator delete(void* block, std::size_t) noexcept {
  give_back(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  give_back(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  give_back(block);
}

// Shared libraries call this one, too. `alignment` is a power of two and a multiple of a pointer's.
extern "C" int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  ++aligned;
  *block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  return *block == nullptr ? ENOMEM : 0;
}

#endif
