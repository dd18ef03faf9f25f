// A source of samples, as the training step sees it. Implemented by generators and data sets,
// called by the mixture; host only.
#pragma once

#include "kernels/augment/augmentation_config.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "sources/datasets/dataset.h"
#include "sources/mixing/assignment.h"
#include "sources/mixing/order.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring {

class Source {
 public:
  using Order = SampleOrder;

  virtual ~Source() = default;

  virtual const std::string& name() const = 0;
  /// Columns that the source writes; a mixture may have wider truth columns.
  virtual SampleLayout layout() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const std::vector<std::string>& latent_names() const = 0;
  /// The rows of a data set; null for a generator.
  virtual const Dataset* rows() const { return nullptr; }
  /// Samples per epoch; 0: endless (generators).
  virtual std::uint64_t size() const = 0;
  /// Id of the first evaluation sample of emit_range. Generators reserve ids that training never
  /// reaches; a data set starts at 0.
  virtual std::uint64_t first_evaluation_sample() const = 0;
  /// A few lines for the start of a run: kind and size of the source, where it is stored, and why.
  virtual std::string summary() const = 0;

  /// Sets the normalisation of events and sets; call it before plan(). For images, normalisation is
  /// part of the augmentation.
  virtual void normalise(const Normalisation& /*values*/) {}
  /// Reserves the source's memory: drawn scenes, tables, a resident data set, staging rings.
  virtual void plan(MemoryPlan& /*plan*/, const Share& /*share*/) {}
  /// Call after MemoryPlan::commit: uploads resident data. Blocks.
  virtual void load(Stream& /*stream*/) {}
  /// Messages from load(), for example about a damaged table that was computed again.
  virtual std::vector<std::string> notes() const { return {}; }

  /// Order of the source's samples, evaluated on the device by the assignment.
  virtual Order order() const = 0;

  /// Enqueues the emission of every slot of this source (`slot.source == index`) through the
  /// training augmentation. Part of the recorded step: it may depend on device memory only.
  virtual void emit(Stream& stream, const Slot* slots, std::uint32_t index,
                    const BatchView& batch) = 0;
  /// Emits samples [first, first + count) without augmentation. `slots` (device memory) already
  /// contain them; see RangeSlots. Not for recorded steps; may block.
  virtual void emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                          std::uint64_t first, std::int64_t count, const BatchView& batch) = 0;

  /// True if rows are read during the run; known after plan().
  virtual bool streams() const { return false; }
  /// Only for sources that stream from files. Called once, after load. `assignment` has its table
  /// in host memory and stays valid as long as the source uses it.
  virtual void start(const SlotAssignment& /*assignment*/, std::uint32_t /*index*/) {}
  /// Called before `count` steps, starting at `step`, are launched together. Makes `stream` wait
  /// until their data is on the device. Throws the data errors of the decoding threads; the caller
  /// may try again with fewer steps.
  virtual void before_step(Stream& /*stream*/, std::uint64_t /*step*/, std::uint64_t /*count*/) {}
  /// Called after these steps were launched on `stream`: frees their data for reuse once the steps
  /// have run.
  virtual void after_step(Stream& /*stream*/, std::uint64_t /*step*/, std::uint64_t /*count*/) {}
};

}  // namespace wellspring
