#include "train/normalised_data.h"

#include "sources/normalisation.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/resume.h"
#include "train/run_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace wellspring {
namespace {

using Choice = Normalisation::Choice;

/// True if a source's scaling is not given as numbers.
bool is_to_settle(const RunConfig& config) {
  return std::ranges::any_of(config.data.sources, [](const SourceConfig& source) {
    return source.augmentations.normalisation.choice != Choice::given;
  });
}

/// Adopts the scaling of a trained network; returns a note on its origin, or "" without one.
std::string adopt(RunConfig& config, const SampleLayout& layout,
                  const std::optional<std::filesystem::path>& resumed) {
  if (layout.kind == SampleKind::image || !is_to_settle(config)) return "";
  if (resumed) {
    adopt_normalisation(config.data, layout, read_checkpoint_header(*resumed).identity,
                        Adopt::defaults_and_auto);
    return "as before";
  }
  if (config.init.from.empty()) return "";
  const ModelFile model(find_model_file(config.init.from));
  if (!model.description()) return "";
  adopt_normalisation(config.data, layout, model.description()->config_yaml, Adopt::defaults);
  return "as in init.from";
}

/// "pt 512 +- 80, mass 61 +- 22"; `names` of the columns may be empty.
void list_columns(std::vector<std::string>& texts, const ColumnScaling& scaling, int columns,
                  const std::vector<ValueInfo>& names, const char* what) {
  const auto at = [](const std::vector<double>& list, std::size_t k) {
    return list[list.size() == 1 ? 0 : k];
  };
  for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k)
    texts.push_back(fmt::format("{} {:.3g} +- {:.3g}",
                                k < names.size() ? names[k].name : fmt::format("{} {}", what, k),
                                at(scaling.mean, k), at(scaling.std, k)));
}

/// The scaling of the last source that has one, with the column names of the first that has names.
std::string note_of(const RunConfig& config, const Mixture& mixture, const std::string& how) {
  constexpr std::size_t kMost = 8;
  Normalisation values;
  for (const SourceConfig& source : config.data.sources)
    if (!source.augmentations.normalisation.is_identity())
      values = source.augmentations.normalisation;
  const SampleLayout layout = mixture.layout();
  if (values.is_identity() || layout.kind == SampleKind::image) return "";
  std::vector<ValueInfo> features, globals;
  for (int k = 0; k < mixture.size(); ++k) {
    const Dataset* const rows = mixture.source(k).rows();
    if (rows == nullptr || !features.empty()) continue;
    features = rows->features();
    globals = rows->globals();
  }
  std::vector<std::string> texts;
  list_columns(texts, values, layout.features, features, "feature");
  list_columns(texts, values.globals, layout.globals, globals, "global");
  std::string text = fmt::format("normalised {}: ", how.empty() ? "as configured" : how);
  for (std::size_t k = 0; k < std::min(kMost, texts.size()); ++k)
    text += (k == 0 ? "" : ", ") + texts[k];
  return text + (texts.size() > kMost ? ", ..." : "");
}

Mixture open_as(RunConfig& config, const std::optional<std::filesystem::path>& resumed,
                const WorkWatch& watch, DenseLabels dense, std::vector<std::string>& notes) {
  Mixture mixture = config.open_training(watch, dense);
  std::string how = adopt(config, mixture.layout(), resumed);
  const std::string measured = settle_normalisation(
      config.data, mixture, {config.seed, static_cast<int>(config.threads), watch});
  if (!measured.empty()) how = "by " + measured;
  settle_epochs(config, mixture, notes);
  const std::string note = note_of(config, mixture, how);
  if (!note.empty()) notes.push_back(note);
  return mixture;
}

}  // namespace

Mixture open_normalised(RunConfig& config, DenseLabels dense) {
  std::vector<std::string> notes;
  return open_as(config, {}, {}, dense, notes);
}

Mixture open_normalised(RunConfig& config, std::optional<Mixture> given,
                        const TrainerOptions& options, const WorkWatch& watch,
                        std::vector<std::string>& notes) {
  if (given) {
    settle_epochs(config, *given, notes);
    return *std::move(given);
  }
  const CheckpointStore own(config.folder());
  return open_as(config, checkpoint_to_resume(options.resume, options.write_files ? &own : nullptr),
                 watch, config.dense_labels(), notes);
}

}  // namespace wellspring
