// Tensors for timed operations, filled with random numbers. Called by the benchmarks; host only.
#pragma once

#include "kernels/random/philox.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::bench {

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

/// Memory for one operation at a time, filled with random numbers: zeros or constant data draw less
/// power and raise measured rates by a tenth.
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
    for (const auto& block : blocks_) {
      const std::vector<std::uint16_t> values = ordinary_numbers(block.bytes(), sample++);
      stream.copy(
          block.data(), values.data(), block.bytes(),
          stream.device().is_cuda() ? CopyDirection::host_to_device : CopyDirection::on_device,
          "values");
      stream.synchronize();
    }
  }

  Stream stream;
  DType compute;

 private:
  MemoryPlan memory_;
  std::vector<Planned<std::byte>> blocks_;
};

}  // namespace wellspring::bench
