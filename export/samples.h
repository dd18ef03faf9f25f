// Host batches of samples, and their production by a generator: plan, load, emit. Called by
// digests, exports, previews and tests; host only.
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

/// The samples with ids [first, first + count) for a seed.
struct SampleRange {
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::vector<float> latents = {};  ///< [count, layout.latents], see given_latents(); empty: drawn
};

/// Settings for making samples. Only `dense` affects the result: it adds a column of dense labels.
struct SampleMaking {
  Device device = Device::cpu();
  std::int64_t batch = 64;
  int threads = 0;  ///< CPU threads; see compute_threads
  DenseLabels dense = DenseLabels::none;
};

/// Consecutive samples in host memory, one per row.
struct HostSamples {
  BatchView rows;               ///< f32
  std::span<const Slot> slots;  ///< [rows] the sample in each row
  /// [rows] image files instead of x; see SampleReader::make_files.
  std::span<const std::vector<std::uint8_t>> files = {};

  std::int64_t count() const { return rows.size; }
  std::span<const float> x() const {
    return column(static_cast<const float*>(rows.x), rows.layout.elements());
  }
  /// Number of items in each set; empty for other kinds.
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
  std::span<const std::uint8_t> mask() const {
    return column<std::uint8_t>(rows.mask, rows.layout.patches);
  }

 private:
  template <class T>
  std::span<const T> column(const T* data, std::int64_t width) const {
    if (data == nullptr) return {};
    return {data, static_cast<std::size_t>(rows.size * width)};
  }
};

/// A batch on the device and on the host; on the CPU both are the same memory.
class HostBatch {
 public:
  void plan(MemoryPlan& memory, const std::string& group, std::int64_t rows,
            const SampleLayout& layout);
  /// Returns the first `rows` rows, to be filled. Resets the batch's overflow.
  BatchView begin(Stream& stream, std::int64_t rows);
  /// Copies the rows to the host and adds their overflow. Blocks.
  BatchView end(Stream& stream, std::int64_t rows);
  /// Overflow of all batches so far.
  const SetOverflow& overflow() const { return overflow_; }

 private:
  BatchColumns made_, host_;
  SetOverflow overflow_;
};

class SampleMaker {
 public:
  /// Plans and loads `generator`, which nothing else may use while the SampleMaker exists. The
  /// batch size is at most `most_rows`, the total number of samples, unless `most_rows` is 0.
  explicit SampleMaker(Generator& generator, const SampleMaking& making = {},
                       std::uint64_t most_rows = 0);

  /// Makes the samples of `range` in order and passes them to `take`, at most `making.batch` at a
  /// time. The next batch overwrites the previous one.
  void make(const SampleRange& range, const std::function<void(const HostSamples&)>& take,
            const AugmentationPlan& augmentation = {});
  /// Columns of a row.
  static SampleLayout layout(const Generator& generator, DenseLabels dense);

  /// Items left out so far because they did not fit into the row of their set.
  SetOverflow overflow() const { return batch_.overflow(); }
  /// The generator's notes for the user.
  const std::vector<std::string>& notes() const { return generator_.notes(); }

 private:
  HostSamples make_batch(const SampleRange& range, std::uint64_t done, std::int64_t count,
                         const AugmentationPlan& augmentation);
  /// Given latents of the samples starting at `done`, in device memory; null: drawn.
  const float* given(const SampleRange& range, std::uint64_t done, std::int64_t count);

  Generator& generator_;
  Stream stream_;
  MemoryPlan memory_;
  HostBatch batch_;
  Planned<Slot> slots_, host_slots_;  ///< the same memory on the CPU
  Planned<float> latents_;            ///< given latents of a batch, on GPUs
};
/// "5 items of 3 samples did not fit into rows of 30 items"; "" if all did.
std::string overflow_text(const SetOverflow& overflow, const SampleLayout& layout);

}  // namespace wellspring
