// Several sources in exact shares: plans who fills which slot of every batch of the run, and makes
// the batches; host only.
//
//     Mixture mixture(seed);
//     mixture.add(make_source(...), {.weight = 0.8});
//     mixture.plan(memory, batch, steps);
//     memory.commit();
//     mixture.load(stream);
//     each step:  before_step, [recorded: emit, ..., end_step], after_step
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

/// How a source takes part.
struct MixtureEntry {
  double weight = 1;  ///< relative to the others'; replaced by a schedule
};

class Mixture {
 public:
  /// `seed` keys the order of slots within batches.
  explicit Mixture(std::uint64_t seed)
      : seed_(seed), host_assignment_(std::make_unique<SlotAssignment>()) {}

  /// Errors (config): a name twice, a layout that no network reads together with the first's, a
  /// weight that is negative or not finite, too many sources; (data): the name of a class is not
  /// UTF-8.
  void add(std::unique_ptr<Source> source, MixtureEntry entry, const ConfigLocation& place = {});
  /// Weights over the run, linear between the points and held before the first and after the last;
  /// every point has a weight for every source, in their order. Errors (config) otherwise, where a
  /// point is out of order or outside of the run, or where its weights are no shares.
  void set_schedule(std::vector<SchedulePoint> points);

  int size() const { return static_cast<int>(sources_.size()); }
  Source& source(int index) { return *sources_[static_cast<std::size_t>(index)]; }
  const Source& source(int index) const { return *sources_[static_cast<std::size_t>(index)]; }
  /// What a row of the batch holds: what all sources write, with room for the targets and latents
  /// of any.
  SampleLayout layout() const;

  /// Deals the slots of the whole run and reserves memory for this rank's share of them; `plan`
  /// must outlive the mixture, whose reading threads write to it. Which sample fills which row of
  /// the global batch depends on nothing else than its size. Errors (config): nothing to mix,
  /// weights that are all zero, a data set without samples.
  void plan(MemoryPlan& plan, const Share& share, std::uint64_t steps);
  /// The same for one rank alone.
  void plan(MemoryPlan& memory, std::int64_t batch, std::uint64_t steps) {
    plan(memory, Share::whole(batch), steps);
  }
  /// After commit: uploads tables and resident data. Blocks.
  void load(Stream& stream);

  void before_step(Stream& stream, std::uint64_t step);
  /// Enqueues the slots of the step in `state` and every source's part of the batch.
  void emit(Stream& stream, const StepState* state, const BatchView& batch);
  void after_step(Stream& stream, std::uint64_t step);

  /// Evaluation: the first `count` rows become samples `first`... of one source's evaluation range,
  /// in plain order, without augmentation; further rows repeat the first. Overwrites
  /// slots(). Not for recorded steps.
  void emit_range(Stream& stream, int source, std::uint64_t first, const BatchView& batch,
                  std::int64_t count);

  /// [rows of the share] on the device: what emit or emit_range wrote last.
  const Slot* slots() const { return slots_.data(); }
  /// Whether a run of `steps` steps has the same slots in its first `until` steps. After plan().
  bool same_assignment(std::uint64_t steps, std::uint64_t until) const;
  /// The same assignment computed on the host.
  std::vector<Slot> host_slots(std::uint64_t step) const;
  /// Samples `source` gave before `step`, and what its weights ask for.
  std::int64_t achieved(std::uint64_t step, int source) const;
  double target(std::uint64_t step, int source) const;
  /// A paragraph for the head of a run: each source, its share asked for and dealt.
  std::string summary() const;

 private:
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<MixtureEntry> entries_;
  std::vector<SchedulePoint> schedule_;

  Share share_;
  std::uint64_t steps_ = 0;
  std::vector<SchedulePoint> points_;  ///< the schedule, or one point of constant weights
  std::unique_ptr<WeightSchedule> weights_;
  SlotTable table_;                                  ///< empty for a single source
  std::unique_ptr<SlotAssignment> host_assignment_;  ///< streaming sources keep a reference
  SlotAssignment device_assignment_;
  Planned<std::int64_t> device_table_;
  Planned<Slot> slots_;
};

}  // namespace wellspring
