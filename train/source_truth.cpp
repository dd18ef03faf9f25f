#include "train/source_truth.h"

#include "generators/generator.h"
#include "sources/dataset.h"

namespace wellspring {
namespace {

SourceTruth truth_of(const RunConfig& config, const SourceSpec& spec, const Source& source) {
  SourceTruth truth;
  truth.name = source.name();
  truth.of = spec.name;
  truth.head = spec.head;
  truth.classes = source.classes();
  truth.loss_weight = spec.loss_weight;
  if (spec.kind == SourceKind::generator) {
    const auto generator =
        make_generator(spec.generator, static_cast<int>(config.data.size), spec.params, spec.place);
    for (const LatentInfo& latent : generator->info().latents)
      truth.latents.push_back({latent.name, latent.unit, latent.low, latent.high});
    for (const ValueInfo& target : generator->info().targets)
      truth.targets.push_back({target.name, target.unit, -1, 1});
  } else if (const Dataset* const rows = source.rows()) {
    for (const LatentInfo& latent : rows->latents())
      truth.latents.push_back({latent.name, latent.unit, latent.low, latent.high});
    for (const ValueInfo& target : rows->targets())
      truth.targets.push_back({target.name, target.unit, -1, 1});
  }
  // Columns that nobody names, as arrays have them.
  for (int i = static_cast<int>(truth.targets.size()); i < source.layout().targets; ++i)
    truth.targets.push_back({"target" + std::to_string(i), "", -1, 1});
  return truth;
}

}  // namespace

std::vector<SourceTruth> training_truth(const RunConfig& config, const Mixture& mixture) {
  std::vector<SourceTruth> truths;
  for (int i = 0; i < mixture.size(); ++i)
    truths.push_back(
        truth_of(config, config.data.sources[static_cast<std::size_t>(i)].spec, mixture.source(i)));
  return truths;
}

std::vector<SourceTruth> held_out_truth(const RunConfig& config, const Mixture& mixture) {
  std::vector<SourceTruth> truths;
  for (int i = 0; i < mixture.size(); ++i) {
    truths.push_back(truth_of(config, config.held_out_from(static_cast<std::size_t>(i)).spec,
                              mixture.source(i)));
    truths.back().loss_weight = 1;
  }
  return truths;
}

}  // namespace wellspring
