#include "tests/cuda_stand_in/memory.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace wellspring::stand_in {
namespace {

constexpr std::size_t kPage = 4096;
/// "Any address of a variable residing in global memory or returned by one of the memory allocation
/// routines from the driver or runtime API is always aligned to at least 256 bytes" (CUDA C++
/// Programming Guide, "Device Memory Accesses").
constexpr std::size_t kAlignment = 256;
constexpr int kFreshDevice = 0x7b, kFreshHost = 0x6c;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

const std::byte* address(const void* pointer) {
  return static_cast<const std::byte*>(pointer);
}

/// The pages of a block, and where to count them.
struct Watched {
  std::uintptr_t begin, end;
  Footprint* footprint;
};
std::vector<Watched> touched;  ///< read by on_touch

/// Opens the page of a faulting access: first for reading, and for writing once it is written. Any
/// other fault ends the process.
void on_touch(int, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // Bit 1 of a page fault's error code says that it was a write (Intel SDM volume 3, 4.7).
  const bool write = (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
  for (const Watched& block : touched) {
    if (at < block.begin || at >= block.end) continue;
    (write ? block.footprint->written : block.footprint->read) += kPage;
    mprotect(reinterpret_cast<void*>(at / kPage * kPage), kPage,
             write ? PROT_READ | PROT_WRITE : PROT_READ);
    return;
  }
  std::signal(SIGSEGV, SIG_DFL);  // the access repeats, and ends the process
}

/// The last block that begins at or before the address.
template <class Map>
auto block_before(const Map& blocks, const void* begin) {
  auto next = blocks.upper_bound(address(begin));
  return next == blocks.begin() ? blocks.end() : --next;
}

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::size_t used = round_up(bytes, kAlignment), inner = round_up(used, kPage);
  void* const pages =
      mmap(nullptr, inner + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::byte* const begin = static_cast<std::byte*>(pages) + (inner - used);
  blocks_.emplace(begin, Block{bytes, pages, inner});
  if (open_ > 0) mprotect(pages, inner, PROT_READ | PROT_WRITE);
  const Access access(*this);
  std::memset(begin, kFreshDevice, bytes);
  return begin;
}

bool DeviceMemory::release(void* block) {
  const auto found = blocks_.find(address(block));
  if (found == blocks_.end()) return false;
  munmap(found->second.pages, found->second.page_bytes + kPage);
  blocks_.erase(found);
  return true;
}

bool DeviceMemory::holds(const void* begin, std::size_t bytes) const {
  const auto block = block_before(blocks_, begin);
  return block != blocks_.end() && address(begin) + bytes <= block->first + block->second.bytes;
}

std::size_t DeviceMemory::used() const {
  std::size_t bytes = 0;
  for (const auto& [begin, block] : blocks_) bytes += block.bytes;
  return bytes;
}

void DeviceMemory::measure(const std::function<void()>& work, Footprint& footprint) {
  touched.clear();
  for (const auto& [begin, block] : blocks_) {
    const auto first = reinterpret_cast<std::uintptr_t>(block.pages);
    touched.push_back({first, first + block.page_bytes, &footprint});
  }
  protect(PROT_NONE);
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_touch;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  work();
  sigaction(SIGSEGV, &before, nullptr);
  protect(PROT_READ | PROT_WRITE);
}

void DeviceMemory::protect(int protection) {
  for (const auto& [begin, block] : blocks_) mprotect(block.pages, block.page_bytes, protection);
}

DeviceMemory::Access::Access(DeviceMemory& memory) : memory_(memory) {
  if (memory_.open_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}

DeviceMemory::Access::~Access() {
  if (--memory_.open_ == 0) memory_.protect(PROT_NONE);
}

void* PinnedMemory::allocate(std::size_t bytes) {
  void* const block = std::aligned_alloc(kPage, round_up(bytes, kPage));
  if (block == nullptr) return nullptr;
  std::memset(block, kFreshHost, bytes);
  blocks_.emplace(address(block), bytes);
  return block;
}

bool PinnedMemory::release(void* block) {
  if (blocks_.erase(address(block)) == 0) return false;
  std::free(block);
  return true;
}

bool PinnedMemory::holds(const void* begin, std::size_t bytes) const {
  const auto block = block_before(blocks_, begin);
  return block != blocks_.end() && address(begin) + bytes <= block->first + block->second;
}

}  // namespace wellspring::stand_in
