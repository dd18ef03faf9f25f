#include "sources/files/array_rows.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "sources/files/class_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {

std::optional<RowLayout> event_layout_of(const std::vector<std::int64_t>& shape) {
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0 || shape[1] > kMostFeatures)
    return std::nullopt;
  return RowLayout{SampleLayout::event(static_cast<int>(shape[1])), ElementType::f32};
}

ArrayRows::ArrayRows(const std::filesystem::path& path, std::int64_t limit_per_class, bool labelled)
    : path_(path),
      canonical_(std::filesystem::weakly_canonical(path)),
      limit_(limit_per_class),
      labelled_(labelled) {}

std::string ArrayRows::location(std::int64_t row) const {
  return fmt::format("{}: row {}", path_.string(), stored(row));
}

std::string ArrayRows::place(std::int64_t row) const {
  return fmt::format("{}: row {}", canonical_.string(), stored(row));
}

std::string ArrayRows::summary() const {
  const SampleLayout& sample = layout_.sample;
  const bool images = sample.kind == SampleKind::image, sets = sample.kind == SampleKind::set;
  std::string what = images ? fmt::format("{}x{}", sample.width, sample.height)
                            : counted(sample.features, "feature");
  if (sets) what = fmt::format("up to {} of {}", counted(sample.items, "item"), what);
  std::string text = counted(size(), images ? "image" : sets ? "set" : "event");
  if (labelled_) text += " of " + summary_of_classes(*this);
  text += fmt::format(", {}, from {}", what, path_.string());
  if (limit_ > 0) text += fmt::format(", first {} of each class", limit_);
  return text;
}

std::string ArrayRows::size_advice(ImageSize /*size*/) const {
  const SampleShape shape = layout_.sample.shape();
  return fmt::format("set data.size: {}, or resize the images and store them again",
                     ImageSize(shape.height, shape.width).to_string());
}

BadNumber bad_number(double stored) {
  if (!std::isfinite(stored))
    return {fmt::format("{}", stored),
            "a non-finite value makes the outputs for its row meaningless and ruins the training"};
  return {fmt::format("{:g}", stored), "values are kept as f32, whose maximum is 3.4e38"};
}

double ArrayRows::stored_number(std::int64_t /*row*/, std::int64_t /*i*/, float value) const {
  return value;
}

void ArrayRows::require_finite(std::int64_t row, const float* values) const {
  if (!finite_) return;
  for (std::int64_t i = 0; i < layout_.sample.elements(); ++i) {
    if (std::isfinite(values[i])) continue;
    const std::int64_t item = i / layout_.sample.features, feature = i % layout_.sample.features;
    std::string what = layout_.sample.kind == SampleKind::set ? fmt::format("item {}, ", item) : "";
    what += fmt::format("feature {}", feature);
    if (!features().empty())
      what += fmt::format(" ({})", features()[static_cast<std::size_t>(feature)].name);
    const BadNumber number = bad_number(stored_number(row, i, values[i]));
    fail(ErrorKind::data, {fmt::format("{}: {} is {}", location(row), what, number.text),
                           number.why, "remove the row or replace the value"});
  }
}

void ArrayRows::set_labels(const std::vector<std::int64_t>& labels, const std::string& source,
                           const ClassNaming& naming, const std::vector<std::string>& known) {
  name_classes(naming, known, source, *std::max_element(labels.begin(), labels.end()));
  labels_.reserve(labels.size());
  const auto count = static_cast<std::int64_t>(classes_.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= count) {
      fail(ErrorKind::data,
           {fmt::format("{}: row {} has label {}", source, i, labels[i]),
            count == 1 ? "the only class is 0"
                       : fmt::format("there are {} classes, 0 to {}", count, count - 1),
            "correct the labels, classes: or class_names:"});
    }
    labels_.push_back(static_cast<std::int32_t>(labels[i]));
  }
  rows_ = first_of_each_class(labels_, limit_);
}

void ArrayRows::name_classes(const ClassNaming& naming, const std::vector<std::string>& known,
                             const std::string& source, std::int64_t largest) {
  classes_ = naming.names.empty() ? known : read_class_names(naming.names);
  const auto named = static_cast<std::int64_t>(classes_.size());
  if (named > 0) {
    if (naming.classes == 0 || naming.classes == named) return;
    const std::string who = naming.names.empty() ? source : naming.names.string();
    fail(ErrorKind::data,
         {fmt::format("{}: has names for {}", who, counted(named, "class", "classes")),
          fmt::format("but classes: is {}", naming.classes), "correct one of the two"});
  }
  constexpr std::int64_t kMostByLabel = std::int64_t{1} << 20;
  if (naming.classes == 0 && largest >= kMostByLabel) {
    fail(ErrorKind::data,
         {fmt::format("{}: the largest label is {}", source, largest),
          fmt::format("more than {} classes are accepted only with classes:", kMostByLabel),
          "correct the labels, or set classes: to the number of classes"});
  }
  const std::int64_t count =
      naming.classes > 0 ? naming.classes : std::max<std::int64_t>(largest, 0) + 1;
  for (std::int64_t i = 0; i < count; ++i) classes_.push_back(fmt::format("{}", i));
}

}  // namespace wellspring
