// Memory of the stand-in's device, which the host can access only while queued work runs. Called by
// the stand-in's runtime, which holds its lock; host only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>

namespace wellspring::stand_in {

/// Blocks that are inaccessible to the whole process (PROT_NONE) unless an Access is alive: a host
/// that reads or writes device memory faults, as with a GPU. A page that is always inaccessible
/// follows each block (up to alignment), so kernels that run past the end fault, too.
class DeviceMemory {
 public:
  /// Returns null if memory is exhausted. The content is a pattern that is never 0.
  void* allocate(std::size_t bytes);
  /// Returns false if the pointer is not a block.
  bool release(void* block);
  /// True if [begin, begin + bytes) is inside one block.
  bool holds(const void* begin, std::size_t bytes) const;

  /// Bytes of all blocks.
  std::size_t used() const;

  /// Runs work with access to device memory and counts the bytes of the pages that it touches; see
  /// Footprint. The work runs on this thread only.
  void measure(const std::function<void()>& work, Footprint& footprint);

  /// Gives the process access to device memory for its lifetime; may be nested.
  class Access {
   public:
    explicit Access(DeviceMemory& memory);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    DeviceMemory& memory_;
  };

 private:
  struct Block {
    std::size_t bytes;
    void* pages;
    std::size_t page_bytes;  ///< excluding the guard page
  };
  void protect(int protection);

  std::map<const std::byte*, Block> blocks_;
  int open_ = 0;
};

/// Page-locked host memory. Copies are asynchronous only if they use it.
class PinnedMemory {
 public:
  void* allocate(std::size_t bytes);
  bool release(void* block);
  bool holds(const void* begin, std::size_t bytes) const;

 private:
  std::map<const std::byte*, std::size_t> blocks_;
};

}  // namespace wellspring::stand_in
