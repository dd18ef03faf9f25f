#include "train/evaluation/prediction_file.h"

#include "core/error.h"
#include "core/io/bytes.h"
#include "core/version.h"
#include "export/csv_file.h"
#include "train/config/files_read.h"
#include "train/evaluation/classifier_scores.h"
#include "train/evaluation/regression_scores.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace wellspring {
namespace {

using Json = nlohmann::ordered_json;

/// Names and units of all latents of the sources, without repetitions.
ArrayMeaning all_latents(const std::vector<SourceTruth>& sources) {
  ArrayMeaning all;
  for (const SourceTruth& source : sources)
    for (const HeadTarget& latent : source.latents)
      if (std::ranges::count(all.names, latent.name) == 0) {
        all.names.push_back(latent.name);
        all.units.push_back(latent.unit);
      }
  return all;
}

/// For each source, the column of each named latent, or -1.
std::vector<std::vector<std::int64_t>> columns_of(const std::vector<std::string>& names,
                                                  const std::vector<SourceTruth>& sources) {
  std::vector<std::vector<std::int64_t>> columns;
  for (const SourceTruth& source : sources) {
    columns.emplace_back();
    for (const std::string& name : names) {
      const auto found = std::ranges::find(source.latents, name, &HeadTarget::name);
      columns.back().push_back(found == source.latents.end() ? -1 : found - source.latents.begin());
    }
  }
  return columns;
}

Json description(const PredictedSamples& samples) {
  Json sources = Json::array(), heads = Json::array();
  for (std::size_t s = 0; s < samples.counts.size(); ++s) {
    sources.push_back({{"name", samples.mixture->source(static_cast<int>(s)).name()},
                       {"samples", samples.counts[s]}});
    if (!samples.truth.empty()) {
      sources.back()["head"] = samples.truth[s].head;
      sources.back()["classes"] = samples.truth[s].classes;
    }
  }
  for (const HeadSpec& head : *samples.heads) {
    Json targets = Json::array();
    for (const HeadTarget& target : head.targets)
      targets.push_back({{"name", target.name}, {"unit", target.unit}});
    heads.push_back({{"name", head.name}, {"loss", to_string(head.loss)}});
    if (head.is_choice() && head.is_binary()) heads.back()["cross_entropy"] = "binary";
    if (head.has_targets())
      heads.back()["targets"] = std::move(targets);
    else
      heads.back()["classes"] = head.classes;
  }
  Json all = {{"sources", sources}, {"heads", heads}, {"version", kVersion}};
  if (samples.features) all["layer"] = samples.features->layer;
  return all;
}

}  // namespace

void require_prediction_path(const std::filesystem::path& path,
                             const std::vector<std::filesystem::path>& inputs) {
  const std::string problem = fmt::format("cannot write predictions to '{}'", path.string());
  if (!is_npz(path) && !is_hdf5(path) && !is_csv(path))
    fail(ErrorKind::config, {problem, "the extension selects the format",
                             "use a name that ends in .npz, .csv, .h5 or .hdf5"});
  std::error_code unreadable;  // if unreadable, creating the file fails
  if (std::filesystem::is_directory(path, unreadable))
    fail(ErrorKind::config, {problem, "it is a folder", "choose another name"});
  require_not_an_input(path, inputs);
}

PredictionFile::PredictionFile(const std::filesystem::path& path, PredictedSamples samples)
    : samples_(std::move(samples)), csv_(is_csv(path)) {
  file_ = csv_ ? create_csv_file(path) : create_array_file(path);
  count_ = static_cast<std::int64_t>(
      std::accumulate(samples_.counts.begin(), samples_.counts.end(), std::uint64_t{0}));
  add_samples();
  if (!samples_.truth.empty()) add_truth();
  for (std::size_t h = 0; h < samples_.heads->size(); ++h) add_head(h);
  if (samples_.features) add_features(*samples_.features);
}

void PredictionFile::append(const PredictedRows& rows) {
  for (const Fill& fill : columns_) fill(rows);
}

void PredictionFile::finish() {
  file_->finish(description(samples_));
}

std::string PredictionFile::named(const std::string& what, const HeadSpec& head) const {
  return samples_.heads->size() > 1 ? what + "_" + head.name : what;
}

void PredictionFile::add_floats(
    const std::string& name, const ArrayMeaning& meaning, std::size_t width,
    std::function<void(const PredictedRows&, std::int64_t, float*)> value) {
  std::vector<std::int64_t> shape = {count_};
  if (width > 0) shape.push_back(static_cast<std::int64_t>(width));
  const ArrayFile::Array array = file_->open(name, {ElementType::f32, shape}, meaning);
  columns_.push_back([this, array, step = std::max<std::size_t>(width, 1),
                      value = std::move(value)](const PredictedRows& rows) {
    std::vector<float> values(static_cast<std::size_t>(rows.count) * step);
    for (std::int64_t row = 0; row < rows.count; ++row)
      value(rows, row, values.data() + static_cast<std::size_t>(row) * step);
    file_->append(array, bytes_of(values));
  });
}

/// Texts are zero-padded.
void PredictionFile::add_texts(
    const std::string& name, std::size_t longest,
    std::function<std::string(const PredictedRows&, std::int64_t)> text) {
  const ArrayFile::Array array =
      file_->open(name, {ElementType::u8, {count_, static_cast<std::int64_t>(longest)}}, {});
  columns_.push_back([this, array, longest, text = std::move(text)](const PredictedRows& rows) {
    std::string all;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      all += text(rows, row);
      all.resize(static_cast<std::size_t>(row + 1) * longest);
    }
    file_->append(array, bytes_of(all));
  });
}

void PredictionFile::add_classes(
    const std::string& name, std::vector<std::vector<std::string>> names,
    std::function<std::int64_t(const PredictedRows&, std::int64_t)> index) {
  if (csv_) {
    std::size_t longest = 1;
    for (const auto& classes : names)
      for (const std::string& text : classes) longest = std::max(longest, text.size());
    add_texts(name, longest,
              [names = std::move(names), index = std::move(index)](const PredictedRows& rows,
                                                                   std::int64_t row) {
                return names[static_cast<std::size_t>(rows.source)]
                            [static_cast<std::size_t>(index(rows, row))];
              });
    return;
  }
  const ArrayFile::Array array = file_->open(name, {ElementType::i64, {count_}}, {});
  columns_.push_back([this, array, index = std::move(index)](const PredictedRows& rows) {
    std::vector<std::int64_t> values;
    for (std::int64_t row = 0; row < rows.count; ++row) values.push_back(index(rows, row));
    file_->append(array, bytes_of(values));
  });
}

/// Identities of the samples.
void PredictionFile::add_samples() {
  const ArrayFile::Array source = file_->open("source", {ElementType::i32, {count_}}, {});
  const ArrayFile::Array sample = file_->open("sample", {ElementType::i64, {count_}}, {});
  columns_.push_back([this, source, sample](const PredictedRows& rows) {
    const std::uint64_t first =
        samples_.mixture->source(rows.source).first_evaluation_sample() + rows.first;
    std::vector<std::int64_t> ids(static_cast<std::size_t>(rows.count));
    std::iota(ids.begin(), ids.end(), static_cast<std::int64_t>(first));
    const std::vector<std::int32_t> sources(ids.size(), rows.source);
    file_->append(source, bytes_of(sources));
    file_->append(sample, bytes_of(ids));
  });
  std::size_t longest = 0;
  for (int s = 0; s < samples_.mixture->size(); ++s)
    if (const Dataset* const data = samples_.mixture->source(s).rows())
      for (std::int64_t row = 0; row < data->size(); ++row)
        longest = std::max(longest, data->location(row).size());
  if (longest == 0) return;
  add_texts("location", longest, [this](const PredictedRows& rows, std::int64_t row) {
    const Dataset* const data = samples_.mixture->source(rows.source).rows();
    return data == nullptr ? "" : data->location(static_cast<std::int64_t>(rows.first) + row);
  });
}

void PredictionFile::add_truth() {
  std::vector<std::vector<std::string>> classes;
  for (const SourceTruth& source : samples_.truth) classes.push_back(source.classes);
  add_classes("label", std::move(classes), [](const PredictedRows& rows, std::int64_t row) {
    return std::int64_t{rows.truth.label[row]};
  });
  add_floats("weight", {}, 0, [](const PredictedRows& rows, std::int64_t row, float* out) {
    *out = rows.truth.weight[row];
  });
  const ArrayMeaning latents = all_latents(samples_.truth);
  if (latents.names.empty()) return;
  add_floats("latents", latents, latents.names.size(),
             [columns = columns_of(latents.names, samples_.truth)](const PredictedRows& rows,
                                                                   std::int64_t row, float* out) {
               const float* const own = rows.truth.latents + row * rows.truth.layout.latents;
               for (const std::int64_t column : columns[static_cast<std::size_t>(rows.source)])
                 *out++ = column < 0 ? std::numeric_limits<float>::quiet_NaN() : own[column];
             });
}

/// The predicted class of each pixel.
void PredictionFile::add_pixel_classes(const HeadSpec& head) {
  const SampleLayout& image = samples_.mixture->layout();
  const ArrayFile::Array array = file_->open(
      named("predicted", head), {ElementType::i32, {count_, image.height, image.width}}, {});
  columns_.push_back([this, array, &head](const PredictedRows& rows) {
    const std::size_t classes = head.classes.size();
    std::vector<std::int32_t> values;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::span own(rows.outputs + row * rows.width + head.begin,
                          static_cast<std::size_t>(head.outputs()));
      for (std::size_t at = 0; at < own.size(); at += classes)
        values.push_back(static_cast<std::int32_t>(index_of_largest(own.subspan(at, classes))));
    }
    file_->append(array, bytes_of(values));
  });
}

/// The predictions for each item; NaN after the last item of a set.
void PredictionFile::add_items(const HeadSpec& head) {
  const ArrayFile::Array array = file_->open(
      named("prediction", head), {ElementType::f32, {count_, head.positions, head.rows()}}, {});
  columns_.push_back([this, array, &head](const PredictedRows& rows) {
    const auto targets = static_cast<std::int64_t>(head.targets.size());
    std::vector<float> values;
    for (std::int64_t row = 0; row < rows.count; ++row)
      for (std::int64_t i = 0; i < head.outputs(); ++i)
        values.push_back(i / targets < rows.truth.count[row]
                             ? predicted_target(head.targets[static_cast<std::size_t>(i % targets)],
                                                rows.outputs[row * rows.width + head.begin + i])
                             : std::numeric_limits<float>::quiet_NaN());
    file_->append(array, bytes_of(values));
  });
}

void PredictionFile::add_features(const FeatureColumns& features) {
  std::vector<std::int64_t> shape = {count_};
  if (features.shape.height > 1) shape.push_back(features.shape.height);
  if (features.shape.positions() > 1) shape.push_back(features.shape.width);
  shape.push_back(features.shape.channels);
  const ArrayFile::Array array = file_->open("features", {ElementType::f32, shape}, {});
  columns_.push_back([this, array, features](const PredictedRows& rows) {
    std::vector<float> values;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const float* const own = rows.outputs + row * rows.width + features.first;
      values.insert(values.end(), own, own + features.shape.elements());
    }
    file_->append(array, bytes_of(values));
  });
}

/// Each target's standard deviation (error gaussian), or its quantiles other than the median.
void PredictionFile::add_spread(const HeadSpec& head, const ArrayMeaning& meaning) {
  const std::size_t targets = head.targets.size();
  for (std::size_t j = 1; j < static_cast<std::size_t>(head.law.outputs); ++j) {
    const bool gaussian = head.law.error == ops::RegressionError::gaussian;
    const std::string name =
        gaussian ? "deviation" : fmt::format("quantile_{:g}", head.law.level[j]);
    add_floats(
        named(name, head), meaning, targets,
        [&head, j, targets, gaussian](const PredictedRows& rows, std::int64_t row, float* out) {
          const float* const own = rows.outputs + row * rows.width + head.begin + j * targets;
          for (std::size_t k = 0; k < targets; ++k)
            out[k] = gaussian ? predicted_deviation(head.targets[k], own[k])
                              : predicted_target(head.targets[k], own[k]);
        });
  }
}

void PredictionFile::add_head(std::size_t h) {
  const HeadSpec& head = (*samples_.heads)[h];
  const auto outputs = static_cast<std::size_t>(head.outputs());
  const auto own = [&head, outputs](const PredictedRows& rows, std::int64_t row) {
    return std::span(rows.outputs + row * rows.width + head.begin, outputs);
  };
  if (head.is_dense()) return add_pixel_classes(head);
  if (head.is_item()) return add_items(head);
  if (head.is_self_supervised())
    return add_floats(named(head.is_masked() ? "patches" : "embedding", head), {}, outputs,
                      [own](const PredictedRows& rows, std::int64_t row, float* out) {
                        std::ranges::copy(own(rows, row), out);
                      });
  ArrayMeaning meaning;
  meaning.names = head.classes;
  for (const HeadTarget& target : head.targets) {
    meaning.names.push_back(target.name);
    meaning.units.push_back(target.unit);
  }
  if (head.is_choice()) {
    const std::vector classes(samples_.counts.size(), head.classes);
    add_classes(named("predicted", head), classes,
                [own](const PredictedRows& rows, std::int64_t row) {
                  return static_cast<std::int64_t>(index_of_largest(own(rows, row)));
                });
  }
  const bool regression = head.loss == LossKind::regression;
  const std::size_t columns = regression ? head.targets.size() : outputs;
  add_floats(
      named(regression ? "prediction" : "scores", head), meaning, columns,
      [&head, own, columns, regression](const PredictedRows& rows, std::int64_t row, float* out) {
        const std::span<const float> values = own(rows, row).first(columns);
        std::vector<double> probabilities(values.size());
        if (!regression) class_probabilities(head, values, probabilities);
        for (std::size_t k = 0; k < values.size(); ++k)
          out[k] = regression ? predicted_target(head.targets[k], values[k])
                              : static_cast<float>(probabilities[k]);
      });
  if (regression) add_spread(head, meaning);
  if (samples_.feeds.empty() || head.loss == LossKind::class_label) return;
  add_floats(
      named("truth", head), meaning, columns,
      [&head, columns, &feed = samples_.feeds[h]](const PredictedRows& rows, std::int64_t row,
                                                  float* out) {
        const bool known = ((feed.sources >> rows.source) & 1u) != 0;
        for (std::size_t k = 0; k < columns; ++k) {
          if (!known)
            out[k] = std::numeric_limits<float>::quiet_NaN();
          else if (head.loss == LossKind::regression)
            out[k] = true_target(feed, head, rows, row, k);
          else
            out[k] =
                rows.truth.target[row * rows.truth.layout.targets + static_cast<std::int64_t>(k)];
        }
      });
}

}  // namespace wellspring
