// A mixture of sources in exact shares: plans which sample fills each row of every batch, and makes
// the batches. Called by training and evaluation; host only.
//
//     Mixture mixture(seed);
//     mixture.add(make_source(...), {.weight = 0.8});
//     mixture.plan(memory, batch, steps);
//     memory.commit();
//     mixture.load(stream);
//     each launch of one step or several:  before_step, [recorded: emit, ..., end_step], after_step
#pragma once

#include "core/config/params.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"
#include "sources/mixing/assignment.h"
#include "sources/mixing/mixture_schedule.h"
#include "sources/source.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// Settings of a source within the mixture.
struct MixtureEntry {
  double weight = 1;  ///< relative to the other sources' weights; a schedule replaces it
};

class Mixture {
 public:
  /// `seed`: key of the order of rows within batches.
  /// `views`: number of rows that each sample fills, each with its own augmentation.
  explicit Mixture(std::uint64_t seed, std::uint32_t views = 1)
      : seed_(seed), views_(views), host_assignment_(std::make_unique<SlotAssignment>()) {}

  /// Throws a config error for a duplicate name, a layout that differs from the first source's, an
  /// invalid weight, or too many sources; a data error for a class name that is not UTF-8.
  void add(std::unique_ptr<Source> source, MixtureEntry entry, const ConfigLocation& place = {});
  /// Weights over the run: linear between the points, constant before the first and after the last.
  /// Every point has one weight per source, in source order. Throws config errors for a missing
  /// weight, a point out of order or outside the run, or weights that are not shares.
  void set_schedule(std::vector<SchedulePoint> points);

  int size() const { return static_cast<int>(sources_.size()); }
  Source& source(int index) { return *sources_[static_cast<std::size_t>(index)]; }
  const Source& source(int index) const { return *sources_[static_cast<std::size_t>(index)]; }
  /// Layout of a row of the batch: the sources' common input, with the largest number of targets,
  /// latents and dense labels.
  SampleLayout layout() const;

  /// Assigns the rows of the whole run and reserves memory for this rank's share; `plan` must
  /// outlive the mixture, whose reading threads write to it. The assignment depends on the size of
  /// the global batch, not on the number of ranks. Throws config errors if there is no source, all
  /// weights are zero, a data set is empty, or views cannot be made or divided among ranks.
  void plan(MemoryPlan& plan, const Share& share, std::uint64_t steps);
  /// The same for a single rank.
  void plan(MemoryPlan& memory, std::int64_t batch, std::uint64_t steps) {
    plan(memory, Share::whole(batch), steps);
  }
  /// Call after commit: uploads tables and resident data. Blocks.
  void load(Stream& stream);

  /// `count`: steps that are launched together.
  void before_step(Stream& stream, std::uint64_t step, std::uint64_t count = 1);
  /// Enqueues the slots of the step in `state` and every source's part of the batch.
  void emit(Stream& stream, const StepState* state, const BatchView& batch);
  void after_step(Stream& stream, std::uint64_t step, std::uint64_t count = 1);

  /// Evaluation: fills `count` rows with samples of one source's evaluation range, starting at
  /// `first`, in plain order, without augmentation; further rows repeat the first. Overwrites
  /// slots(). Not for recorded steps.
  void emit_range(Stream& stream, int source, std::uint64_t first, const BatchView& batch,
                  std::int64_t count);

  /// [rows of the share] on the device, written by emit and emit_range.
  const Slot* slots() const { return slots_.data(); }
  /// True if a run of `steps` steps has the same slots in its first `until` steps. Requires plan().
  bool same_assignment(std::uint64_t steps, std::uint64_t until) const;
  /// The slots of a step, computed on the host.
  std::vector<Slot> host_slots(std::uint64_t step) const;
  /// Rows that `source` filled before `step`, and the number that its weights call for.
  std::int64_t achieved(std::uint64_t step, int source) const;
  double target(std::uint64_t step, int source) const;
  /// Notes of all sources, after load().
  std::vector<std::string> notes() const;

 private:
  /// Throws a config error if `share` splits a sample's views, or if the views would be identical.
  void expect_views(const Share& share) const;

  std::uint64_t seed_;
  std::uint32_t views_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<MixtureEntry> entries_;
  std::vector<SchedulePoint> schedule_;

  Share share_;
  std::uint64_t steps_ = 0;
  std::vector<SchedulePoint> points_;  ///< the schedule, or one point with constant weights
  std::unique_ptr<WeightSchedule> weights_;
  SlotTable table_;                                  ///< empty for a single source
  std::unique_ptr<SlotAssignment> host_assignment_;  ///< streaming sources keep a reference
  SlotAssignment device_assignment_;
  Planned<std::int64_t> device_table_;
  Planned<Slot> slots_;
};

}  // namespace wellspring
