// Samples of a generator on the host, a batch at a time: for digests, exports, previews and tests.
// Host only.
#pragma once

#include "generators/generator.h"
#include "kernels/emission/batch_columns.h"
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

/// Some consecutive samples in host memory; rows are samples.
struct HostSamples {
  std::uint64_t first = 0;  ///< sample id of row 0
  BatchView rows;           ///< f32

  std::int64_t count() const { return rows.size; }
  std::span<const float> x() const { return column(rows.x, rows.layout.elements()); }
  std::span<const std::int32_t> label() const { return column(rows.label, 1); }
  std::span<const float> latents() const { return column(rows.latents, rows.layout.latents); }
  std::span<const float> weight() const { return column(rows.weight, 1); }

 private:
  std::span<const float> column(const void* data, std::int64_t width) const {
    return {static_cast<const float*>(data), static_cast<std::size_t>(rows.size * width)};
  }
  std::span<const std::int32_t> column(const std::int32_t* data, std::int64_t width) const {
    return {data, static_cast<std::size_t>(rows.size * width)};
  }
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
  BatchColumns batch_, host_batch_;  ///< one and the same on the CPU
  Planned<Slot> slots_, host_slots_;
};

}  // namespace wellspring
