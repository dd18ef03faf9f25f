// The batches of a configured run, step by step, as training makes them. Called by the bindings; host
// only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/mixture.h"
#include "train/config/run_config.h"

#include "python/batch_memory.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::python {

class MixtureBatches {
 public:
  /// Opens the data; memory is planned with the first batch. `rank` makes its part of each batch.
  /// `type`: of x. Errors: as in RunConfig::open_training; (config) if the number of ranks does not
  /// divide the batch, or type u8 for a source whose values are not from 0 to 1.
  MixtureBatches(RunConfig config, int rank, int ranks, ElementType type);

  const RunConfig& config() const { return config_; }
  std::uint64_t steps() const { return static_cast<std::uint64_t>(config_.train.steps); }
  const Mixture& mixture() const { return mixture_; }
  Device device() const { return stream_.device(); }
  SampleLayout layout() const;

  /// The rows of this rank in the batch of `step`. Steps may only increase, because the threads that
  /// read files work ahead.
  struct Made {
    std::shared_ptr<BatchMemory> memory;
    std::vector<Slot> slots;  ///< source and sample of each row
  };
  Made make(std::uint64_t step);

 private:
  void expect_pixels() const;
  void plan();

  std::mutex turn_;
  RunConfig config_;
  Share share_;
  Stream stream_;
  std::unique_ptr<MemoryPlan> memory_;  ///< outlives the mixture, whose threads write to it
  Mixture mixture_;
  std::optional<BatchMix> mix_;  ///< data.mix
  Planned<StepState> state_;
  ElementType type_;
  Planned<float> wide_;  ///< x before it is converted to type_; empty if it is not
  BatchPool pool_;
  bool ready_ = false;  ///< planned and loaded
};

}  // namespace wellspring::python
