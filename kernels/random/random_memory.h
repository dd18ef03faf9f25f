// Tensors for timed operations, filled with random numbers. Called by the benchmarks and by the
// choice of convolution plans; host only.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring {

/// `bytes` bytes of random numbers, different for each `sample`. Read as bf16 or f32, they have
/// both signs and magnitudes from 2^-7 to 2.
inline std::vector<std::uint16_t> ordinary_numbers(std::size_t bytes, std::uint64_t sample) {
  std::vector<std::uint16_t> halves((bytes + 1) / 2);
  RngStream draw({1, sample}, Purpose::texture);
  for (std::uint16_t& half : halves) {
    const std::uint32_t word = draw.next();
    half = static_cast<std::uint16_t>((word & 0x8000u) | (0x3c00u + (word & 0x3ffu)));
  }
  return halves;
}

/// Memory for one operation at a time, filled with random numbers: zeros or constant data would
/// draw less power and raise measured rates by a tenth.
class RandomMemory {
 public:
  explicit RandomMemory(Device device)
      : stream(device), compute(device.is_cuda() ? DType::bf16 : DType::f32), memory_(device) {}

  Planned<std::byte> tensor(std::int64_t elements) { return bytes(elements * size_of(compute)); }
  Planned<std::byte> floats(std::int64_t elements) { return bytes(elements * sizeof(float)); }
  Planned<std::byte> bytes(std::size_t count) {
    blocks_.push_back(
        memory_.reserve<std::byte>("bench", "tensor", std::max<std::size_t>(count, 1)));
    return blocks_.back();
  }
  void commit() {
    memory_.commit();
    std::uint64_t sample = 0;
    for (const auto& block : blocks_) fill(block, sample++);
  }

  Stream stream;
  DType compute;

 private:
  /// Large blocks repeat their first part.
  void fill(const Planned<std::byte>& block, std::uint64_t sample) {
    constexpr std::size_t kPart = std::size_t{4} << 20;
    const std::vector<std::uint16_t> values =
        ordinary_numbers(std::min(block.bytes(), kPart), sample);
    for (std::size_t begin = 0; begin < block.bytes(); begin += kPart) {
      stream.copy(
          block.data() + begin, values.data(), std::min(kPart, block.bytes() - begin),
          stream.device().is_cuda() ? CopyDirection::host_to_device : CopyDirection::on_device,
          "values");
    }
    stream.synchronize();
  }

  MemoryPlan memory_;
  std::vector<Planned<std::byte>> blocks_;
};

}  // namespace wellspring
