// Reports of the losses and scores of heads (declared in train/heads/heads.h).
#include "core/text/text.h"
#include "train/heads/heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace wellspring {
namespace {

std::string score_text(const Score& score, const char* plus_minus) {
  if (score.what.ends_with("accuracy")) {
    const std::string best =
        score.best ? fmt::format(" (best possible {:.2f} %)", 100 * *score.best) : "";
    return score.what + " " + share_text(score.value, score.error.value_or(0), plus_minus) + best;
  }
  const std::string unit = score.unit.empty() ? "" : " " + score.unit;
  const std::string best =
      score.best ? fmt::format(" (best possible {:.4g}{})", *score.best, unit) : "";
  return fmt::format("{} {:.4g}{}{}", score.what, score.value, unit, best);
}

/// Scores of a per-pixel head; `mean(k)` is the mean over all samples of score k (see
/// ops::pixel_scores). The mean IoU averages over the classes that occur anywhere in the truth or
/// the predictions; Everingham et al. 2015 (PASCAL VOC), section 4.3.
std::vector<Score> pixel_report(std::int32_t classes,
                                const std::function<double(std::int32_t)>& mean) {
  double sum = 0, seen = 0;
  for (std::int32_t k = 0; k < classes; ++k) {
    const double both = mean(1 + k), either = mean(1 + classes + k);
    if (either == 0) continue;
    sum += both / either;
    ++seen;
  }
  return {{kPixelAccuracy, mean(0), ""}, {kMeanIou, seen > 0 ? sum / seen : 0, ""}};
}

/// Errors per target, pooled over the items of all samples, in the target's unit. `mean(k)`: as
/// above, but see ops::item_scores.
std::vector<Score> item_report(const std::vector<HeadTarget>& targets,
                               const std::function<double(std::int32_t)>& mean) {
  const auto n = static_cast<std::int32_t>(targets.size());
  const double items = std::max(mean(2 * n), std::numeric_limits<double>::min());
  std::vector<Score> scores;
  for (std::int32_t k = 0; k < n; ++k) {
    const HeadTarget& target = targets[static_cast<std::size_t>(k)];
    const auto scale = static_cast<double>(target.scale());
    scores.push_back(
        {"rmse of " + target.name, std::sqrt(mean(2 * k) / items) / scale, target.unit});
    scores.push_back({"mae of " + target.name, mean(2 * k + 1) / items / scale, target.unit});
  }
  return scores;
}

}  // namespace

std::optional<double> accuracy_of(const std::vector<HeadReport>& heads) {
  for (const HeadReport& head : heads)
    for (const Score& score : head.scores)
      if (score.what == "accuracy") return score.value;
  return std::nullopt;
}

std::string scores_text(const std::vector<HeadReport>& heads, const char* plus_minus) {
  std::vector<std::string> parts;
  for (const HeadReport& head : heads) {
    std::vector<std::string> scores;
    std::string signal;
    const auto name_signal = [&](const std::string& next) {  // for the scores so far
      if (!signal.empty() && next != signal) scores.back() += fmt::format(" (signal: {})", signal);
      signal = next;
    };
    for (const Score& score : head.scores) {
      if (score.detail) continue;
      name_signal(score.signal);
      scores.push_back(score_text(score, plus_minus));
    }
    name_signal("");
    parts.push_back((heads.size() > 1 ? head.head + ": " : "") + join(scores));
  }
  return join(parts, "; ");
}

MeasureLayout::MeasureLayout(std::span<const HeadSpec> heads, std::int32_t sources)
    : count_(static_cast<std::int32_t>(heads.size())), sources_(sources) {
  for (const HeadSpec& head : heads) {
    first_score_.push_back(count_);
    count_ += head.scores();
  }
}

double samples_in(const MeasureLayout& layout, const double* sums, int source) {
  return sums[layout.count() * layout.sources() + source];
}

std::vector<HeadReport> report_heads(const std::vector<HeadSpec>& heads,
                                     const std::vector<HeadSources>& feeds,
                                     const MeasureLayout& layout, const double* sums, int source) {
  const double samples = samples_in(layout, sums, source);
  std::vector<HeadReport> reports;
  if (samples == 0) return reports;
  const auto mean = [&](std::int32_t measure) {
    return sums[measure * layout.sources() + source] / samples;
  };
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (((feeds[h].sources >> source) & 1u) == 0) continue;
    HeadReport report;
    report.head = heads[h].name;
    report.loss = mean(static_cast<std::int32_t>(h));
    std::int32_t at = layout.first_score(h);
    if (heads[h].is_dense()) {
      report.scores = pixel_report(heads[h].rows(), [&](std::int32_t k) { return mean(at + k); });
    } else if (heads[h].is_item()) {
      report.scores = item_report(heads[h].targets, [&](std::int32_t k) { return mean(at + k); });
    } else if (heads[h].loss != LossKind::regression && !heads[h].is_self_supervised()) {
      report.scores.push_back({"accuracy", mean(at), "", share_error(mean(at), samples)});
      if (heads[h].loss == LossKind::multi_label) {
        // Pooled over all samples and labels; 0 without positive labels and predictions.
        report.scores.push_back({"f1", mean(at + 1) / std::max(mean(at + 2), 1 / samples), ""});
      }
    } else {
      for (const HeadTarget& target : heads[h].targets) {
        report.scores.push_back({"rmse of " + target.name, std::sqrt(mean(at)), target.unit});
        report.scores.push_back({"mae of " + target.name, mean(at + 1), target.unit});
        at += 2;
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace wellspring
