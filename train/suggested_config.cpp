#include "train/suggested_config.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "sources/datasets/row_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <optional>

namespace wellspring {
namespace {

/// The settings that depend on the kind of data.
struct Recipe {
  std::string model, model_reason;
  std::int64_t batch = 128;
  double lr = 1e-3, weight_decay = 0.01;
};

constexpr double kFraction = 0.2;  ///< share to hold out if no held-out data is found
constexpr double kPasses = 20;     ///< over the training rows
constexpr std::int64_t kFewestSuggestedSteps = 100, kMostSuggestedSteps = 20000;
constexpr const char* kPretraining = "train.steps=2000 eval.every=500";

/// Makes text from outside safe for a one-line comment.
std::string flattened(const std::string& text) {
  std::string line = printable(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

/// Widths and pooling of a `cnn` that halves the images while their sides are even.
Recipe small_images(int side) {
  constexpr int kStages = 3, kWidth = 32, kLeastSide = 8;
  std::vector<int> widths, blocks, pool;
  int left = side;
  for (int stage = 0; stage < kStages; ++stage) {
    const bool halves = left % 2 == 0 && left >= kLeastSide;
    widths.push_back(kWidth << stage);
    blocks.push_back(stage == kStages - 1 ? 1 : 0);
    pool.push_back(halves ? 1 : 0);
    if (halves) left /= 2;
  }
  return {fmt::format("{{name: cnn, widths: {}, blocks: {}, pool: {}}}", widths, blocks, pool),
          "small images; pool: 1 halves them", 128, 0.002, 0.05};
}

Recipe recipe_for(const DataSurvey& survey) {
  constexpr int kLargest = 64;  ///< largest image side for `cnn`, pixels
  const SampleLayout& sample = survey.layout.sample;
  if (sample.kind == SampleKind::set)
    return {"{name: deepset}", "sets: any number of items, in any order", 256, 0.002, 0.01};
  if (sample.kind == SampleKind::event) {
    const bool wide = sample.features > 100;
    return {fmt::format("{{name: mlp, widths: {}}}", wide ? "[256, 128]" : "[64, 64]"),
            counted(sample.features, "feature"), 256, 0.002, 0.01};
  }
  if (sample.height <= kLargest) return small_images(sample.height);
  return {"{name: resnet18}", "images of more than 64 pixels", 32, 0.001, 0.05};
}

/// Rows that a fraction holds out.
std::int64_t rows_of_fraction(std::int64_t rows) {
  const RowRange range = RowRange::parse(fmt::format("{}%..100%", 100 * (1 - kFraction)), {});
  return static_cast<std::int64_t>(range.rows(rows).size());
}

class Writer {
 public:
  Writer(const DataSurvey& survey, const std::string& file)
      : survey_(survey),
        recipe_(recipe_for(survey)),
        name_(source_name_of(survey.path)),
        file_(flattened(file)) {
    const std::int64_t held_out = survey.held_out.empty() ? rows_of_fraction(survey.rows) : 0;
    has_fraction_ = held_out > 0 && held_out < survey.rows;
    rows_ = survey.rows - (has_fraction_ ? held_out : 0);
    const auto fitting =
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(2, rows_)));
    batch_ = std::min(recipe_.batch, static_cast<std::int64_t>(fitting));
    const double steps =
        std::ceil(kPasses * static_cast<double>(rows_) / static_cast<double>(batch_));
    steps_ = static_cast<std::int64_t>(
        std::clamp(steps, double{kFewestSuggestedSteps}, double{kMostSuggestedSteps}));
    out_ = fmt::format(
        "# {}\n# Written by wellspring init; `wellspring describe config` explains every key.\n"
        "#   wellspring train {}\nseed: 1\n\n",
        flattened(survey.summary), file_);
  }

  std::string write() {
    write_data();
    write_evaluation();
    write_training();
    return std::move(out_);
  }

 private:
  bool is_image() const { return survey_.layout.type == ElementType::u8; }

  void line(const std::string& text, const std::string& reason = "") {
    out_ += text + (reason.empty() ? "" : "  # " + flattened(reason)) + "\n";
  }

  void write_data() {
    line("data:");
    if (is_image()) {
      line(fmt::format("  size: {}", survey_.layout.sample.height), survey_.size_reason);
      line(fmt::format("  normalise: {{mean: [{:.4f}], std: [{:.4f}]}}",
                       fmt::join(survey_.mean, ", "), fmt::join(deviations(), ", ")),
           "of the pixels of " + counted(survey_.measured, "image"));
      line("  # augment: [{flip_x: 0.5}, {shift: 0.1}]",
           "if mirrored and shifted images keep their class");
    } else {
      line("  normalise: auto", "means and deviations of the training rows");
    }
    line("  sources:");
    line("    - name: " + name_);
    line("      kind: files");
    line("      path: " + yaml_scalar(survey_.path.string()),
         survey_.path.is_absolute() ? "" : "relative to the folder in which train runs");
    for (const SourceKey& key : survey_.keys)
      line(fmt::format("      {}: {}", key.name, key.yaml()), key.reason);
    line("");
  }

  /// Deviations for `normalise`, which divides by them: 1 for constant channels.
  std::vector<double> deviations() const {
    std::vector<double> values = survey_.deviation;
    for (double& value : values)
      if (value < 1e-3) value = 1;
    return values;
  }

  void write_evaluation() {
    line("eval:");
    line(fmt::format("  every: {}", std::max<std::int64_t>(1, steps_ / 5)), "steps");
    if (survey_.held_out.empty() && !has_fraction_) {
      line("  sources: []", "too few rows to hold some out");
      line("");
      return;
    }
    line("  sources:");
    line("    - of: " + name_);
    if (has_fraction_)
      line(fmt::format("      fraction: {}", kFraction), "no held-out files found: not trained on");
    for (const SourceKey& key : survey_.held_out)
      line(fmt::format("      {}: {}", key.name, key.yaml()), key.reason);
    if (survey_.targets.empty() && survey_.classes.size() == 2)
      line("  signal: " + yaml_list(std::vector{survey_.classes[1]}),
           "for ROC curves and background rejections; otherwise " + survey_.classes[0]);
    line("");
  }

  void write_training() {
    line("model: " + recipe_.model, recipe_.model_reason);
    if (survey_.targets.empty()) {
      line("loss: {kind: cross_entropy}", class_text());
    } else {
      line(fmt::format("loss: {{kind: mse, targets: {}}}", yaml_list(survey_.targets)),
           "regression");
    }
    line(fmt::format("optimizer: {{kind: adamw, lr: {}, weight_decay: {}, warmup: 0.1}}",
                     recipe_.lr, recipe_.weight_decay));
    const double passes = static_cast<double>(steps_ * batch_) / static_cast<double>(rows_);
    line(fmt::format("train: {{batch: {}, steps: {}}}", batch_, steps_),
         fmt::format("{:.3g} passes over {}", passes, counted(rows_, "row")));
    if (is_image() && survey_.layout.sample.channels == 3) write_pretraining();
  }

  /// Commands that train this network on generated images first.
  void write_pretraining() {
    line("");
    line("# Pretraining on generated images (wellspring list generators), then fine-tuning:");
    line(fmt::format("#   wellspring train {} name=pretrained {} \\", file_, kPretraining));
    line("#     'data.sources=[{name: atoms, generator: visual_atom, params: {classes: 100}}]' \\");
    line("#     'eval.sources=[{of: atoms}]'");
    line(fmt::format("#   wellspring train {} init.from=runs/pretrained", file_));
  }

  /// "3 classes: cat, dog, owl".
  std::string class_text() const {
    constexpr std::size_t kMost = 5;
    const auto& classes = survey_.classes;
    const std::vector<std::string> some(
        classes.begin(),
        classes.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, classes.size())));
    return fmt::format("{}: {}{}", counted(classes.size(), "class", "classes"), join(some),
                       classes.size() > kMost ? ", ..." : "");
  }

  const DataSurvey& survey_;
  Recipe recipe_;
  std::string name_, file_, out_;  ///< file_: quoted for a shell
  bool has_fraction_ = false;
  std::int64_t rows_ = 0, batch_ = 0, steps_ = 0;  ///< rows_: training rows
};

}  // namespace

std::string source_name_of(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const fs::path absolute = fs::weakly_canonical(path);
  const std::string end =
      (fs::is_directory(absolute) ? absolute.filename() : absolute.stem()).string();
  std::string name;
  for (const char c : end) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  name.erase(0, std::min(name.find_first_not_of("-_"), name.size()));
  while (name.ends_with('_')) name.pop_back();
  const bool has_letter = std::ranges::any_of(
      name, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  return has_letter ? name : "data" + (name.empty() ? "" : "_" + name);
}

std::string suggested_config(const DataSurvey& survey, const std::string& file) {
  return Writer(survey, file).write();
}

}  // namespace wellspring
