// Where samples come from, as the training step sees it; host only.
#pragma once

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
  /// What it writes of a row; a mixture may ask for wider truth columns.
  virtual SampleLayout layout() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const std::vector<std::string>& latent_names() const = 0;
  /// The rows of a data set; null for what is made as it is needed.
  virtual const Dataset* rows() const { return nullptr; }
  /// Samples before it repeats; 0 when it never does (generators).
  virtual std::uint64_t size() const = 0;
  /// Where evaluation starts: the id of the first sample of emit_range. Generators keep ids apart
  /// that training never reaches; a data set starts at 0.
  virtual std::uint64_t first_evaluation_sample() const = 0;
  /// A few lines for the head of a run: what it is, how much, where it is kept and why.
  virtual std::string summary() const = 0;

  /// Reserves what the source keeps on the device: drawn scenes, tables, a resident data set,
  /// staging rings.
  virtual void plan(MemoryPlan& /*plan*/, const Share& /*share*/) {}
  /// After MemoryPlan::commit: uploads what is resident. Blocks.
  virtual void load(Stream& /*stream*/) {}
  /// What load() found worth telling: a table that was damaged and made anew.
  virtual std::vector<std::string> notes() const { return {}; }

  /// Sample id of the source's n-th sample, as data: evaluated on the device by the assignment.
  virtual Order order() const = 0;

  /// Enqueues the emission of every slot of this source (`slot.source == index`) through the
  /// training augmentation; part of the recorded step, so it may depend on device memory alone.
  virtual void emit(Stream& stream, const Slot* slots, std::uint32_t index,
                    const BatchView& batch) = 0;
  /// Emits samples [first, first + count) without augmentation; `slots` (device memory)
  /// hold them already, see RangeSlots. Outside of recorded steps; may block.
  virtual void emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                          std::uint64_t first, std::int64_t count, const BatchView& batch) = 0;

  /// Host side of sources that stream from files; generators and resident data do nothing.
  /// Once, after load: `assignment` has its table in host memory and outlives the source's use.
  virtual void start(const SlotAssignment& /*assignment*/, std::uint32_t /*index*/) {}
  /// Before step `step` is launched: makes `stream` wait until the step's data is on the device.
  /// Errors (data) of the decoding threads come out here.
  virtual void before_step(Stream& /*stream*/, std::uint64_t /*step*/) {}
  /// After step `step` was launched on `stream`: its data may be overwritten once that is done.
  virtual void after_step(Stream& /*stream*/, std::uint64_t /*step*/) {}
};

}  // namespace wellspring
