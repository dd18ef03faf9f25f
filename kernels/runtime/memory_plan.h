// Two-phase memory: first all blocks are reserved and printed, then each space is allocated once.
// Pointers never move. Called by all code that owns device memory; host only.
#pragma once

#include "core/error.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel_handle.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

enum class MemorySpace : std::uint8_t {
  device,  ///< memory of the plan's device
  host,    ///< page-locked host memory (ordinary memory in a CPU plan)
};

/// Alignment of every block: the same as for cudaMalloc, enough for wide vector loads.
inline constexpr std::size_t kBlockAlignment = 256;

/// Local memory per thread that every plan makes room for: the default of cudaLimitStackSize (CUDA
/// Runtime API), which kernels of libraries respect. It is more than Wellspring's own kernels need,
/// except those announced with MemoryPlan::expect_kernel.
inline constexpr std::size_t kStackBytes = 1024;

/// Debug and sanitizer builds put guard words after every block; see MemoryPlan::check_guards.
#if !defined(NDEBUG) || defined(WELLSPRING_SANITIZED)
inline constexpr bool kMemoryGuards = true;
#else
inline constexpr bool kMemoryGuards = false;
#endif

/// Lifetime of a block's contents.
enum class Persistence : std::uint8_t {
  none,     ///< written before it is read within a step, or constant after loading
  derived,  ///< state that can be computed from stored state; restored in memory, not written to
            ///< files
  stored,   ///< state that the next step depends on
};

/// A reserved block, for the printed plan.
struct Reservation {
  std::string group;  ///< "parameters", "activations", "data", ...
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = kBlockAlignment;  ///< a power of two, at least kBlockAlignment
  MemorySpace space = MemorySpace::device;
  Persistence persistence = Persistence::none;
};

/// A block of device memory that carries values from step to step. All such blocks of a plan, in
/// reservation order, are the state of the plan's owner. A copy of them is a snapshot; comparing
/// snapshots shows whether two ways of computing a step agree; the stored blocks form a
/// checkpoint.
struct StateBlock {
  std::string name;      ///< "group/name", unique among the plan's state blocks
  void* data = nullptr;  ///< device memory
  std::size_t bytes = 0;
  Persistence persistence = Persistence::stored;
};

namespace detail {
struct MemoryCell {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::string name;        ///< "group/name"
  bool committed = false;  ///< true: the plan is committed and alive, so `data` is valid
};
/// Throws std::logic_error before commit and after the plan has ended.
void* committed(const MemoryCell& cell);
/// Returns count * size. Throws a device error naming the block if the product overflows size_t.
std::size_t checked_bytes(const std::string& group, const std::string& name, std::size_t count,
                          std::size_t size);
}  // namespace detail

/// A typed block of a plan. Its size is known immediately; its address is valid after
/// MemoryPlan::commit. Copies share the block. Do not use it after its plan has ended.
/// Default-constructed: empty.
template <class T>
class Planned {
 public:
  Planned() = default;
  explicit Planned(std::shared_ptr<detail::MemoryCell> cell) : cell_(std::move(cell)) {}
  T* data() const { return cell_ ? static_cast<T*>(detail::committed(*cell_)) : nullptr; }
  std::size_t size() const { return cell_ ? cell_->bytes / sizeof(T) : 0; }
  std::size_t bytes() const { return cell_ ? cell_->bytes : 0; }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  std::shared_ptr<detail::MemoryCell> cell_;
};

class MemoryPlan {
 public:
  explicit MemoryPlan(Device device);
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;

  Device device() const { return device_; }

  template <class T>
  Planned<T> reserve(std::string group, std::string name, std::size_t count,
                     MemorySpace space = MemorySpace::device) {
    const std::size_t bytes = detail::checked_bytes(group, name, count, sizeof(T));
    return Planned<T>(reserve_bytes(
        {std::move(group), std::move(name), bytes, std::max(alignof(T), kBlockAlignment), space}));
  }
  /// Reserves device memory for state (see StateBlock). Throws std::logic_error as reserve_bytes
  /// does, and for a duplicate name or Persistence::none.
  template <class T>
  Planned<T> reserve_state(std::string group, std::string name, std::size_t count,
                           Persistence persistence = Persistence::stored) {
    const std::size_t bytes = detail::checked_bytes(group, name, count, sizeof(T));
    return Planned<T>(reserve_state_bytes({std::move(group), std::move(name), bytes,
                                           std::max(alignof(T), kBlockAlignment),
                                           MemorySpace::device, persistence}));
  }
  /// Blocks reserved with reserve_state, in the order of reservation. Throws std::logic_error
  /// before commit.
  std::vector<StateBlock> state() const;
  /// Reserves an untyped block. Throws std::logic_error after commit.
  std::shared_ptr<detail::MemoryCell> reserve_bytes(Reservation reservation);

  /// On a GPU, makes room for the local memory (stack) of a kernel, which the driver takes from
  /// device memory at the first launch. Call it for kernels that need more than kStackBytes; the
  /// plan makes room for the largest of them. Throws std::logic_error after commit.
  void expect_kernel(const KernelHandle& kernel);
  /// Device memory that the driver takes for local memory; 0 on the CPU.
  std::size_t local_bytes() const;

  /// Bytes reserved in a memory space, including guard words and padding.
  std::size_t total_bytes(MemorySpace space) const;
  /// The plan as a table: one line per group, with the largest first, then the total and the limit.
  std::string table() const;
  /// Checks that the plan fits, before any allocation. Throws a device error, with the table, if it
  /// exceeds `limit_bytes` of device memory (0: no limit), the free device memory less
  /// local_bytes(), or the available host memory. On a CPU, plans of up to 16 MiB are compared with
  /// `limit_bytes` only, because reading the available memory takes longer than a small batch.
  void check(std::size_t limit_bytes = 0);
  /// Calls check(), then makes one zero-filled allocation per space. Throws its errors.
  void commit(std::size_t limit_bytes = 0);
  bool committed() const { return committed_; }
  /// For tests, in debug and sanitizer builds: throws std::logic_error naming a block whose guard
  /// words were overwritten. Waits for the device. No effect in release builds.
  void check_guards() const;
  std::span<const Reservation> reservations() const { return reservations_; }

 private:
  std::shared_ptr<detail::MemoryCell> reserve_state_bytes(Reservation reservation);
  [[noreturn]] void refuse(MemorySpace space, std::string why) const;
  void allocate(MemorySpace space);
  void release() noexcept;

  Device device_;
  std::vector<Reservation> reservations_;
  std::vector<std::shared_ptr<detail::MemoryCell>> cells_;
  std::vector<std::size_t> offsets_;                ///< per block, within its space
  std::array<std::size_t, 2> totals_ = {0, 0};      ///< per MemorySpace
  std::array<void*, 2> base_ = {nullptr, nullptr};  ///< per MemorySpace
  std::size_t stack_bytes_ = kStackBytes;           ///< largest local memory of a thread
  std::size_t limit_bytes_ = 0;                     ///< limit of device memory; 0: the free memory
  bool committed_ = false;
};

/// For tests: number of allocations of device and page-locked memory that this process has made;
/// must not change after step 2 of a run.
std::uint64_t device_allocation_count() noexcept;

}  // namespace wellspring
