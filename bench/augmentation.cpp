// Cost of augmentation: emission of generated images with the augmentation of published recipes,
// compared with emission of the same images without augmentation.
#include "bench/measure.h"
#include "core/config/config.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation_config.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/end_step.h"
#include "kernels/runtime/memory_plan.h"
#include "sources/mixing/mixup_pass.h"
#include "sources/mixture.h"
#include "sources/procedural.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace wellspring::bench {
namespace {

struct Recipe {
  const char* name;
  const char* augment;  ///< keys of the section `data`
  MixConfig mix = {};
};
const Recipe kRecipes[] = {
    {"crop, flip", "augment: [crop_resize: {scale: [0.08, 1]}, flip_x]"},
    {"crop, flip, colours",
     "augment: [crop_resize: {scale: [0.08, 1]}, flip_x, brightness: 0.4, contrast: 0.4, "
     "saturation: 0.4, hue: 0.1]"},
    {"crop, flip, blur", "augment: [crop_resize: {scale: [0.08, 1]}, flip_x, blur]"},
    {"RandAugment", "augment: [rand_augment: {operations: 2, magnitude: 9}]"},
    {"AugMix", "augment: [augmix]"},
    {"mixup, cutmix", "augment: []", {0.8, 1}},
    // Touvron et al., ICML 2021, table 9; configs/shapes_deit.yaml.
    {"DeiT",
     "augment: [crop_resize: {scale: [0.08, 1], ratio: [0.75, 1.3333]}, flip_x, rand_augment: "
     "{operations: 2, magnitude: 9, deviation: 0.5}, erase_box: {probability: 0.25, fill: noise}]",
     {0.8, 1}},
};

constexpr std::uint64_t kSeed = 0;
constexpr int kImageSide = 224;

/// Training steps without a network: each emits and mixes the next batch.
class EmissionBench {
 public:
  EmissionBench(const GeneratorEntry& entry, const Recipe& recipe, Device device)
      : stream_(device), memory_(device), mixture_(kSeed) {
    const std::int64_t samples = device.is_cuda() ? 1024 : 64;
    const ConfigDocument document = ConfigDocument::parse(recipe.augment, recipe.name);
    Augmentations augmentations;
    read_augmentations(document.root(), augmentations);
    const FrameSize frame = {kImageSide, kImageSide};
    ProceduralSource::Settings settings;
    settings.seed = kSeed;
    settings.training = plan_augmentation(augmentations, frame, frame);
    mixture_.add(std::make_unique<ProceduralSource>(entry.name, entry.make({}, kImageSide),
                                                    std::move(settings)),
                 {});
    SampleLayout layout = mixture_.layout();
    if (recipe.mix.on()) {
      const int classes = static_cast<int>(mixture_.source(0).classes().size());
      mix_.emplace(recipe.mix, kSeed, std::vector<MixedLabels>{{0, classes}});
      layout.targets = mix_->targets();
      mix_->plan(memory_, Share::whole(samples), layout);
    }
    state_ = memory_.reserve<StepState>("bench", "step", 1);
    columns_.plan(memory_, "bench", samples, layout, device.is_cuda() ? DType::bf16 : DType::f32);
    mixture_.plan(memory_, samples, 1);
    memory_.commit();
    mixture_.load(stream_);
  }

  Work work() {
    return {[this] { run(); }, static_cast<double>(columns_.view().size),
            [this] { stream_.synchronize(); }};
  }

 private:
  void run() {
    const BatchView batch = columns_.view();
    BatchView emitted = batch;
    emitted.target = nullptr;
    mixture_.emit(stream_, state_.data(), emitted);
    if (mix_) mix_->enqueue(stream_, state_.data(), mixture_.slots(), batch);
    end_step(stream_, state_.data());
  }

  Stream stream_;
  MemoryPlan memory_;
  Mixture mixture_;
  std::optional<BatchMix> mix_;
  Planned<StepState> state_;
  BatchColumns columns_;
};

}  // namespace

void bench_augmentation(Report& report, const Filter& filter) {
  const GeneratorEntry& entry = find_generator("shapes");
  const Recipe plain = {"as drawn", "augment: []"};
  for (const Recipe& recipe : kRecipes) {
    const std::string name =
        fmt::format("{} {}x{} through {}", entry.name, kImageSide, kImageSide, recipe.name);
    if (!filter.matches(name)) continue;
    EmissionBench augmented(entry, recipe, report.device), as_drawn(entry, plain, report.device);
    report.add(compare(name, "images/s", augmented.work(), {plain.name, as_drawn.work()}));
  }
}

}  // namespace wellspring::bench
