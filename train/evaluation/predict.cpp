#include "train/evaluation/predict.h"

#include "core/error.h"
#include "core/text/text.h"
#include "kernels/batch/batch_columns.h"
#include "sources/files/format.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_file.h"
#include "train/config/files_read.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/network_pass.h"
#include "train/evaluation/prediction_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wellspring {
namespace {

/// The held-out source whose settings apply, or one made from a training source.
EvaluationSourceConfig chosen(const RunConfig& config, const std::string& like) {
  std::vector<EvaluationSourceConfig> known = config.evaluation.sources;
  for (const SourceConfig& source : config.data.sources) {
    known.emplace_back();
    known.back().of = known.back().name = source.spec.name;
  }
  if (!like.empty()) {
    const auto found = std::ranges::find(known, like, &EvaluationSourceConfig::name);
    if (found != known.end()) return *found;
    std::vector<std::string> names;
    for (const EvaluationSourceConfig& source : known)
      if (std::ranges::count(names, source.name) == 0) names.push_back(source.name);
    fail(ErrorKind::config, {fmt::format("command line: the run has no source '{}'", like), "",
                             name_advice(like, names)});
  }
  for (std::size_t k = 0; k < config.evaluation.sources.size(); ++k)
    if (config.held_out_from(k).spec.kind == SourceKind::files) return known[k];
  return known.front();
}

/// True for settings that apply only to the run's own files: their labels, targets and split.
bool belongs_to_file(const std::string& key) {
  static const std::vector<std::string> keys = {"split",   "labels",      "label",
                                                "classes", "class_names", "latents"};
  return std::ranges::count(keys, key) > 0;
}

/// Makes the files the only held-out source of `config`.
void hold_out(RunConfig& config, const PredictOptions& options, const SampleLayout& input) {
  EvaluationSourceConfig source = chosen(config, options.like);
  const auto trained = std::ranges::find(config.data.sources, source.of,
                                         [](const auto& entry) { return entry.spec.name; });
  SourceSpec& spec = trained->spec;
  const std::string format =
      options.format.empty() ? format_of(options.data).name : find_format(options.format).name;
  check_format_settings(format, options.settings);
  const std::vector<std::string> keys = format_keys(format);
  std::vector<ParamSetting> settings;
  if (spec.kind == SourceKind::files) settings = spec.params;
  settings.insert(settings.end(), source.params.begin(), source.params.end());
  std::erase_if(settings, [&](const ParamSetting& setting) {
    return belongs_to_file(setting.name) || std::ranges::count(keys, setting.name) == 0;
  });
  // A network reads sets of a fixed number of items, even if all sets of the file are smaller.
  if (input.kind == SampleKind::set && std::ranges::count(keys, "items") > 0)
    settings.push_back({"items", std::to_string(input.items)});
  settings.insert(settings.end(), options.settings.begin(), options.settings.end());
  spec.kind = SourceKind::files;
  spec.format = format;
  spec.params.clear();
  spec.labelled = false;
  config.data.root = "";
  source.name = options.data.filename().empty() ? options.data.parent_path().filename().string()
                                                : options.data.filename().string();
  source.path = options.data.string();
  source.rows = "";
  source.params = std::move(settings);
  config.evaluation.sources = {std::move(source)};
}

/// Compares the files with the network's input, before normalisation. Returns a note if the values
/// are already normalised; otherwise "". Error (data): a different kind of samples, or different
/// columns.
std::string check_samples(const RunConfig& config, const SampleLayout& input) {
  const EvaluationSourceConfig& source = config.evaluation.sources.front();
  const std::string& format = config.held_out_from(0).spec.format;
  // Only the array formats, which have this key, contain samples other than images.
  const std::vector<std::string> keys = format_keys(format);
  if (input.kind == SampleKind::image && std::ranges::count(keys, "channels") == 0) return "";
  const auto rows = open_dataset({.path = source.path,
                                  .settings = source.params,
                                  .place = {"command line"},
                                  .format = format,
                                  .labelled = false});
  const SampleLayout found = rows->layout().sample;
  const bool images = found.kind == SampleKind::image;
  const auto named = [](const SampleLayout& layout) {
    return (layout.kind == SampleKind::set ? "a " : "an ") + to_string(layout);
  };
  if (found.kind != input.kind ||
      (!images && (found.features != input.features || found.globals != input.globals)))
    fail(ErrorKind::data,
         {fmt::format("{}: the network cannot read these samples", source.path),
          fmt::format("each one is {}, but the network reads {}", named(found), named(input)),
          found.kind != input.kind
              ? "use files with samples of that kind"
              : "store the same features in the same order as in the training data"});
  if (images || !rows->normalised()) return "";
  return fmt::format(
      "{}: according to its metadata, the run that exported it had normalised the values; they are "
      "now normalised again, as in training: export with data.normalise=none, or add it to "
      "each source",
      source.path);
}

}  // namespace

PredictReport predict(const PredictOptions& options, RunConfig config, TrainObserver& observer) {
  if (!options.out.empty()) {
    std::vector<std::filesystem::path> inputs = files_read(config);
    inputs.push_back(find_model_file(options.checkpoint));
    add_files(inputs, options.data, options.settings);
    require_prediction_path(options.out, inputs);
  }
  const SampleLayout input = ModelFile(find_model_file(options.checkpoint)).described().input;
  hold_out(config, options, input);
  const std::string note = check_samples(config, input);
  CheckpointNetwork network(options.checkpoint, config, observer);
  Mixture& mixture = network.mixture;
  NetworkPass pass;
  pass.plan(network.context.memory, mixture.layout(), network.task);
  mixture.plan(network.context.memory, network.task.rows(), 1);
  network.load(config);
  mixture.load(network.context.stream);
  const Dataset& data = *mixture.source(0).rows();
  PredictReport report{static_cast<std::uint64_t>(data.size()),
                       data.summary(),
                       network.task.heads(),
                       {},
                       mixture.notes()};
  if (!note.empty()) report.notes.push_back(note);
  std::optional<PredictionFile> file;
  if (!options.out.empty())
    file.emplace(options.out, PredictedSamples{&mixture, {report.rows}, &network.task.heads()});
  const auto watch = observer.watch();
  pass.run(
      network.context.stream, network.task, mixture, 0, {0, report.rows},
      {.on_host =
           [&](const PredictedRows& rows) {
             require_finite_outputs(rows, mixture);
             if (file) file->append(rows);
             for (std::int64_t row = 0; row < rows.count && report.first.size() < options.shown;
                  ++row) {
               const float* const outputs = rows.outputs + row * rows.width;
               report.first.push_back({data.location(static_cast<std::int64_t>(rows.first) + row),
                                       {outputs, outputs + rows.width}});
             }
           },
       .progress = [&](std::uint64_t done) { watch("predicting", done, report.rows); }});
  if (file) file->finish();
  return report;
}

}  // namespace wellspring
