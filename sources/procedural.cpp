#include "sources/procedural.h"

#include "core/text/plural.h"
#include "kernels/batch/batch_columns.h"

#include <fmt/format.h>

namespace wellspring {

ProceduralSource::ProceduralSource(std::string name, std::unique_ptr<Generator> generator,
                                   Settings settings)
    : name_(std::move(name)), generator_(std::move(generator)), settings_(settings) {
  if (!generator_->info().plane) settings_.dense = DenseLabels::none;
  for (const LatentInfo& latent : generator_->info().latents) latent_names_.push_back(latent.name);
}

std::string ProceduralSource::summary() const {
  const SampleInfo& info = generator_->info();
  const std::string repeats = info.distinct == 0
                                  ? "never repeats"
                                  : counted(info.distinct, "different sample") + " and no others";
  return fmt::format("{}: generator {} version {}, {}, {}, seed {}, {}", name_, info.name,
                     info.version, to_string(layout()),
                     counted(classes().size(), "class", "classes"), settings_.seed, repeats);
}

SampleLayout ProceduralSource::layout() const {
  SampleLayout layout = generator_->layout();
  layout.planes = settings_.dense == DenseLabels::plane ? 1 : 0;
  layout.patches = settings_.training.patches();
  if (settings_.luma) layout.channels = 1;
  return layout;
}

void ProceduralSource::plan(MemoryPlan& memory, const Share& share) {
  generator_->plan(memory, share.rows, settings_.dense);
  passes_.plan(memory, name_, share.rows, layout().shape(), settings_.training);
  if (layout().kind != SampleKind::image)
    scaling_.plan(memory, name_, share.rows, layout(), settings_.normalisation);
}

void ProceduralSource::emit(Stream& stream, const Slot* slots, std::uint32_t index,
                            const BatchView& batch, const float* latents) {
  EmitCall call = {
      slots,  index, settings_.seed, settings_.training, passes_.target(scaling_.target(batch)),
      latents};
  generator_->emit(stream, call);
  call.seed = generator_->key(settings_.seed);
  call.batch = batch;
  passes_.finish(StreamLauncher{stream}, call);
  scaling_.finish(stream, call);
}

void ProceduralSource::emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                                  std::uint64_t /*first*/, std::int64_t /*count*/,
                                  const BatchView& batch) {
  EmitCall call = {slots, index, settings_.seed, settings_.evaluation, scaling_.target(batch)};
  generator_->emit(stream, call);
  call.batch = batch;
  scaling_.finish(stream, call);
}

}  // namespace wellspring
