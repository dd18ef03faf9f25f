#include "train/keep_best.h"

#include "core/config/config_values.h"
#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/classifier_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace wellspring {
namespace {

using Better = HeldOutFigure::Better;

constexpr const char* kLoss = "loss";
constexpr const char* kDetermination = "R^2";

/// The scores of a head (docs/results.md) that exist for any predictions.
std::vector<std::string> scores_of(const HeadSpec& head) {
  std::vector<std::string> scores;
  std::vector<const char*> errors = {"rmse", "mae"};
  if (!head.is_item()) errors.insert(errors.end(), {"resolution", kDetermination});
  for (const HeadTarget& target : head.targets)
    for (const char* const what : errors)
      scores.push_back(fmt::format("{} of {}", what, target.name));
  if (head.has_targets() || head.is_self_supervised()) return scores;
  if (head.is_dense()) return {kPixelAccuracy, kMeanIou};
  scores.emplace_back("accuracy");
  if (head.loss == LossKind::multi_label) {
    scores.emplace_back("f1");
  } else {
    if (head.classes.size() >= kFewestForTop5) scores.emplace_back(kTop5Accuracy);
    scores.emplace_back(kCalibrationError);
  }
  scores.emplace_back(has_signal(head) ? kArea : kMeanArea);
  return scores;
}

Better better_of(std::string_view what) {
  constexpr std::string_view kErrors[] = {"rmse of ", "mae of ", "resolution of "};
  const bool error = what == kLoss || what == kCalibrationError ||
                     std::ranges::any_of(kErrors, [&](auto e) { return what.starts_with(e); });
  return error ? Better::smaller : Better::larger;
}

/// All figures of one held-out source, those without a head first.
std::vector<HeldOutFigure> figures_of(const std::string& source,
                                      const std::vector<HeadSpec>& heads) {
  std::vector<HeldOutFigure> figures = {{source, "", kLoss, Better::smaller}};
  for (const HeadSpec& head : heads)
    for (const std::string& what : scores_of(head))
      figures.push_back({source, "", what, better_of(what)});
  if (heads.size() > 1)
    for (const HeadSpec& head : heads) {
      figures.push_back({source, head.name, kLoss, Better::smaller});
      for (const std::string& what : scores_of(head))
        figures.push_back({source, head.name, what, better_of(what)});
    }
  return figures;
}

/// The name of a figure; leaves out the head if it is the only one.
std::string without_single_head(std::string name, const std::vector<HeadSpec>& heads) {
  if (heads.size() != 1) return name;
  const std::string prefix = heads.front().name + "/";
  const std::size_t at = name.find(prefix);
  if (at != std::string::npos && (at == 0 || name[at - 1] == '.')) name.erase(at, prefix.size());
  return name;
}

/// The held-out sets of a run, as text. The signal class is not part of the text: no figure to keep
/// depends on it, because both classes of a head have the same area under the curve.
std::string held_out_sets(const EvaluationConfig& evaluation) {
  ConfigWriter writer;
  write_evaluation(writer, evaluation);
  std::vector<ConfigEntry> entries = writer.entries();
  std::erase_if(entries, [](const ConfigEntry& e) {
    return e.path_text() == "eval.every" || e.path_text() == "eval.signal";
  });
  return config_yaml(entries);
}

std::optional<double> value_of(const HeldOutFigure& figure, const EvaluationReport& report) {
  for (const EvaluationResult& result : report.results) {
    if (result.name != figure.source) continue;
    if (figure.what == kLoss && figure.head.empty()) return result.loss;
    for (const HeadReport& entry : result.heads) {
      if (!figure.head.empty() && entry.head != figure.head) continue;
      if (figure.what == kLoss) return entry.loss;
      for (const Score& score : entry.scores)
        if (score.what == figure.what) return score.value;
    }
  }
  return std::nullopt;
}

/// Why no evaluation of the run can have a figure that `report` lacks; "" if a later one can.
std::string why_missing(const HeldOutFigure& figure, const EvaluationReport& report) {
  for (const EvaluationResult& result : report.results) {
    if (result.name != figure.source) continue;
    if (!std::isfinite(result.loss)) return "";  // NaN outputs have no area
    for (const HeadReport& entry : result.heads) {
      const bool area = figure.what == kArea || figure.what == kMeanArea;
      if (!area || !entry.classifier || (!figure.head.empty() && entry.head != figure.head))
        continue;
      const auto present = std::ranges::count_if(
          entry.classifier->classes, [](const ClassReport& one) { return one.samples > 0; });
      return present < 2 ? "all held-out samples are of one class"
                         : "each class is present in all or none of the samples, or there are "
                           "too many scores to keep in memory";
    }
  }
  return figure.what.starts_with(kDetermination) ? "all held-out samples have the same target"
                                                 : "the held-out samples do not train that head";
}

/// Error (data) if no evaluation can have the figure, or if it was finite in none up to the last.
void require_figure(const HeldOutFigure& figure, const EvaluationReport& report, bool last) {
  std::string why = value_of(figure, report) ? "" : why_missing(figure, report);
  if (why.empty() && last) why = "it was not finite in any evaluation";
  if (why.empty()) return;
  fail(ErrorKind::data, {fmt::format("train.keep_best: there is no {}", figure.name()), why,
                         "set another train.keep_best, or change the held-out samples"});
}

}  // namespace

std::string HeldOutFigure::name() const {
  return source + "." + (head.empty() ? "" : head + "/") + what;
}

std::optional<double> HeldOutFigure::value_in(const EvaluationReport& report) const {
  const std::optional<double> value = value_of(*this, report);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<HeldOutFigure> figure_to_keep(const RunConfig& config,
                                            const std::vector<HeadSpec>& heads) {
  if (config.train.keep_best.empty()) return std::nullopt;
  if (config.train.patience > 0 && config.evaluation.every > config.train.steps)
    fail(ErrorKind::config,
         {fmt::format("train.patience: eval.every is {}, but the run has only {}",
                      config.evaluation.every, counted(config.train.steps, "step")),
          "patience counts the evaluations at multiples of eval.every",
          "set a smaller eval.every, or remove patience"});
  const std::string wanted = without_single_head(config.train.keep_best, heads);
  std::vector<std::string> known;
  for (const EvaluationSourceConfig& source : config.evaluation.sources)
    for (const HeldOutFigure& figure : figures_of(source.name, heads)) {
      const bool first = source.name == config.evaluation.sources.front().name;
      const std::string full = figure.name(), tail = full.substr(source.name.size() + 1);
      if (wanted == full || (first && wanted == tail)) return figure;
      const std::string& listed = first ? tail : full;
      if (std::ranges::count(known, listed) == 0) known.push_back(listed);
    }
  if (wanted.find(kRejection) != std::string::npos)
    fail(ErrorKind::config, {fmt::format("train.keep_best: '{}' cannot be followed", wanted),
                             "in the best case, if no background sample passes, it is undefined",
                             "set keep_best to area under the curve"});
  fail(ErrorKind::config, {fmt::format("train.keep_best: there is no held-out figure '{}'", wanted),
                           "", name_advice(wanted, known)});
}

BestKeeper::BestKeeper(const RunConfig& config, const std::vector<HeadSpec>& heads)
    : figure_(figure_to_keep(config, heads)),
      every_(static_cast<std::uint64_t>(config.evaluation.every)),
      patience_(static_cast<std::uint64_t>(config.train.patience)),
      steps_(static_cast<std::uint64_t>(config.train.steps)) {
  if (figure_) progress_.held_out = held_out_sets(config.evaluation);
}

void BestKeeper::resume(const RunProgress& progress, std::uint64_t step, const CheckpointStore* own,
                        std::vector<std::string>& notes) {
  const std::string held_out = progress_.held_out;
  progress_ = progress;
  progress_.training_seconds = 0;
  if (!figure_) return;
  progress_.held_out = held_out;
  const std::optional<BestReport>& best = progress.best;
  const auto start_again = [&](const std::string& why, std::uint64_t evaluated) {
    progress_ = {.best = {}, .evaluated = evaluated, .held_out = held_out};
    notes.push_back(
        fmt::format("{}: the search for the best {} starts again", why, figure_->name()));
  };
  if (best && best->figure != figure_->name())
    start_again(fmt::format("train.keep_best followed {} so far", best->figure), 0);
  else if (best && own != nullptr && !std::filesystem::exists(own->path_of(best->step)))
    start_again(fmt::format("the best checkpoint so far (step {}) is not in {}", best->step,
                            own->run_folder().string()),
                0);
  // A recorded evaluation at this step used the earlier sets.
  if (!progress.held_out.empty() && progress.held_out != held_out)
    start_again("the held-out sets have changed", step);
}

bool BestKeeper::compare(const EvaluationReport& report) {
  const bool scheduled = every_ > 0 && report.step % every_ == 0;
  if (!figure_ || report.step == progress_.evaluated || !(scheduled || report.step == steps_))
    return false;
  const std::optional<double> value = figure_->value_in(report);
  if (!value && !progress_.best) require_figure(*figure_, report, report.step == steps_);
  progress_.evaluated = report.step;
  const bool better = value && (!progress_.best || (figure_->better == Better::larger
                                                        ? *value > progress_.best->value
                                                        : *value < progress_.best->value));
  if (better) {
    progress_.best = {figure_->name(), *value, report.step};
    progress_.since_best = 0;
  } else if (scheduled && patience_ > 0) {
    ++progress_.since_best;
  }
  return better;
}

}  // namespace wellspring
