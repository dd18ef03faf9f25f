#include "train/run_samples.h"

#include "core/config/yaml_json.h"
#include "core/error.h"
#include "core/text/plural.h"
#include "generators/own/own_generator.h"
#include "sources/datasets/dataset.h"
#include "train/evaluation/evaluation.h"
#include "train/heads/heads.h"
#include "train/normalised_data.h"
#include "train/step/source_truth.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace wellspring {
namespace {

/// Normalised values have no units and different ranges.
void forget_units(SampleOrigin& origin) {
  origin.has_range = false;
  for (std::vector<ValueInfo>* const values : {&origin.info.features, &origin.info.globals})
    for (ValueInfo& value : *values) value.unit.clear();
}

SampleOrigin origin_of(const RunConfig& config, const SourceConfig& configured,
                       const Source& source) {
  SampleOrigin origin;
  origin.name = source.name();
  const SourceSpec& spec = configured.spec;
  if (spec.kind == SourceKind::generator) {
    const auto generator =
        make_generator(spec.generator, config.data.size, spec.params, spec.place);
    origin.info = generator->info();
    origin.parameters = generator->parameters_yaml();
    origin.has_range = true;
  } else {
    origin.info.name = source.name();
    origin.info.layout = source.layout();
    if (const Dataset* const rows = source.rows()) {
      origin.info.features = rows->features();
      origin.info.globals = rows->globals();
      origin.info.latents = rows->latents();
      origin.info.targets = rows->targets();
    }
  }
  origin.info.classes = source.classes();
  if (source.layout().kind == SampleKind::image)
    origin.augmentation = plan_augmentation(configured.augmentations.held_out(), {1, 1}, {1, 1});
  else if (!configured.augmentations.normalisation.is_identity())
    forget_units(origin);
  return origin;
}

std::vector<SampleOrigin> held_out_origins(const RunConfig& config, const Mixture& mixture) {
  std::vector<SampleOrigin> origins;
  for (int i = 0; i < mixture.size(); ++i)
    origins.push_back(
        origin_of(config, config.held_out_from(static_cast<std::size_t>(i)), mixture.source(i)));
  return origins;
}

Mixture open(RunConfig& config, const RunSampleRange& range) {
  if (range.split == RunSampleRange::Split::train) return open_normalised(config, range.dense);
  if (config.evaluation.sources.empty())
    fail(ErrorKind::config,
         {fmt::format("{} has no held-out samples", config.name), "eval.sources is empty",
          "add sources to eval.sources, or use --split train"});
  Mixture held_out = config.open_held_out({}, range.dense);
  if (held_out.layout().kind == SampleKind::image) return held_out;
  open_normalised(config);
  return config.open_held_out({}, range.dense);
}

}  // namespace

RunSamples::RunSamples(RunConfig config, const RunSampleRange& range)
    : config_(std::move(config)),
      range_(range),
      mixture_(open(config_, range)),
      origins_(held_out() ? held_out_origins(config_, mixture_)
                          : training_origins(config_, mixture_)) {
  if (range.dense == DenseLabels::plane && mixture_.layout().planes == 0)
    fail(ErrorKind::config,
         {fmt::format("{} has no dense labels", config_.name),
          "none of its sources has per-pixel labels",
          "omit --plane, or use a source with dense labels: see wellspring describe"});
  const std::uint64_t most = available();
  count_ = range.count.value_or(most);
  if (most == 0)
    fail(ErrorKind::config, {fmt::format("{} has no step {}", config_.name, range.step),
                             "the run has " + counted(config_.train.steps, "step"),
                             "choose an earlier step, or increase train.steps"});
  if (count_ > most)
    fail(ErrorKind::config,
         {held_out() ? fmt::format("{}: only {} are held out by {}", counted(count_, "sample"),
                                   most, config_.name)
                     : fmt::format("{}: only {} are left in {} from step {} on",
                                   counted(count_, "sample"), most, config_.name, range.step),
          "",
          held_out()
              ? "ask for fewer; eval.samples sets the number of held-out samples per generator"
              : "ask for fewer, or increase train.steps"});
  if (!held_out() && config_.data.mix.on()) plan_mixing();
  limit(count_);
}

void RunSamples::plan_mixing() {
  if (range_.dense == DenseLabels::plane)
    fail(ErrorKind::config,
         {config_.name + ": dense labels of mixed images",
          "data.mix blends images and their classes, not their dense labels",
          "omit --plane, or set data.mix.probability=0 for the images before mixing"});
  const auto truth = training_truth(config_, mixture_);
  const auto heads = make_heads(config_.heads, truth);
  const auto labels = mixed_labels(heads, feed_heads(heads, config_.heads, truth), mixture_.size());
  mix_.emplace(config_.data.mix, config_.seed, labels);
  for (std::size_t i = 0; i < origins_.size(); ++i) {
    SampleInfo& info = origins_[i].info;
    if (labels[i].in_target) continue;
    info.targets.clear();
    for (const std::string& name : info.classes) info.targets.push_back({name, ""});
  }
}

SampleLayout RunSamples::layout() const {
  SampleLayout layout = mixture_.layout();
  if (mix_) layout.targets = std::max(layout.targets, mix_->targets());
  return layout;
}

void RunSamples::limit(std::uint64_t most) {
  count_ = std::min(count_, most);
  const std::uint64_t pairs = mix_ ? count_ + count_ % 2 : count_;
  rows_ = std::min(pairs, static_cast<std::uint64_t>(config_.train.batch));
}

std::uint64_t RunSamples::available() const {
  if (!held_out()) {
    const auto steps = static_cast<std::uint64_t>(config_.train.steps);
    return (steps - std::min(steps, range_.step)) * static_cast<std::uint64_t>(config_.train.batch);
  }
  std::uint64_t all = 0;
  for (int i = 0; i < mixture_.size(); ++i) all += held_out_samples(i);
  return all;
}

std::uint64_t RunSamples::held_out_samples(int source) const {
  const std::uint64_t size = mixture_.source(source).size();
  return size > 0 ? size : static_cast<std::uint64_t>(config_.evaluation.samples);
}

const SourceSpec& RunSamples::spec(int index) const {
  const auto k = static_cast<std::size_t>(index);
  return held_out() ? config_.held_out_from(k).spec : config_.data.sources[k].spec;
}

std::string RunSamples::steps() const {
  const std::uint64_t last =
      range_.step + (count_ - 1) / static_cast<std::uint64_t>(config_.train.batch);
  return last == range_.step ? fmt::format("step {}", last)
                             : fmt::format("steps {} to {}", range_.step, last);
}

std::string RunSamples::location(const Slot& slot) const {
  const Dataset* const rows = mixture_.source(static_cast<int>(slot.source)).rows();
  if (rows == nullptr) return "";
  const std::string found = rows->location(static_cast<std::int64_t>(slot.sample));
  const std::string root = config_.resolve("").string();
  return found.starts_with(root) ? found.substr(root.size()) : found;
}

std::size_t RunSamples::longest_location() const {
  std::size_t longest = 0;
  for (int i = 0; i < mixture_.size(); ++i) {
    const Dataset* const rows = mixture_.source(i).rows();
    for (std::int64_t row = 0; rows != nullptr && row < rows->size(); ++row) {
      Slot slot;
      slot.source = static_cast<std::uint32_t>(i);
      slot.sample = static_cast<std::uint64_t>(row);
      longest = std::max(longest, location(slot).size());
    }
  }
  return longest;
}

std::uint64_t RunSamples::skip(std::uint64_t samples) {
  skipped_steps_ = held_out() ? 0 : samples / rows_;
  return skipped_steps_ * rows_;
}

void RunSamples::make(const std::function<void(const HostSamples&)>& take) {
  const Device device = Device::parse(config_.device);
  stream_.emplace(device, static_cast<int>(config_.threads));
  memory_.emplace(device);
  const auto rows = static_cast<std::int64_t>(rows_);
  batch_.plan(*memory_, "samples", rows, layout());
  state_ = memory_->reserve<StepState>("samples", "step", 1);
  if (held_out()) {
    mixture_.plan(*memory_, rows, 1);
  } else {
    // The rows of a step depend on the whole batch and the length of the run.
    const Share share{config_.train.batch, 0, rows};
    mixture_.plan(*memory_, share, static_cast<std::uint64_t>(config_.train.steps));
    if (mix_) mix_->plan(*memory_, share, layout());
  }
  memory_->commit(config_.memory_limit());
  mixture_.load(*stream_);
  held_out() ? make_held_out(*stream_, take) : make_training(*stream_, take);
}

void RunSamples::make_training(Stream& stream,
                               const std::function<void(const HostSamples&)>& take) {
  std::uint64_t done = skipped_steps_ * rows_;
  for (std::uint64_t step = range_.step + skipped_steps_; done < count_; ++step) {
    const std::uint64_t rows = std::min(rows_, count_ - done);
    StepState state;
    state.step = step;
    mixture_.before_step(stream, step);
    stream.copy(state_.data(), &state, sizeof state, CopyDirection::host_to_device, "step");
    // The last row can be mixed only if its partner exists.
    const auto part = static_cast<std::int64_t>(mix_ ? rows_ : rows);
    const BatchView batch = batch_.begin(stream, part);
    BatchView emitted = batch;
    if (mixture_.layout().targets == 0) emitted.target = nullptr;  // only mixing writes it
    mixture_.emit(stream, state_.data(), emitted);
    if (mix_) mix_->enqueue(stream, state_.data(), mixture_.slots(), batch);
    BatchView made = batch_.end(stream, part);
    made.size = static_cast<std::int64_t>(rows);
    mixture_.after_step(stream, step);
    const std::vector<Slot> slots = mixture_.host_slots(step);
    take({made, std::span(slots).first(rows)});
    done += rows;
  }
}

void RunSamples::make_held_out(Stream& stream,
                               const std::function<void(const HostSamples&)>& take) {
  std::uint64_t done = 0;
  for (int source = 0; source < mixture_.size(); ++source) {
    const std::uint64_t all = std::min(held_out_samples(source), count_ - done);
    for (std::uint64_t first = 0; first < all; first += rows_) {
      const auto rows = static_cast<std::int64_t>(std::min(rows_, all - first));
      mixture_.emit_range(stream, source, first, batch_.begin(stream, rows), rows);
      const BatchView made = batch_.end(stream, rows);
      std::vector<Slot> slots(static_cast<std::size_t>(rows));
      for (std::int64_t row = 0; row < rows; ++row)
        RangeSlots{mixture_.source(source).first_evaluation_sample() + first,
                   static_cast<std::uint32_t>(source), rows, slots.data()}(row);
      take({made, slots});
    }
    done += all;
  }
}

std::vector<std::string> RunSamples::notes() const {
  return mixture_.notes();
}

SampleHeading RunSamples::heading() const {
  std::vector<std::string> names;
  for (const SampleOrigin& origin : origins_) names.push_back(origin.name);
  const std::string where = held_out() ? "held out" : steps();
  return {config_.name,
          fmt::format("seed {}   {}   {}", config_.seed, where, counted(count_, "sample")),
          fmt::format("{}", fmt::join(names, "   "))};
}

std::string RunSamples::summary() const {
  if (held_out()) return fmt::format("{} held out by {}", counted(count_, "sample"), config_.name);
  return fmt::format("{} of {} as network inputs, {}", counted(count_, "sample"), config_.name,
                     steps());
}

nlohmann::ordered_json RunSamples::identity() const {
  nlohmann::ordered_json identity = {{"configuration", yaml_to_json(config_.portable_yaml())},
                                     {"seed", config_.seed},
                                     {"split", held_out() ? "eval" : "train"}};
  if (!held_out()) identity["step"] = range_.step;
  identity["count"] = count_;
  identity["sources"] = nlohmann::ordered_json::array();
  for (int i = 0; i < mixture_.size(); ++i) {
    nlohmann::ordered_json source = {{"name", mixture_.source(i).name()},
                                     {"seed", source_seed(spec(i), config_.seed)}};
    if (spec(i).kind == SourceKind::generator) {
      source["generator"] = spec(i).generator;
      add_versions(source, origins_[static_cast<std::size_t>(i)].info);
      if (is_own_generator(spec(i).generator))
        source["generator_header"] = own_generator_hash(spec(i).generator);
    } else {
      source["rows"] = mixture_.source(i).size();
    }
    identity["sources"].push_back(std::move(source));
  }
  return identity;
}

nlohmann::ordered_json RunSamples::making() const {
  return {{"device", Device::parse(config_.device).to_string()}, {"batch", rows_}};
}

std::vector<SampleOrigin> training_origins(const RunConfig& config, const Mixture& mixture) {
  std::vector<SampleOrigin> origins;
  for (int i = 0; i < mixture.size(); ++i)
    origins.push_back(
        origin_of(config, config.data.sources[static_cast<std::size_t>(i)], mixture.source(i)));
  return origins;
}

namespace {

/// Sources that provide their first samples in the batch of `step`.
std::vector<int> first_seen(const Mixture& mixture, std::uint64_t step) {
  std::vector<int> sources;
  for (int k = 0; k < mixture.size(); ++k)
    if (mixture.achieved(step, k) == 0 && mixture.achieved(step + 1, k) > 0) sources.push_back(k);
  return sources;
}

/// The rows of a batch to show, source by source, beginning with `first`. Images: an
/// equal number per source, 64 in total or 8 each; events: enough to fill a histogram.
std::vector<std::size_t> shown_rows(const std::vector<Slot>& slots, SampleKind kind,
                                    const std::vector<int>& first) {
  constexpr std::size_t kImages = 64, kImagesOfEach = 8, kEvents = 4096;
  std::vector<std::vector<std::size_t>> of_source(kMaxSources);
  for (std::size_t row = 0; row < slots.size(); ++row) of_source[slots[row].source].push_back(row);
  const auto sources = static_cast<std::size_t>(
      std::ranges::count_if(of_source, [](const auto& rows) { return !rows.empty(); }));
  const std::size_t most =
      kind == SampleKind::image
          ? std::max(kImagesOfEach, kImages / std::max<std::size_t>(1, sources))
          : kEvents;
  std::vector<std::size_t> rows;
  const auto add = [&](std::vector<std::size_t>& own) {
    own.resize(std::min(most, own.size()));
    rows.insert(rows.end(), own.begin(), own.end());
    own.clear();
  };
  for (const int source : first) add(of_source[static_cast<std::size_t>(source)]);
  for (std::vector<std::size_t>& own : of_source) add(own);
  return rows;
}

/// Copies rows of a batch to the host.
class RowDownload {
 public:
  RowDownload(Stream& stream, const std::vector<std::size_t>& rows)
      : stream_(stream), rows_(rows) {}

  /// Rows of a column with `width` values per row; empty if there is no such column.
  template <class T>
  std::vector<T> column(const void* data, std::int64_t width) const {
    std::vector<T> values;
    if (data == nullptr) return values;
    const auto row_values = static_cast<std::size_t>(width);
    values.resize(rows_.size() * row_values);
    for (std::size_t i = 0; i < rows_.size();) {
      std::size_t last = i + 1;  // copy adjacent rows together
      while (last < rows_.size() && rows_[last] == rows_[last - 1] + 1) ++last;
      stream_.copy(values.data() + i * row_values,
                   static_cast<const T*>(data) + rows_[i] * row_values,
                   (last - i) * row_values * sizeof(T), CopyDirection::device_to_host, "preview");
      i = last;
    }
    stream_.synchronize();
    return values;
  }

 private:
  Stream& stream_;
  const std::vector<std::size_t>& rows_;
};

}  // namespace

bool brings_a_source(const Mixture& mixture, std::uint64_t step) {
  return !first_seen(mixture, step).empty();
}

Preview preview_batch(const RunConfig& config, const Mixture& mixture, Stream& stream,
                      const BatchView& batch, std::uint64_t step) {
  const std::vector<Slot> all = mixture.host_slots(step);
  const std::vector<int> first = first_seen(mixture, step);
  const std::vector<std::size_t> rows = shown_rows(all, batch.layout.kind, first);
  const RowDownload download(stream, rows);
  std::vector<float> x;
  visit_float(batch.dtype, [&]<class T>(T) {
    for (const T value : download.column<T>(batch.x, batch.layout.elements()))
      x.push_back(static_cast<float>(value));
  });
  auto label = download.column<std::int32_t>(batch.label, 1);
  auto weight = download.column<float>(batch.weight, 1);
  auto count = download.column<std::int32_t>(batch.count, 1);
  auto plane = download.column<float>(
      batch.plane, std::int64_t{batch.layout.planes} * batch.layout.height * batch.layout.width);
  std::vector<Slot> slots;
  for (const std::size_t row : rows) slots.push_back(all[row]);
  BatchView shown;
  shown.size = static_cast<std::int64_t>(rows.size());
  shown.layout = batch.layout;
  shown.x = x.data();
  shown.label = label.data();
  if (!weight.empty()) shown.weight = weight.data();
  if (!count.empty()) shown.count = count.data();
  if (!plane.empty()) shown.plane = plane.data();
  std::vector<std::string> names;
  for (const int source : first) names.push_back(mixture.source(source).name());
  return preview({config.name, fmt::format("seed {}   step {}", config.seed, step),
                  fmt::format("first samples of {}", fmt::join(names, ", "))},
                 training_origins(config, mixture), {shown, slots});
}

RgbImage picture_of(const DensePredictions& predictions, const RunConfig& config,
                    const Mixture& held_out, std::uint64_t step) {
  std::vector<float> x, plane;
  std::vector<std::int32_t> label;
  std::vector<Slot> slots;
  const auto values = predictions.layout.elements();
  const auto pixels = std::int64_t{predictions.layout.height} * predictions.layout.width;
  for (std::int64_t i = 0; i < predictions.count; ++i)
    for (const std::vector<float>* const classes : {&predictions.truth, &predictions.predicted}) {
      const float* const image = predictions.x.data() + i * values;
      const float* const own = classes->data() + i * pixels;
      x.insert(x.end(), image, image + values);
      plane.insert(plane.end(), own, own + pixels);
      label.push_back(predictions.label[static_cast<std::size_t>(i)]);
      slots.emplace_back();
      slots.back().sample = static_cast<std::uint64_t>(i);
      slots.back().source = static_cast<std::uint32_t>(predictions.source);
    }
  BatchView shown;
  shown.size = static_cast<std::int64_t>(slots.size());
  shown.layout = predictions.layout;
  shown.x = x.data();
  shown.label = label.data();
  shown.plane = plane.data();
  return preview({config.name, fmt::format("step {}", step),
                  fmt::format("held out, {}: dense labels, then head {}",
                              held_out.source(predictions.source).name(), predictions.head)},
                 held_out_origins(config, held_out), {shown, slots})
      .image;
}

}  // namespace wellspring
