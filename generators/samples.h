// Samples of a generator on the host, a batch at a time: plans, loads and emits. For digests,
// exports, previews and tests. Host only.
#pragma once

#include "generators/generator.h"
#include "kernels/emission/batch_columns.h"
#include "kernels/memory_plan.h"
#include "kernels/stream.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
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
  std::span<const float> x() const {
    return column(static_cast<const float*>(rows.x), rows.layout.elements());
  }
  /// Items of each set; empty for other kinds.
  std::span<const std::int32_t> items() const {
    return column<std::int32_t>(rows.count, rows.count == nullptr ? 0 : 1);
  }
  std::span<const float> globals() const {
    return column<float>(rows.globals, rows.layout.globals);
  }
  std::span<const std::int32_t> label() const { return column<std::int32_t>(rows.label, 1); }
  std::span<const float> target() const { return column<float>(rows.target, rows.layout.targets); }
  std::span<const float> latents() const {
    return column<float>(rows.latents, rows.layout.latents);
  }
  std::span<const float> weight() const { return column<float>(rows.weight, 1); }

 private:
  template <class T>
  std::span<const T> column(const T* data, std::int64_t width) const {
    return {data, static_cast<std::size_t>(rows.size * width)};
  }
};

class SampleMaker {
 public:
  /// Plans and loads `generator`, which it must have to itself while it lives. Batches are never
  /// larger than `most_rows`, where that is given: what is asked for in all.
  explicit SampleMaker(Generator& generator, const SampleMaking& making = {},
                       std::uint64_t most_rows = 0);

  /// Makes the samples of `range` and hands them on, at most `making.batch` at a time, in order.
  /// What is handed on is overwritten by the next batch.
  void make(const SampleRange& range, const std::function<void(const HostSamples&)>& take,
            const ViewSpec& view = {});

  /// What did not fit into the rows of a set, of all samples made so far.
  SetOverflow overflow() const { return overflow_; }
  /// Of the generator: what the user should know.
  const std::vector<std::string>& notes() const { return generator_.notes(); }

 private:
  HostSamples make_batch(std::uint64_t seed, std::uint64_t first, std::int64_t count,
                         const ViewSpec& view);

  Generator& generator_;
  Stream stream_;
  MemoryPlan memory_;
  BatchColumns batch_, host_batch_;  ///< one and the same on the CPU
  Planned<Slot> slots_, host_slots_;
  SetOverflow overflow_;
};

/// "5 items of 3 samples did not fit into rows of 30"; "" where all did.
std::string overflow_text(const SetOverflow& overflow, const SampleLayout& layout);

}  // namespace wellspring
