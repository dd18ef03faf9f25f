#include "kernels/runtime/memory_plan.h"

#include "core/text/text.h"
#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/host_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

namespace wellspring {
namespace {

constexpr std::size_t kGuardBytes = kMemoryGuards ? 64 : 0;
constexpr unsigned char kGuardPattern = 0xA5;
/// The stand-in for a GPU counts the pages that a kernel touches, so its blocks share no pages.
#if WELLSPRING_CUDA_STAND_IN
constexpr std::size_t kLeastAlignment = 4096;
#else
constexpr std::size_t kLeastAlignment = kBlockAlignment;
#endif
constexpr MemorySpace kSpaces[] = {MemorySpace::device, MemorySpace::host};

std::size_t index_of(MemorySpace space) {
  return static_cast<std::size_t>(space);
}

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Size of a block with its guard, rounded up to the alignment.
std::size_t footprint(std::size_t bytes) {
  return round_up(bytes + kGuardBytes, kLeastAlignment);
}

std::atomic<std::uint64_t>& allocation_counter() noexcept {
  static std::atomic<std::uint64_t> counter{0};
  return counter;
}

/// Common interface to the memory of all spaces and back ends. Returns null if there is not enough
/// memory.
void* allocate_block(Device device, MemorySpace space, std::size_t bytes, std::size_t alignment) {
  ++allocation_counter();
#if WELLSPRING_CUDA
  if (device.is_cuda()) {
    const cuda::DeviceScope scope(device.index);
    void* block = nullptr;
    const cudaError_t status = space == MemorySpace::device
                                   ? cudaMalloc(&block, bytes)
                                   : cudaHostAlloc(&block, bytes, cudaHostAllocDefault);
    if (status == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      return nullptr;
    }
    WS_CUDA_CHECK(status);
    return block;
  }
#endif
  static_cast<void>(device);
  static_cast<void>(space);
  return std::aligned_alloc(alignment, round_up(bytes, alignment));
}

void free_block(Device device, MemorySpace space, void* block) noexcept {
#if WELLSPRING_CUDA
  if (device.is_cuda()) {
    if (space == MemorySpace::device) {
      WS_CUDA_REPORT(cudaFree(block));
    } else {
      WS_CUDA_REPORT(cudaFreeHost(block));
    }
    return;
  }
#endif
  static_cast<void>(device);
  static_cast<void>(space);
  std::free(block);
}

/// Fills memory and waits, so that a plan's memory is ready for any stream after commit.
void fill(Device device, MemorySpace space, void* begin, unsigned char value, std::size_t bytes) {
#if WELLSPRING_CUDA
  if (device.is_cuda() && space == MemorySpace::device) {
    const cuda::DeviceScope scope(device.index);
    WS_CUDA_CHECK(cudaMemset(begin, value, bytes));
    WS_CUDA_CHECK(cudaDeviceSynchronize());
    return;
  }
#endif
  static_cast<void>(device);
  static_cast<void>(space);
  std::memset(begin, value, bytes);
}

/// Returns the bytes [begin, begin + bytes) after all work on the device is done.
std::vector<unsigned char> read_back(Device device, MemorySpace space, const void* begin,
                                     std::size_t bytes) {
  std::vector<unsigned char> copy(bytes);
#if WELLSPRING_CUDA
  if (device.is_cuda()) {
    const cuda::DeviceScope scope(device.index);
    WS_CUDA_CHECK(cudaDeviceSynchronize());
    if (space == MemorySpace::device) {
      WS_CUDA_CHECK(cudaMemcpy(copy.data(), begin, bytes, cudaMemcpyDeviceToHost));
      return copy;
    }
  }
#endif
  static_cast<void>(device);
  static_cast<void>(space);
  std::memcpy(copy.data(), begin, bytes);
  return copy;
}

/// Free device memory after the kernels' local memory is subtracted.
std::size_t free_for_blocks(std::size_t free_bytes, std::size_t local) {
  return free_bytes > local ? free_bytes - local : 0;
}

struct GroupTotals {
  std::string name;
  std::size_t bytes[2] = {0, 0};  ///< per MemorySpace
  int blocks = 0;
  std::size_t sum() const { return bytes[0] + bytes[1]; }
};

std::vector<GroupTotals> totals_by_group(std::span<const Reservation> reservations) {
  std::map<std::string, GroupTotals> by_name;
  for (const Reservation& r : reservations) {
    GroupTotals& group = by_name[r.group];
    group.name = r.group;
    group.bytes[index_of(r.space)] += r.bytes;
    ++group.blocks;
  }
  std::vector<GroupTotals> groups;
  for (auto& [name, group] : by_name) groups.push_back(group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const GroupTotals& a, const GroupTotals& b) { return a.sum() > b.sum(); });
  return groups;
}

}  // namespace

namespace detail {

void* committed(const MemoryCell& cell) {
  if (!cell.committed) {
    throw std::logic_error(fmt::format(
        "block '{}' was addressed before its memory plan was committed or after the plan ended",
        cell.name));
  }
  return cell.data;
}

std::size_t checked_bytes(const std::string& group, const std::string& name, std::size_t count,
                          std::size_t size) {
  // Half of the address space: this leaves room for padding and catches negative counts.
  if (count > PTRDIFF_MAX / size) {
    fail(ErrorKind::device,
         {fmt::format("block '{}/{}' of {} elements exceeds the address space", group, name, count),
          "", "use a smaller batch, network or data set"});
  }
  return count * size;
}

}  // namespace detail

MemoryPlan::MemoryPlan(Device device) : device_(device) {}

MemoryPlan::~MemoryPlan() {
  release();
}

std::shared_ptr<detail::MemoryCell> MemoryPlan::reserve_bytes(Reservation reservation) {
  const std::string name = reservation.group + "/" + reservation.name;
  if (committed_) {
    throw std::logic_error(fmt::format("block '{}' was reserved after commit", name));
  }
  reservation.alignment = std::max(reservation.alignment, kBlockAlignment);
  if ((reservation.alignment & (reservation.alignment - 1)) != 0) {
    throw std::logic_error(fmt::format("block '{}' has alignment {}, not a power of two", name,
                                       reservation.alignment));
  }
  std::size_t& total = totals_[index_of(reservation.space)];
  const std::size_t offset = round_up(total, reservation.alignment);
  static_cast<void>(detail::checked_bytes(reservation.group, reservation.name,
                                          offset + reservation.bytes + kGuardBytes, 1));
  total = offset + footprint(reservation.bytes);

  auto cell = std::make_shared<detail::MemoryCell>();
  cell->bytes = reservation.bytes;
  cell->name = name;
  cells_.push_back(cell);
  offsets_.push_back(offset);
  reservations_.push_back(std::move(reservation));
  return cell;
}

std::shared_ptr<detail::MemoryCell> MemoryPlan::reserve_state_bytes(Reservation reservation) {
  const std::string name = reservation.group + "/" + reservation.name;
  if (reservation.persistence == Persistence::none) {
    throw std::logic_error(fmt::format("state block '{}' must be stored or derived", name));
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (reservations_[i].persistence != Persistence::none && cells_[i]->name == name) {
      throw std::logic_error(fmt::format("the name of state block '{}' is used twice", name));
    }
  }
  return reserve_bytes(std::move(reservation));
}

std::vector<StateBlock> MemoryPlan::state() const {
  std::vector<StateBlock> blocks;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (reservations_[i].persistence == Persistence::none) continue;
    blocks.push_back({cells_[i]->name, detail::committed(*cells_[i]), cells_[i]->bytes,
                      reservations_[i].persistence});
  }
  return blocks;
}

void MemoryPlan::expect_kernel(const KernelHandle& kernel) {
  if (committed_)
    throw std::logic_error(fmt::format("{} was announced after commit", kernel.name()));
#if WELLSPRING_CUDA
  if (device_.is_cpu()) return;
  const cuda::DeviceScope scope(device_.index);
  cudaFuncAttributes attributes{};
  cuda::check(cudaFuncGetAttributes(&attributes, kernel.function()), kernel.name(), __FILE__,
              __LINE__);
  stack_bytes_ = std::max(stack_bytes_, attributes.localSizeBytes);
#endif
}

std::size_t MemoryPlan::local_bytes() const {
  if (device_.is_cpu()) return 0;
  // The driver keeps local memory for every thread that can be resident: 2,048 per multiprocessor
  // on compute capability 8.0, 9.0 and 10.0, fewer on others (CUDA C++ Programming Guide, technical
  // specifications). The driver's own 512 bytes per thread are an estimate: NVIDIA gives no figure.
  constexpr std::size_t kThreads = 2048, kOwn = 512;
  return (stack_bytes_ + kOwn) * kThreads *
         static_cast<std::size_t>(describe(device_).multiprocessors);
}

std::size_t MemoryPlan::total_bytes(MemorySpace space) const {
  return totals_[index_of(space)];
}

std::string MemoryPlan::table() const {
  const auto groups = totals_by_group(reservations_);
  std::size_t width = 24;
  for (const GroupTotals& group : groups) width = std::max(width, group.name.size());
  const auto line = [width](std::string_view name, std::string_view device, std::string_view host,
                            std::string_view blocks) {
    return fmt::format("  {:<{}}  {:>10}  {:>10}  {:>6}\n", name, width, device, host, blocks);
  };

  std::string text = fmt::format("memory plan of {}\n", device_.to_string());
  text += line("group", "device", "host", "blocks");
  std::size_t used[2] = {0, 0};
  for (const GroupTotals& group : groups) {
    text += line(group.name, human_bytes(group.bytes[0]), human_bytes(group.bytes[1]),
                 std::to_string(group.blocks));
    for (int i = 0; i < 2; ++i) used[i] += group.bytes[i];
  }
  text += line(kMemoryGuards ? "padding and guards" : "padding", human_bytes(totals_[0] - used[0]),
               human_bytes(totals_[1] - used[1]), "");
  text += line("total", human_bytes(totals_[0]), human_bytes(totals_[1]),
               std::to_string(reservations_.size()));
  const std::size_t local = local_bytes();
  if (local > 0) text += line("local memory of kernels", human_bytes(local), "", "");
  const std::size_t limit =
      limit_bytes_ != 0 ? limit_bytes_ : free_for_blocks(describe(device_).free_bytes, local);
  text += line("available", human_bytes(limit), "", "");
  const HostMemory host = host_memory();
  if (!host.limited_by.empty())
    text += fmt::format("  host memory is limited by {}\n", host.limited_by);
  return text;
}

void MemoryPlan::refuse(MemorySpace space, std::string why) const {
  const auto largest =
      std::max_element(reservations_.begin(), reservations_.end(),
                       [space](const Reservation& a, const Reservation& b) {
                         return (a.space == space ? a.bytes : 0) < (b.space == space ? b.bytes : 0);
                       });
  std::string advice = "use a smaller batch, network or resident data set, or raise the limit";
  if (largest != reservations_.end()) {
    advice += fmt::format("; the largest block is {}/{} with {}", largest->group, largest->name,
                          human_bytes(largest->bytes));
  }
  fail(ErrorKind::device,
       {fmt::format("cannot allocate {} of {} memory on {}", human_bytes(total_bytes(space)),
                    space == MemorySpace::device ? "device" : "host", device_.to_string()),
        std::move(why), advice + "\n" + table()});
}

void MemoryPlan::check(std::size_t limit_bytes) {
  const auto free_text = [](std::uint64_t bytes) { return human_bytes(bytes) + " are free"; };
  const std::size_t device_total = total_bytes(MemorySpace::device);
  const std::size_t host_total = total_bytes(MemorySpace::host);
  limit_bytes_ = limit_bytes;
  if (limit_bytes != 0 && device_total > limit_bytes)
    refuse(MemorySpace::device, "the limit is " + human_bytes(limit_bytes));
  // Reading the limits of this machine takes half a millisecond: longer than a small batch.
  constexpr std::size_t kSmall = std::size_t{16} << 20;
  if (device_.is_cpu() && device_total + host_total <= kSmall) return;
  std::uint64_t host_free = host_memory().available_bytes;
  if (device_.is_cpu()) {  // both spaces use the same memory
    if (device_total > host_free) refuse(MemorySpace::device, free_text(host_free));
    host_free -= device_total;
  } else {
    const std::size_t free_bytes = free_for_blocks(describe(device_).free_bytes, local_bytes());
    if (limit_bytes == 0) limit_bytes_ = free_bytes;
    if (device_total > free_bytes) refuse(MemorySpace::device, free_text(free_bytes));
  }
  if (host_total > host_free) refuse(MemorySpace::host, free_text(host_free));
}

void MemoryPlan::allocate(MemorySpace space) {
  const std::size_t bytes = total_bytes(space);
  if (bytes == 0) return;
  std::size_t alignment = kBlockAlignment;
  for (const Reservation& r : reservations_) {
    if (r.space == space) alignment = std::max(alignment, r.alignment);
  }
  if (device_.is_cuda() && alignment > kBlockAlignment) {
    throw std::logic_error("CUDA memory is aligned to at most 256 bytes");
  }
  void*& base = base_[index_of(space)];
  base = allocate_block(device_, space, bytes, alignment);
  if (base == nullptr) refuse(space, "the allocation failed");
  fill(device_, space, base, 0, bytes);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (reservations_[i].space != space) continue;
    cells_[i]->data = static_cast<std::byte*>(base) + offsets_[i];
    if (kMemoryGuards) {
      const std::size_t size = reservations_[i].bytes;
      fill(device_, space, static_cast<std::byte*>(cells_[i]->data) + size, kGuardPattern,
           footprint(size) - size);
    }
  }
}

void MemoryPlan::commit(std::size_t limit_bytes) {
  if (committed_) throw std::logic_error("a memory plan was committed twice");
  check(limit_bytes);
  try {
    for (const MemorySpace space : kSpaces) allocate(space);
  } catch (...) {
    release();
    throw;
  }
  for (auto& cell : cells_) cell->committed = true;
  committed_ = true;
}

void MemoryPlan::release() noexcept {
  for (auto& cell : cells_) {
    cell->data = nullptr;
    cell->committed = false;
  }
  for (const MemorySpace space : kSpaces) {
    void*& base = base_[index_of(space)];
    if (base != nullptr) free_block(device_, space, base);
    base = nullptr;
  }
}

void MemoryPlan::check_guards() const {
  if (!kMemoryGuards || !committed_) return;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const std::size_t size = reservations_[i].bytes;
    const auto guard =
        read_back(device_, reservations_[i].space, static_cast<std::byte*>(cells_[i]->data) + size,
                  footprint(size) - size);
    const auto hit = std::find_if(guard.begin(), guard.end(),
                                  [](unsigned char byte) { return byte != kGuardPattern; });
    if (hit != guard.end()) {
      throw std::logic_error(fmt::format("a write {} bytes past the end of block '{}' ({})",
                                         hit - guard.begin() + 1, cells_[i]->name,
                                         human_bytes(size)));
    }
  }
}

std::uint64_t device_allocation_count() noexcept {
  return allocation_counter().load();
}

}  // namespace wellspring
