#include "python/mixture_batches.h"

#include "core/error.h"
#include "kernels/batch/communicator.h"
#include "kernels/ops/narrow.h"
#include "sources/procedural.h"
#include "train/heads/heads.h"
#include "train/normalised_data.h"
#include "train/step/source_truth.h"

#include "python/process.h"
#include <algorithm>
#include <limits>

namespace wellspring::python {

MixtureBatches::MixtureBatches(RunConfig config, int rank, int ranks, ElementType type)
    : config_(std::move(config)),
      share_(share_of(config_.train.batch, rank, ranks)),
      stream_(Device::parse(config_.device), static_cast<int>(config_.threads)),
      mixture_(open_normalised(config_, config_.dense_labels())),
      type_(type) {
  if (type == ElementType::u8) expect_pixels();
  if (!config_.data.mix.on()) return;
  const auto truth = training_truth(config_, mixture_);
  const auto heads = make_heads(config_.heads, truth);
  mix_.emplace(config_.data.mix, config_.seed,
               mixed_labels(heads, feed_heads(heads, config_.heads, truth), mixture_.size()));
}

void MixtureBatches::expect_pixels() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int k = 0; k < mixture_.size(); ++k) {
    const Source& source = mixture_.source(k);
    ValueRange range;  // stored images have 8 bits
    if (source.rows() == nullptr) {
      const SampleInfo& info = static_cast<const ProceduralSource&>(source).generator().info();
      range = {info.low, info.high};
    } else if (source.layout().kind != SampleKind::image) {
      range = {-kInfinity, kInfinity};
    }
    const auto& own = config_.data.sources[static_cast<std::size_t>(k)].augmentations;
    range.normalised = !own.normalisation.is_identity();
    python::expect_pixels(source.name(), range);
  }
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
  if (TypedBatch::empty(share_.rows, layout(), type_).narrow())
    wide_ = memory_->reserve<float>("batch", "x as f32",
                                    static_cast<std::size_t>(share_.rows * layout().elements()));
  memory_->commit(config_.memory_limit());
  mixture_.load(stream_);
  ready_ = true;
}

MixtureBatches::Made MixtureBatches::make(std::uint64_t step) {
  expect_own_threads();
  const std::lock_guard lock(turn_);
  if (!ready_) plan();
  Made made{pool_.take(stream_.device(), share_.rows, layout(), type_), {}};
  const TypedBatch wanted = made.memory->batch();
  BatchView batch = wanted.view;
  if (wanted.narrow()) batch.x = wide_.data();
  BatchView emitted = batch;
  if (mixture_.layout().targets == 0) emitted.target = nullptr;  // only mixing writes it
  StepState state;
  state.step = step;
  mixture_.before_step(stream_, step);
  stream_.copy(state_.data(), &state, sizeof state, CopyDirection::host_to_device, "step");
  mixture_.emit(stream_, state_.data(), emitted);
  if (mix_) mix_->enqueue(stream_, state_.data(), mixture_.slots(), batch);
  if (wanted.narrow())
    ops::narrow(stream_, batch.size * batch.layout.elements(), wide_.data(), type_, wanted.view.x);
  stream_.synchronize();
  mixture_.after_step(stream_, step);
  made.slots = mixture_.host_slots(step);
  return made;
}

}  // namespace wellspring::python
