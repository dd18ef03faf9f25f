// Passes samples through a network and copies its outputs to the host. Called by the evaluation and
// by predictions; host only.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/mixture.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <functional>

namespace wellspring {

/// Consecutive samples of one source on the host: the outputs of the network and their truth.
struct PredictedRows {
  int source = 0;           ///< index in the mixture
  std::uint64_t first = 0;  ///< held-out samples of the source before these
  std::int64_t count = 0;
  std::int32_t width = 0;          ///< outputs of all heads together
  const float* outputs = nullptr;  ///< [count, width]
  BatchView truth = {};            ///< columns label, target, weight, latents and, for sets, count
};

/// Error (data) with the source and the first sample if an output is infinite or NaN.
void require_finite_outputs(const PredictedRows& rows, const Mixture& mixture);

/// Held-out samples [first, end) of a source.
struct HeldOutRange {
  std::uint64_t first = 0, end = 0;
};

class NetworkPass {
 public:
  /// Plans a batch of the network's rows and its host copy. `layout`: layout of the samples.
  void plan(MemoryPlan& memory, const SampleLayout& layout, const SupervisedTask& task);

  struct Uses {
    /// Enqueues further work on a batch, of which the first `count` rows are samples.
    std::function<void(const BatchView& batch, std::int64_t count)> on_device = {};
    std::function<void(const PredictedRows& rows)> on_host = {};
    std::function<void(std::uint64_t done)> progress = {};
  };
  /// Passes a source's held-out samples. Blocks. A signal throws Interrupted between two batches.
  void run(Stream& stream, SupervisedTask& task, Mixture& mixture, int source, HeldOutRange samples,
           const Uses& uses);

 private:
  BatchColumns batch_, host_;
  Planned<float> outputs_;  ///< on the host
  std::int32_t width_ = 0;
};

}  // namespace wellspring
