#include "train/evaluation/checkpoint_network.h"

#include "core/error.h"
#include "kernels/batch/batch_columns.h"
#include "sources/normalisation.h"
#include "train/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wellspring {
namespace {

/// The dense labels that the heads learn. The heads come from the model file or, if it does not
/// describe them, from the configuration.
DenseLabels dense_labels(const ModelFile& model, const RunConfig& config) {
  if (!model.description()) return config.dense_labels();
  return std::ranges::any_of(model.description()->heads, &HeadSpec::is_dense) ? DenseLabels::plane
                                                                              : DenseLabels::none;
}

/// The network's input and heads: from the model file or, if it does not describe them, from a run
/// with this configuration. Error (config) if the held-out samples do not fit the input.
SupervisedTask::Input input_of(const ModelFile& model, const RunConfig& config,
                               const SampleLayout& held_out, TrainObserver& observer,
                               const std::optional<std::string>& features) {
  if (!model.description()) {
    const Mixture training = config.open_training(observer.watch());
    return {held_out, SupervisedTask::Input::of(config, training).heads, features};
  }
  if (!held_out.same_input(model.description()->input))
    fail(ErrorKind::config,
         {fmt::format(
              "{} was trained on samples of a different shape: {} in the model, {} held out",
              model.path().string(), to_string(model.description()->input), to_string(held_out)),
          "the network accepts only the shape that it was built for",
          model.description()->input.kind == SampleKind::image && held_out.kind == SampleKind::image
              ? "set data.size to match, or evaluate on other data"
              : "evaluate on data with the same features, in the same order"});
  return {held_out, model.description()->heads, features};
}

/// Scales held-out events and sets as in training, if the model file says how.
void normalise_as(const ModelFile& model, RunConfig& config, Mixture& held_out) {
  if (!model.description() || model.description()->input.kind == SampleKind::image) return;
  adopt_normalisation(config.data, model.description()->input, model.description()->config_yaml,
                      Adopt::defaults_and_auto);
  for (int i = 0; i < held_out.size(); ++i)
    held_out.source(i).normalise(
        config.held_out_from(static_cast<std::size_t>(i)).augmentations.normalisation);
}

/// Refuses an override of data.normalise for sources with their own scaling, which has priority.
void refuse_shared_scaling(const RunConfig& config, const std::string& override_text) {
  if (!override_text.starts_with("data.normalise")) return;
  for (const SourceConfig& source : config.data.sources)
    if (source.augmentations.normalisation.choice == Normalisation::Choice::given)
      fail(ErrorKind::config,
           {fmt::format("command line: {} has no effect", override_text),
            fmt::format("source '{}' has its own normalise: that of training", source.spec.name),
            "leave it out; for other numbers, change normalise in a copy of config.resolved.yaml, "
            "and give its name to `wellspring eval` after the run"});
}

/// A network keeps the heads that it was trained with; only the sources of a head may change.
void refuse_other_heads(const RunConfig& stored, const RunConfig& given,
                        std::span<const std::string> overrides) {
  const auto same = [](const HeadConfig& a, const HeadConfig& b) {
    return a.name == b.name && a.loss == b.loss && a.output == b.output && a.targets == b.targets &&
           a.label_smoothing == b.label_smoothing && a.positives == b.positives &&
           a.cross_entropy == b.cross_entropy && a.weight == b.weight;
  };
  if (std::ranges::equal(stored.heads, given.heads, same)) return;
  for (const std::string& text : overrides)
    if (text.starts_with("heads"))
      fail(ErrorKind::config, {fmt::format("command line: {} has no effect", text),
                               "the network keeps the heads that it was trained with",
                               "leave it out; for other heads, train a network with init.from"});
}

}  // namespace

RunConfig config_of_checkpoint(const std::filesystem::path& where,
                               std::span<const std::string> overrides) {
  const std::filesystem::path file = find_model_file(where);
  RunConfig config = RunConfig::parse(ModelFile(file).described().config_yaml, file.string(), {},
                                      ConfigOrigin::checkpoint);
  // Model files contain no paths; take them from the run folder if the checkpoint is still in one.
  const std::filesystem::path beside =
      file.parent_path().parent_path().parent_path() / "config.resolved.yaml";
  if (std::filesystem::exists(beside)) {
    const RunConfig run = RunConfig::load(beside);
    config.out = run.out;
    config.data.root = run.data.root;
    config.init.from = run.init.from;
  }
  if (overrides.empty()) return config;
  for (const std::string& text : overrides) refuse_shared_scaling(config, text);
  RunConfig given =
      RunConfig::parse(config.to_yaml(), where.string(), overrides, ConfigOrigin::checkpoint);
  refuse_other_heads(config, given, overrides);
  return given;
}

CheckpointNetwork::CheckpointNetwork(const std::filesystem::path& where, RunConfig& config,
                                     TrainObserver& observer,
                                     const std::optional<std::string>& features)
    : model(find_model_file(where)),
      context(single_rank(), config),
      mixture(config.open_held_out(observer.watch(),
                                   features ? DenseLabels::none : dense_labels(model, config))),
      task(config, context, config.compute_type(context.device()),
           input_of(model, config, mixture.layout(), observer, features)) {
  normalise_as(model, config, mixture);
}

void CheckpointNetwork::load(const RunConfig& config) {
  context.memory.commit(config.memory_limit());
  load_weights(model, task.parameters(), context.stream);
}

}  // namespace wellspring
