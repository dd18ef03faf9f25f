#include "train/step/source_truth.h"

#include "generators/generator.h"
#include "sources/datasets/dataset.h"

namespace wellspring {
namespace {

/// True if augmentation changes latents of this role and updates their values.
bool moves(LatentRole role) {
  return role != LatentRole::fixed && role != LatentRole::colour && role != LatentRole::unmapped;
}

void add_latents(SourceTruth& truth, const std::vector<LatentInfo>& latents,
                 const Augmentations& augmentations) {
  for (const LatentInfo& latent : latents) {
    truth.latents.push_back({latent.name, latent.unit, latent.low, latent.high});
    const bool moved = moves(latent.role) && !augmentations.list.empty();
    if (latent.low == latent.high && !moved) truth.constants.push_back(latent.name);
  }
}

void add_dense_classes(SourceTruth& truth, const SampleInfo& info) {
  if (!info.plane || info.plane->kind != PlaneInfo::Kind::class_number) return;
  truth.dense_classes = {"background"};
  truth.dense_classes.insert(truth.dense_classes.end(), info.classes.begin(), info.classes.end());
  truth.pixels = info.layout.height * info.layout.width;
}

/// The features of items, with the scaling that their normalisation gives them in a batch.
void add_features(SourceTruth& truth, const std::vector<ValueInfo>& features,
                  const Normalisation& scaling, const SampleLayout& layout) {
  truth.items = layout.items;
  for (std::size_t k = 0; k < features.size(); ++k) {
    const auto of = [k](const std::vector<double>& values) {
      return static_cast<float>(values.size() == 1 ? values[0] : values.at(k));
    };
    const float mean = of(scaling.mean), deviation = of(scaling.std);
    truth.features.push_back(
        {features[k].name, features[k].unit, mean - deviation, mean + deviation});
  }
}

/// The patches of a mask.
void add_patches(SourceTruth& truth, const Augmentations& augmentations,
                 const SampleLayout& layout) {
  for (const AugmentSetting& setting : augmentations.list) {
    const auto* const mask = std::get_if<OperationParams<augment::MaskPatches>>(&setting.params);
    if (mask == nullptr) continue;
    truth.patches = layout.patches;
    truth.patch = mask->patch;
    if (mask->fill == augment::MaskFill::none)
      truth.patch_values = mask->patch * mask->patch * layout.channels;
  }
}

SourceTruth truth_of(const RunConfig& config, const SourceConfig& configured,
                     const Source& source) {
  const SourceSpec& spec = configured.spec;
  SourceTruth truth;
  truth.name = source.name();
  truth.of = spec.name;
  truth.head = spec.head;
  truth.classes = source.classes();
  truth.loss_weight = spec.loss_weight;
  if (spec.kind == SourceKind::generator) {
    const auto generator =
        make_generator(spec.generator, config.data.size, spec.params, spec.place);
    add_latents(truth, generator->info().latents, configured.augmentations);
    for (const ValueInfo& target : generator->info().targets)
      truth.targets.push_back({target.name, target.unit, -1, 1});
    add_dense_classes(truth, generator->info());
    if (source.layout().kind == SampleKind::set)
      add_features(truth, generator->info().features, configured.augmentations.normalisation,
                   source.layout());
  } else if (const Dataset* const rows = source.rows()) {
    add_latents(truth, rows->latents(), configured.augmentations);
    for (const ValueInfo& target : rows->targets())
      truth.targets.push_back({target.name, target.unit, -1, 1});
    if (source.layout().kind == SampleKind::set)
      add_features(truth, rows->features(), configured.augmentations.normalisation,
                   source.layout());
  }
  add_patches(truth, configured.augmentations, source.layout());
  // Columns without a name, for example in arrays.
  for (int i = static_cast<int>(truth.targets.size()); i < source.layout().targets; ++i)
    truth.targets.push_back({"target" + std::to_string(i), "", -1, 1});
  return truth;
}

}  // namespace

std::vector<SourceTruth> training_truth(const RunConfig& config, const Mixture& mixture) {
  std::vector<SourceTruth> truths;
  for (int i = 0; i < mixture.size(); ++i)
    truths.push_back(
        truth_of(config, config.data.sources[static_cast<std::size_t>(i)], mixture.source(i)));
  return truths;
}

std::vector<SourceTruth> held_out_truth(const RunConfig& config, const Mixture& mixture) {
  std::vector<SourceTruth> truths;
  for (int i = 0; i < mixture.size(); ++i) {
    truths.push_back(
        truth_of(config, config.held_out_from(static_cast<std::size_t>(i)), mixture.source(i)));
    truths.back().loss_weight = 1;
  }
  return truths;
}

}  // namespace wellspring
