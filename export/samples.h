// Samples on the host, a batch at a time, and those of a generator: plans, loads and emits. For
// digests, exports, previews and tests. Host only.
#pragma once

#include "generators/generator.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

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

/// How they are made, and whether a plane of truth is made beside them; no byte of a sample depends
/// on it.
struct SampleMaking {
  Device device = Device::cpu();
  std::int64_t batch = 64;
  int threads = 0;  ///< of the CPU; see compute_threads
  DenseTruth dense = DenseTruth::none;
};

/// Some consecutive samples in host memory; rows are samples.
struct HostSamples {
  BatchView rows;               ///< f32
  std::span<const Slot> slots;  ///< [rows] which sample each row is

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
  std::span<const float> plane() const {
    return column<float>(rows.plane,
                         std::int64_t{rows.layout.planes} * rows.layout.height * rows.layout.width);
  }

 private:
  template <class T>
  std::span<const T> column(const T* data, std::int64_t width) const {
    return {data, static_cast<std::size_t>(rows.size * width)};
  }
};

/// A batch where it is made and on the host, which are one and the same on the CPU.
class HostBatch {
 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const SampleLayout& layout);
  /// To be filled: its first `rows` rows. Forgets what did not fit into the sets before; planes are
  /// cleared, which not every source fills.
  BatchView begin(Stream& stream, std::int64_t rows);
  /// What was made since, on the host, and what did not fit into it. Blocks.
  BatchView end(Stream& stream, std::int64_t rows);
  /// Of all batches so far.
  const SetOverflow& overflow() const { return overflow_; }

 private:
  BatchColumns made_, host_;
  SetOverflow overflow_;
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
            const AugmentationPlan& augmentation = {});
  /// What a row holds.
  static SampleLayout layout(const Generator& generator, DenseTruth dense);

  /// What did not fit into the rows of a set, of all samples made so far.
  SetOverflow overflow() const { return batch_.overflow(); }
  /// Of the generator: what the user should know.
  const std::vector<std::string>& notes() const { return generator_.notes(); }

 private:
  HostSamples make_batch(std::uint64_t seed, std::uint64_t first, std::int64_t count,
                         const AugmentationPlan& augmentation);

  Generator& generator_;
  Stream stream_;
  MemoryPlan memory_;
  HostBatch batch_;
  Planned<Slot> slots_, host_slots_;  ///< one and the same on the CPU
};

/// "5 items of 3 samples did not fit into rows of 30"; "" where all did.
std::string overflow_text(const SetOverflow& overflow, const SampleLayout& layout);

}  // namespace wellspring
