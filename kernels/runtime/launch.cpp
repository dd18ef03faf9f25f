#include "kernels/runtime/launch.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace wellspring {
namespace {

/// Maximum number of threads per block, and of blocks in a grid's x dimension (CUDA C++ Programming
/// Guide, table of technical specifications).
constexpr int kMaxBlockThreads = 1024;
constexpr std::int64_t kMaxGrid = 0x7fffffff;

void check_count(std::string_view name, std::int64_t n, std::int64_t most) {
  if (0 <= n && n <= most) return;
  throw std::logic_error(
      fmt::format("launch '{}' over {} elements: a grid has 0 to {}", name, n, most));
}

int teams_of_block(TeamShape shape) {
  return shape.size < kWarp ? kWarp / shape.size : 1;
}

}  // namespace

std::size_t block_scratch_bytes(TeamShape shape) {
  constexpr std::size_t kAlignment = alignof(std::max_align_t);
  const auto teams = static_cast<std::size_t>(teams_of_block(shape));
  if (teams == 1) return shape.scratch_bytes;
  return (shape.scratch_bytes + kAlignment - 1) / kAlignment * kAlignment * teams;
}

void launch_kernel(Stream& stream, const CompiledKernel& kernel, const LaunchShape& shape,
                   const void* parameters, std::size_t bytes) {
  if (shape.blocks < 1 || shape.threads < 1 || shape.teams < 1 ||
      shape.threads > kMaxBlockThreads / shape.teams || bytes > kMaxFunctorBytes ||
      shape.scratch_bytes > scratch_limit(stream.device())) {
    throw std::logic_error(fmt::format(
        "launch '{}': {} blocks of {} x {} threads, {} bytes of scratch and {} of parameters "
        "exceed the limits",
        kernel.name, shape.blocks, shape.threads, shape.teams, shape.scratch_bytes, bytes));
  }
  const bool on_gpu = stream.device().is_cuda();
  if (on_gpu ? kernel.device == nullptr : kernel.host == nullptr) {
    throw std::logic_error(fmt::format("launch '{}': the kernel is not compiled for {}",
                                       kernel.name, stream.device().to_string()));
  }
#if WELLSPRING_CUDA
  if (on_gpu) return cuda::launch_kernel(stream, *kernel.device, shape, parameters, bytes);
#endif
  // Aligned like operator new, so any type may be at the beginning of the block.
  std::vector<std::byte> block(bytes);
  std::memcpy(block.data(), parameters, bytes);
  stream.run(NodeKind::kernel, kernel.name,
             [host = kernel.host, block = std::move(block)] { host(block.data()); });
}

namespace host {

void run_teams(std::int64_t n, int threads, TeamShape shape, const std::int64_t* order,
               void (*call)(const void* f, SoloTeam& team, std::int64_t i), const void* f) {
#pragma omp parallel num_threads(threads) if (n > 1)
  {
    // One scratch block per thread. It is kept between launches, so that the steady state allocates
    // nothing.
    thread_local std::vector<std::max_align_t> block;
    const std::size_t units = shape.scratch_bytes / sizeof(std::max_align_t) + 1;
    if (block.size() < units) block.resize(units);
#pragma omp for schedule(dynamic, 1) nowait
    for (std::int64_t i = 0; i < n; ++i) {
      SoloTeam team({reinterpret_cast<std::byte*>(block.data()), shape.scratch_bytes, 0});
      call(f, team, order == nullptr ? i : order[i]);
    }
  }
}

}  // namespace host

namespace cuda {

LaunchShape map_shape(std::int64_t n, LaunchBound bound) {
  return {(n - 1) / bound.threads + 1, bound.threads, 0};
}

LaunchShape league_shape(std::int64_t n, TeamShape shape) {
  const int teams = teams_of_block(shape);
  return {(n - 1) / teams + 1, shape.size, block_scratch_bytes(shape), teams};
}

}  // namespace cuda

namespace detail {

void check_side(std::string_view name, RunsOn side, Device device) {
  if (side == (device.is_cuda() ? RunsOn::host : RunsOn::device)) {
    throw std::logic_error(fmt::format("launch '{}': it is not compiled for {}", name,
                                       device.is_cuda() ? "devices" : "hosts"));
  }
}

void check_map(std::string_view name, std::int64_t n, LaunchBound bound) {
  check_count(name, n, kMaxGrid * bound.threads);
}

void check_league(std::string_view name, std::int64_t n, TeamShape shape, LaunchBound bound,
                  bool shares_warps, Device device) {
  check_count(name, n, kMaxGrid);
  const bool in_part = shares_warps && shape.size > 0 && shape.size < kWarp &&
                       std::has_single_bit(static_cast<unsigned>(shape.size));
  if (!in_part && (shape.size < kWarp || shape.size > bound.threads || shape.size % kWarp != 0)) {
    throw std::logic_error(
        fmt::format("launch '{}': team size {} is not a multiple of {} in [{}, {}]{}, for which "
                    "its kernel is compiled",
                    name, shape.size, kWarp, kWarp, bound.threads,
                    shares_warps ? " or a smaller power of 2" : ""));
  }
  const std::size_t bytes = block_scratch_bytes(shape);
  if (bytes <= kPortableScratchBytes) return;  // available on every GPU, so the driver is not asked
  const std::size_t limit = device.is_cpu() ? kHostScratchBytes : scratch_limit(device);
  if (bytes > limit) {
    throw std::logic_error(fmt::format("launch '{}': {} bytes of scratch exceed the {} of {}", name,
                                       bytes, limit, device.to_string()));
  }
}

}  // namespace detail

}  // namespace wellspring
