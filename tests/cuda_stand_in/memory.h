// Memory of the stand-in's device, which the host can touch only while queued work runs. Called by
// the stand-in's runtime, under its lock; host only.
#pragma once

#include <cstddef>
#include <map>

namespace wellspring::stand_in {

/// Blocks that are inaccessible to the whole process (PROT_NONE) unless an Access is alive, so that
/// a host that reads or writes device memory faults as it would with a GPU. Each block ends, up to
/// its alignment, at a page that stays inaccessible: kernels that run past it fault, too.
class DeviceMemory {
 public:
  /// Null when there is not enough. The content is arbitrary: a pattern, so that it is never 0.
  void* allocate(std::size_t bytes);
  /// False when it is no block.
  bool release(void* block);
  /// Whether [begin, begin + bytes) lies in one block.
  bool holds(const void* begin, std::size_t bytes) const;

  /// Opens device memory to the process for as long as it lives; may be nested.
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
    std::size_t page_bytes;  ///< without the last page
  };
  void protect(int protection);

  std::map<const std::byte*, Block> blocks_;
  int open_ = 0;
};

/// Page-locked memory of the host: asynchronous copies are asynchronous with this alone.
class PinnedMemory {
 public:
  void* allocate(std::size_t bytes);
  bool release(void* block);
  bool holds(const void* begin, std::size_t bytes) const;

 private:
  std::map<const std::byte*, std::size_t> blocks_;
};

}  // namespace wellspring::stand_in
