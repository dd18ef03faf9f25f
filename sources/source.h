// Where samples come from, as the training step sees it. Called by the mixture; host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/batch.h"
#include "kernels/memory_plan.h"
#include "kernels/stream.h"
#include "kernels/view.h"

namespace wellspring {

class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& name() const = 0;
  virtual SampleShape shape() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual const std::vector<std::string>& latent_names() const = 0;
  /// Samples before it repeats; 0 when it never does (generators).
  virtual std::uint64_t size() const = 0;

  /// Reserves what the source keeps on the device (a resident data set, staging rings).
  virtual void plan(MemoryPlan& plan, std::int64_t batch_size) = 0;
  /// After MemoryPlan::commit: uploads what is resident. Blocks.
  virtual void load(Stream& stream) = 0;

  /// The sample id of the source's `ordinal`-th sample: on the device, inside the assignment, as
  /// data, so that it is a pure function of the step:
  ///   size == 0:  first_sample + ordinal
  ///   size  > 0:  permutation of epoch (ordinal / size) at (ordinal % size), see permutation.h
  struct Order {
    std::uint64_t size = 0;          ///< 0: never repeats
    std::uint64_t first_sample = 0;  ///< added when size is 0
    std::uint64_t seed = 0;          ///< keys the permutation
    bool shuffle = true;
  };
  virtual Order order() const = 0;

  /// Enqueues the emission of every slot of this source (`slot.source == index`); part of the
  /// recorded step, so it may depend on device memory alone.
  virtual void emit(Stream& stream, const Slot* slots, std::uint32_t index,
                    const BatchView& batch) = 0;

  /// Host side of sources that stream from files: called in step order, before step `step` is
  /// launched; `slots` are the host's own computation of the same assignment. Makes `stream` wait
  /// until the data of this step is on the device. Nothing to do for generators and resident data.
  virtual void before_step(Stream& stream, std::uint64_t step, const std::vector<Slot>& slots) = 0;
  virtual void after_step(Stream& stream, std::uint64_t step) = 0;
  /// True when before_step needs the host's slots (streaming sources).
  virtual bool needs_host_slots() const = 0;
};

}  // namespace wellspring
