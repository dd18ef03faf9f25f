#include "sources/procedural.h"

#include "kernels/emission/batch_columns.h"

#include <fmt/format.h>

namespace wellspring {

ProceduralSource::ProceduralSource(std::string name, std::unique_ptr<Generator> generator,
                                   Settings settings)
    : name_(std::move(name)), generator_(std::move(generator)), settings_(settings) {
  for (const LatentInfo& latent : generator_->info().latents) latent_names_.push_back(latent.name);
}

std::string ProceduralSource::summary() const {
  return fmt::format("{}: generator {} version {}, {}, {} classes, seed {}, never repeats", name_,
                     generator_->info().name, generator_->info().version, to_string(layout()),
                     classes().size(), settings_.seed);
}

void ProceduralSource::emit(Stream& stream, const Slot* slots, std::uint32_t index,
                            const BatchView& batch) {
  generator_->emit(stream, {slots, index, settings_.seed, settings_.train_view, batch});
}

void ProceduralSource::emit_range(Stream& stream, const Slot* slots, std::uint32_t index,
                                  std::uint64_t /*first*/, std::int64_t /*count*/,
                                  const BatchView& batch) {
  generator_->emit(stream, {slots, index, settings_.seed, settings_.evaluation_view, batch});
}

}  // namespace wellspring
