#include "train/step/step.h"

#include "core/measure/trace.h"
#include "train/optimizer/learning_rate.h"
#include "train/step/source_truth.h"

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

/// Enqueues a stage of the step, on the CPU between marks in the trace. A GPU runs it later.
template <class Enqueue>
void traced(Stream& stream, const TraceStage& stage, Enqueue enqueue) {
  const bool marked = Trace::on() && stream.device().is_cpu();
  if (marked) stream.run(NodeKind::host, "trace", [&stage] { Trace::begin(stage); });
  enqueue();
  if (marked) stream.run(NodeKind::host, "trace", [] { Trace::end(); });
}

}  // namespace

void TrainingStep::enqueue(Stream& stream) {
  data(stream);
  learn(stream, made());
}

void TrainingStep::enqueue_data(Stream& stream) {
  data(stream);
  ops::collect_metrics(stream, losses_.measures(), mixture_.slots(), batch().overflow,
                       state_.data(), ring_.view());
}

void TrainingStep::enqueue_kept(Stream& stream, std::size_t k) {
  learn(stream, kept_.empty() ? made() : kept(k));
}

void TrainingStep::keep(Stream& stream, std::size_t k) {
  const auto from = columns_of(batch()), to = columns_of(kept(k).view);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (to[i].data != nullptr)
      stream.copy(to[i].data, from[i].data,
                  static_cast<std::size_t>(batch().size) * from[i].row_bytes(),
                  CopyDirection::on_device, "kept batch");
  stream.copy(kept_[k].slots.data(), mixture_.slots(), kept_[k].slots.bytes(),
              CopyDirection::on_device, "kept slots");
}

StepBatch TrainingStep::kept(std::size_t k) const {
  StepBatch batch = {kept_[k].columns.view(), kept_[k].slots.data()};
  batch.view.overflow = this->batch().overflow;
  return batch;
}

/// Enqueues everything from the batch to the updated parameters.
void TrainingStep::learn(Stream& stream, const StepBatch& batch) {
  for (std::int64_t i = 0; i < passes_; ++i) pass(stream, batch, i);
  if (buckets_) buckets_->join(stream);
  traced(stream, stages::kOptimize, [&] { optimize(stream, batch); });
}

/// Assigns a sample to each row, emits the samples and mixes them.
void TrainingStep::data(Stream& stream) {
  const BatchView batch = this->batch();
  BatchView emitted = batch;
  if (task_.layout().targets == 0) emitted.target = nullptr;  // only mixing needs it
  traced(stream, stages::kPreprocess, [&] {
    mixture_.emit(stream, state_.data(), emitted);
    if (mix_) mix_->enqueue(stream, state_.data(), mixture_.slots(), batch);
  });
}

/// Takes one part of the batch through the network: the loss of each sample for each of its heads,
/// and the gradient of every parameter, added to the gradients of the earlier parts. The last part also
/// enqueues the sums of the gradients over all ranks.
void TrainingStep::pass(Stream& stream, const StepBatch& batch, std::int64_t index) {
  const std::int64_t first = index * rows_.count;
  const BatchView rows = rows_of(batch.view, {first, rows_.count});
  const Slot* const slots = batch.slots + first;
  const Pass pass{stream, rows, slots, state_.data(), PassMode::train};
  traced(stream, stages::kForward, [&] {
    task_.forward(pass);
    const auto layer = task_.output_layer();
    losses_.enqueue(stream, rows, slots, task_.outputs(), task_.output_gradient(), first,
                    layer ? &*layer : nullptr);
  });
  GradientBuckets* const buckets = buckets_ && index + 1 == passes_ ? &*buckets_ : nullptr;
  traced(stream, stages::kBackward, [&] { task_.backward(pass, buckets); });
  if (passes_ == 1 || buckets != nullptr) return;
  const ParameterArena& arena = task_.parameters();
  for (const GradientRange range : {arena.matrices(), arena.vectors()})
    arena.add_gradients(stream, range, index, passes_);
}

/// Computes the gradient norm and clips, sets the learning rate, writes a line of metrics into the ring
/// and increments the step counter; one pass updates the master weights and their working copy.
void TrainingStep::optimize(Stream& stream, const StepBatch& batch) {
  task_.optimize(
      stream, schedule_,
      {losses_.measures(), batch.slots, batch.view.overflow, state_.data(), ring_.view()});
}

TrainingStep::TrainingStep(const RunConfig& config, Mixture& mixture, SupervisedTask& task,
                           RunContext& context, const KeepBatches& keep)
    : mixture_(mixture),
      task_(task),
      rows_{0, context.pass_share().rows},
      passes_(context.passes),
      schedule_(learning_rate_schedule(config)),
      losses_(task.heads(), feed_heads(task.heads(), config.heads, training_truth(config, mixture)),
              mixture.size(), context.share, task.compute(),
              config.data.mix.on() ? HeadLosses::Mode::mixed : HeadLosses::Mode::train,
              context.memory, "activations") {
  MemoryPlan& memory = context.memory;
  SampleLayout layout = task.layout();
  if (config.data.mix.on()) {
    const auto feeds = feed_heads(task.heads(), config.heads, training_truth(config, mixture));
    expect_mixable(config.heads, config.data.mix);
    mix_.emplace(config.data.mix, config.seed, mixed_labels(task.heads(), feeds, mixture.size()));
    mix_->plan(memory, context.share, layout);
    layout.targets = std::max(layout.targets, mix_->targets());
  }
  const std::size_t task_bytes = memory.total_bytes(MemorySpace::device);
  batch_.plan_state(memory, "data", context.share.rows, layout, task.compute());
  step_bytes_ = memory.total_bytes(MemorySpace::device);
  batch_bytes_ = step_bytes_ - task_bytes;
  for (std::size_t k = keep.count(batch_bytes_, step_bytes_); k > 0; --k) {
    KeptBatch& kept = kept_.emplace_back();
    kept.columns.plan(memory, "kept batches", context.share.rows, layout, task.compute());
    kept.slots =
        memory.reserve<Slot>("kept batches", "slots", static_cast<std::size_t>(context.share.rows));
  }
  state_ = memory.reserve_state<StepState>("metrics", "step state", 1);
  // Two windows: one is copied while the other is filled.
  const auto lines = static_cast<std::size_t>(2 * config.train.log_every);
  ring_.lines = memory.reserve_state<ops::StepMetrics>("metrics", "ring", lines);
  ring_.sums = memory.reserve_state<double>(
      "metrics", "sums of the ring", lines * static_cast<std::size_t>(losses_.layout().sums()));
  // The sums of synchronised batch norms are on the main stream, and a communicator has one order.
  BucketSpec spec{.passes = passes_};
  if (config.train.sync_batch_norm) spec.order = StreamBranch::Order::in_line;
  if (context.ranks.size() > 1)
    buckets_.emplace(task.parameters(), context.ranks, context.stream, memory, spec);
}

ops::ScheduleSpec learning_rate_schedule(const RunConfig& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  ops::ScheduleSpec schedule;
  schedule.peak = static_cast<float>(optimizer.lr);
  schedule.floor = static_cast<float>(optimizer.lr * optimizer.floor);
  const auto steps_of = [&](double share) {
    return static_cast<std::uint64_t>(
        std::llround(share * static_cast<double>(config.train.steps)));
  };
  schedule.warmup = steps_of(optimizer.warmup);
  schedule.total = static_cast<std::uint64_t>(config.train.steps);
  schedule.kind = optimizer.schedule;
  schedule.start = static_cast<float>(optimizer.lr * optimizer.start);
  schedule.cooldown = steps_of(optimizer.cooldown);
  schedule.gamma = static_cast<float>(optimizer.gamma);
  schedule.milestones = static_cast<int>(optimizer.milestones.size());
  std::ranges::transform(optimizer.milestones, schedule.milestone, steps_of);
  schedule.beta1 = optimizer.spec.beta1;
  schedule.beta2 = optimizer.spec.beta2;
  return schedule;
}

}  // namespace wellspring
