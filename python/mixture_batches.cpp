#include "python/mixture_batches.h"

#include "core/error.h"
#include "kernels/batch/communicator.h"
#include "train/heads/heads.h"
#include "train/normalised_data.h"
#include "train/step/source_truth.h"

#include "python/process.h"
#include <algorithm>

namespace wellspring::python {

MixtureBatches::MixtureBatches(RunConfig config, int rank, int ranks)
    : config_(std::move(config)),
      share_(share_of(config_.train.batch, rank, ranks)),
      stream_(Device::parse(config_.device), static_cast<int>(config_.threads)),
      mixture_(open_normalised(config_, config_.dense_labels())) {
  if (!config_.data.mix.on()) return;
  const auto truth = training_truth(config_, mixture_);
  const auto heads = make_heads(config_.heads, truth);
  mix_.emplace(config_.data.mix, config_.seed,
               mixed_labels(heads, feed_heads(heads, config_.heads, truth), mixture_.size()));
}

SampleLayout MixtureBatches::layout() const {
  SampleLayout layout = mixture_.layout();
  if (mix_) layout.targets = std::max(layout.targets, mix_->targets());
  return layout;
}

void MixtureBatches::plan() {
  if (memory_)
    fail(ErrorKind::runtime, {"the mixture could not be prepared before", "", "make a new one"});
  memory_ = std::make_unique<MemoryPlan>(stream_.device());
  state_ = memory_->reserve<StepState>("batch", "step", 1);
  mixture_.plan(*memory_, share_, steps());
  if (mix_) mix_->plan(*memory_, share_, layout());
  memory_->commit(config_.memory_limit());
  mixture_.load(stream_);
  ready_ = true;
}

MixtureBatches::Made MixtureBatches::make(std::uint64_t step) {
  expect_own_threads();
  const std::lock_guard lock(turn_);
  if (!ready_) plan();
  Made made{pool_.take(stream_.device(), share_.rows, layout(), ElementType::f32), {}};
  const BatchView batch = made.memory->batch().view;
  BatchView emitted = batch;
  if (mixture_.layout().targets == 0) emitted.target = nullptr;  // only mixing writes it
  StepState state;
  state.step = step;
  mixture_.before_step(stream_, step);
  stream_.copy(state_.data(), &state, sizeof state, CopyDirection::host_to_device, "step");
  mixture_.emit(stream_, state_.data(), emitted);
  if (mix_) mix_->enqueue(stream_, state_.data(), mixture_.slots(), batch);
  stream_.synchronize();
  mixture_.after_step(stream_, step);
  made.slots = mixture_.host_slots(step);
  return made;
}

}  // namespace wellspring::python
