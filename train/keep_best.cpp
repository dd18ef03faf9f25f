#include "train/keep_best.h"

#include "core/error.h"
#include "core/text/text.h"
#include "train/evaluation/classifier_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace wellspring {
namespace {

using Better = HeldOutFigure::Better;

constexpr const char* kLoss = "loss";
constexpr const char* kCalibration = "calibration error";

/// The scores that an evaluation of this head can have (docs/results.md).
std::vector<std::string> scores_of(const HeadSpec& head) {
  std::vector<std::string> scores;
  for (const HeadTarget& target : head.targets)
    for (const char* const what : {"rmse", "mae", "resolution", "R^2"})
      scores.push_back(fmt::format("{} of {}", what, target.name));
  if (head.loss == LossKind::regression) return scores;
  scores.emplace_back("accuracy");
  if (head.loss == LossKind::multi_label) {
    scores.emplace_back("f1");
  } else {
    if (head.classes.size() >= kFewestForTop5) scores.emplace_back("top-5 accuracy");
    scores.emplace_back(kCalibration);
  }
  if (head.loss == LossKind::multi_label || head.classes.size() != 2) {
    scores.emplace_back("mean area under the curve");
  } else {
    scores.emplace_back("area under the curve");
    scores.emplace_back("background rejection at 30 %");
    scores.emplace_back("background rejection at 50 %");
  }
  return scores;
}

Better better_of(std::string_view what) {
  constexpr std::string_view kErrors[] = {"rmse of ", "mae of ", "resolution of "};
  const bool error = what == kLoss || what == kCalibration ||
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
    for (const HeadSpec& head : heads)
      for (const std::string& what : scores_of(head))
        figures.push_back({source, head.name, what, better_of(what)});
  return figures;
}

}  // namespace

std::string HeldOutFigure::name() const {
  return source + "." + (head.empty() ? "" : head + "/") + what;
}

std::optional<double> HeldOutFigure::value_in(const EvaluationReport& report) const {
  const auto finite = [](double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  };
  for (const EvaluationResult& result : report.results) {
    if (result.name != source) continue;
    if (what == kLoss) return finite(result.loss);
    for (const HeadReport& entry : result.heads)
      for (const Score& score : entry.scores)
        if ((head.empty() || entry.head == head) && score.what == what) return finite(score.value);
  }
  return std::nullopt;
}

std::optional<HeldOutFigure> figure_to_keep(const RunConfig& config,
                                            const std::vector<HeadSpec>& heads) {
  const std::string& wanted = config.train.keep_best;
  if (wanted.empty()) return std::nullopt;
  std::vector<std::string> known;
  for (const EvaluationSourceConfig& source : config.evaluation.sources)
    for (const HeldOutFigure& figure : figures_of(source.name, heads)) {
      const bool first = source.name == config.evaluation.sources.front().name;
      const std::string full = figure.name(), tail = full.substr(source.name.size() + 1);
      if (wanted == full || (first && wanted == tail)) return figure;
      const std::string& listed = first ? tail : full;
      if (std::ranges::count(known, listed) == 0) known.push_back(listed);
    }
  fail(ErrorKind::config, {fmt::format("train.keep_best: there is no held-out figure '{}'", wanted),
                           "", name_advice(wanted, known)});
}

std::string BestKeeper::resume(const RunProgress& progress) {
  progress_ = progress;
  progress_.training_seconds = 0;
  if (!figure_ || !progress.best || progress.best->figure == figure_->name()) return "";
  progress_ = {};
  return fmt::format("train.keep_best followed {} so far: the search for the best {} starts again",
                     progress.best->figure, figure_->name());
}

bool BestKeeper::compare(const EvaluationReport& report) {
  if (!figure_ || report.step == progress_.evaluated) return false;
  progress_.evaluated = report.step;
  const std::optional<double> value = figure_->value_in(report);
  const bool better = value && (!progress_.best || (figure_->better == Better::larger
                                                        ? *value > progress_.best->value
                                                        : *value < progress_.best->value));
  if (better) {
    progress_.best = {figure_->name(), *value, report.step};
    progress_.since_best = 0;
  } else if (report.step % every_ == 0) {
    ++progress_.since_best;
  }
  return better;
}

}  // namespace wellspring
