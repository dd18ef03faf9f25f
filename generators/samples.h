// Samples of a generator on the host, a batch at a time: for digests, exports, previews and tests.
// Called by the command line; host only.
#pragma once

#include "generators/generator.h"
#include "kernels/memory_plan.h"
#include "kernels/stream.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace wellspring {

/// Which samples: ids [first, first + count) under a seed.
struct SampleRange {
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// How they are made; no byte of them depends on it.
struct SampleMaking {
  Device device = Device::cpu();
  std::int64_t batch = 64;
  int threads = 0;  ///< of the CPU; 0: all
};

/// Some consecutive samples; rows are samples.
struct HostSamples {
  std::uint64_t first = 0;  ///< sample id of row 0
  std::int64_t count = 0;
  std::span<const float> x;  ///< [count, shape]
  std::span<const std::int32_t> label;
  std::span<const float> latents;  ///< [count, latents]
  std::span<const float> weight;
};

class SampleReader {
 public:
  SampleReader(const Generator& generator, std::uint64_t seed, const SampleMaking& making = {});

  /// Makes samples [first, first + count), as they are without a view, and hands them on, at most
  /// `making.batch` at a time, in order. What is handed on is overwritten by the next batch.
  void read(std::uint64_t first, std::uint64_t count,
            const std::function<void(const HostSamples&)>& take);

 private:
  HostSamples make(std::uint64_t first, std::int64_t count);

  const Generator& generator_;
  std::uint64_t seed_;
  Stream stream_;
  MemoryPlan memory_;
  BatchView device_batch_;
  Planned<Slot> slots_;
  // Host copies; unused on the CPU, where the device's memory is the host's.
  std::vector<Slot> host_slots_;
  std::vector<float> x_, latents_, weight_;
  std::vector<std::int32_t> label_;
};

}  // namespace wellspring
