// Batches of a generator by sample id, in any order, into any memory. Called by the bindings; host
// only.
#pragma once

#include "kernels/augment/augmentation_config.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/assignment.h"
#include "sources/procedural.h"

#include "python/batch_memory.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace wellspring::python {

/// Number of sample ids; the largest id is one less.
inline constexpr std::uint64_t kSampleIds = std::uint64_t{1} << 63;
/// With passes or repeats, ids times repeats are below this, so that no two rows of a pass share an
/// ordinal with each other or with another pass.
inline constexpr std::uint64_t kOrdinals = kViewOrdinals;
/// Number of passes that fit into 64-bit ordinals.
inline constexpr std::int64_t kPasses = std::int64_t{1} << 16;

/// How often samples are made. Copies differ in their augmentation only.
struct Passes {
  std::int64_t epoch = 0;  ///< the augmentation of this pass; that of view `epoch` in training
  std::int64_t repeat =
      1;  ///< copies of each sample in a row, as with `repeats` in a configuration
  bool plain() const { return epoch == 0 && repeat == 1; }
  /// Number of sample ids that batches may have.
  std::uint64_t ids() const {
    return plain() ? kSampleIds : kOrdinals / static_cast<std::uint64_t>(repeat);
  }
};

class GeneratorBatches {
 public:
  struct Settings {
    std::string generator;
    std::vector<ParamSetting> parameters;
    ImageSize size = 64;  ///< ignored for events and sets
    std::uint64_t seed = 0;
    Device device = Device::cpu();
    int threads = 0;  ///< see Stream
    DenseLabels dense = DenseLabels::none;
    Augmentations augmentations;
  };
  /// Errors (config): unknown generator or parameter, dense labels that do not exist, augmentations
  /// of events; (device): no such device.
  explicit GeneratorBatches(const Settings& settings);

  const GeneratorEntry& entry() const { return entry_; }
  const Generator& generator() const { return source_->generator(); }
  SampleLayout layout() const { return source_->layout(); }
  Device device() const { return stream_.device(); }

  /// Memory for a batch that is not the caller's.
  std::shared_ptr<BatchMemory> memory(std::int64_t rows, ElementType type);
  /// Fills `batch` with its samples, from `first`, and waits for the device. Threads may call it at the
  /// same time; they take turns. `latents`: of given_latents(); empty: drawn. Errors (config): type
  /// u8 for samples whose values are not from 0 to 1.
  void make(std::uint64_t first, const TypedBatch& batch, const Passes& passes = {},
            const std::vector<float>& latents = {});
  /// Errors (config): passes or repeats without augmentation, which would be equal.
  void expect_passes_differ(const Passes& passes) const;
  /// Id of the first sample and pass: numbers, or three words in the device's memory (see
  /// DeviceRepeatedSlots).
  struct First {
    std::uint64_t id = 0;
    const std::uint32_t* words = nullptr;
    Passes passes = {};  ///< with words, only its repeat counts
  };
  /// Enqueues the same in the caller's stream (see Stream::borrow) without waiting. Allocates and waits
  /// only if the batch has more rows than any before it, or is the first that is converted. The
  /// caller may capture the stream in a graph: allocation is then an error (config), and the call waits for
  /// batches that were enqueued before.
  void enqueue(First first, const TypedBatch& batch, void* native);
  /// Items that did not fit into the rows of sets, so far. Waits for enqueued batches, but not for graphs.
  SetOverflow overflow();
  /// Messages about tables and limits, after the first batch.
  std::vector<std::string> notes();

 private:
  /// Plans again if the batch has more rows than any before it, or if it is the first that is
  /// converted. Error (config): the stream is captured.
  void reserve(const TypedBatch& batch, const Stream& stream);
  /// The stream's later work waits for enqueued batches.
  void wait_for_enqueued(Stream& stream);
  SetOverflow overflow_so_far();
  void emit(Stream& stream, First first, const TypedBatch& batch,
            const std::vector<float>& latents = {});

  std::mutex turn_;
  const GeneratorEntry& entry_;
  std::unique_ptr<ProceduralSource> source_;
  Stream stream_;
  std::unique_ptr<Stream> borrowed_;  ///< the stream of the latest enqueue()
  Event enqueued_;                    ///< end of the latest batch that enqueue() did not capture
  bool in_flight_ = false;            ///< nothing has waited for enqueued_
  std::unique_ptr<MemoryPlan> plan_;
  bool captured_ = false;                                    ///< graphs use the memory of plan_
  std::vector<std::unique_ptr<MemoryPlan>> captured_plans_;  ///< earlier plans that graphs use
  std::int64_t rows_ = 0;  ///< number of rows that plan_ has room for
  bool augmented_;         ///< has a list of augmentations
  bool normalised_;        ///< the values are not from SampleInfo::low to high
  Planned<float> wide_;    ///< x of batches that are converted; empty before the first
  Planned<Slot> slots_;
  Planned<float> latents_;  ///< given latents, on GPUs
  /// Items left out since plan_ was made, and before.
  Planned<SetOverflow> overflow_;
  SetOverflow before_;
  BatchPool pool_;
};

}  // namespace wellspring::python
