#include "train/run_samples.h"

#include "core/counted.h"
#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace wellspring {
namespace {

SampleOrigin origin_of(const RunConfig& config, const SourceConfig& configured,
                       const Source& source) {
  SampleOrigin origin;
  origin.name = source.name();
  const SourceSpec& spec = configured.spec;
  if (spec.kind == SourceKind::generator) {
    origin.info =
        make_generator(spec.generator, static_cast<int>(config.data.size), spec.params, spec.place)
            ->info();
    origin.has_range = true;
  } else {
    origin.info.name = source.name();
    origin.info.layout = source.layout();
    for (const std::string& name : source.latent_names()) {
      origin.info.latents.push_back({});
      origin.info.latents.back().name = name;
    }
  }
  origin.info.classes = source.classes();
  origin.augmentation = plan_augmentation(configured.augmentations.without_list(), {1, 1}, {1, 1});
  return origin;
}

std::vector<SampleOrigin> held_out_origins(const RunConfig& config, const Mixture& mixture) {
  std::vector<SampleOrigin> origins;
  for (int i = 0; i < mixture.size(); ++i)
    origins.push_back(
        origin_of(config, config.held_out_from(static_cast<std::size_t>(i)), mixture.source(i)));
  return origins;
}

Mixture open(const RunConfig& config, RunSampleRange::Split split) {
  if (split == RunSampleRange::Split::train) return config.open_training();
  if (config.evaluation.sources.empty())
    fail(ErrorKind::config, {fmt::format("{} holds nothing out", config.name),
                             "eval.sources of the configuration is empty",
                             "name held-out sources there, or take the training's samples"});
  return config.open_held_out();
}

}  // namespace

RunSamples::RunSamples(RunConfig config, const RunSampleRange& range)
    : config_(std::move(config)),
      range_(range),
      mixture_(open(config_, range.split)),
      origins_(held_out() ? held_out_origins(config_, mixture_)
                          : training_origins(config_, mixture_)) {
  const std::uint64_t most = available();
  count_ = range.count.value_or(most);
  if (most == 0)
    fail(ErrorKind::config, {fmt::format("{} has no step {}", config_.name, range.step),
                             "the run has " + counted(config_.train.steps, "step"),
                             "name an earlier step, or set train.steps"});
  if (count_ > most)
    fail(ErrorKind::config,
         {held_out() ? fmt::format("{} of the {} held out by {}", counted(count_, "sample"), most,
                                   config_.name)
                     : fmt::format("{} of the {} that {} has from step {} on",
                                   counted(count_, "sample"), most, config_.name, range.step),
          "there are not as many",
          held_out() ? "ask for fewer; eval.samples says how many of a generator are held out"
                     : "ask for fewer, or set train.steps"});
  limit(count_);
}

void RunSamples::limit(std::uint64_t most) {
  count_ = std::min(count_, most);
  rows_ = std::min(count_, static_cast<std::uint64_t>(config_.train.batch));
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
    // The rows of a step depend on the whole batch and on the whole run.
    mixture_.plan(*memory_, {config_.train.batch, 0, rows},
                  static_cast<std::uint64_t>(config_.train.steps));
  }
  memory_->commit(config_.memory_limit());
  mixture_.load(*stream_);
  held_out() ? make_held_out(*stream_, take) : make_training(*stream_, take);
}

void RunSamples::make_training(Stream& stream,
                               const std::function<void(const HostSamples&)>& take) {
  std::uint64_t done = 0;
  for (std::uint64_t step = range_.step; done < count_; ++step) {
    const std::uint64_t rows = std::min(rows_, count_ - done);
    StepState state;
    state.step = step;
    mixture_.before_step(stream, step);
    stream.copy(state_.data(), &state, sizeof state, CopyDirection::host_to_device, "step");
    const auto part = static_cast<std::int64_t>(rows);
    mixture_.emit(stream, state_.data(), batch_.begin(stream, part));
    const BatchView made = batch_.end(stream, part);
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
  std::vector<std::string> all;
  for (int i = 0; i < mixture_.size(); ++i)
    for (std::string& note : mixture_.source(i).notes()) all.push_back(std::move(note));
  if (!held_out() && config_.data.mix.on())
    all.emplace_back(
        "data.mix is not applied: these are the samples that training then mixes with each other");
  return all;
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
  return fmt::format("{} of {} as the network sees them, {}", counted(count_, "sample"),
                     config_.name, steps());
}

nlohmann::ordered_json RunSamples::identity() const {
  nlohmann::ordered_json identity = {{"configuration", config_.portable_yaml()},
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
      source["generator_version"] = origins_[static_cast<std::size_t>(i)].info.version;
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

Preview preview_batch(const RunConfig& config, const Mixture& mixture, Stream& stream,
                      const BatchView& batch, const std::vector<Slot>& slots) {
  constexpr std::int64_t kMostImages = 64;
  BatchView shown = batch;
  shown.size = std::min(kMostImages, batch.size);
  shown.dtype = DType::f32;
  const auto rows = static_cast<std::size_t>(shown.size);
  const auto download = [&]<class T>(std::vector<T>& values, const void* from) {
    stream.copy(values.data(), from, values.size() * sizeof(T), CopyDirection::device_to_host,
                "preview");
    stream.synchronize();
  };
  std::vector<float> x;
  visit_float(batch.dtype, [&]<class T>(T) {
    std::vector<T> raw(rows * static_cast<std::size_t>(batch.layout.elements()));
    download(raw, batch.x);
    for (const T value : raw) x.push_back(static_cast<float>(value));
  });
  std::vector<std::int32_t> label(rows);
  download(label, batch.label);
  shown.x = x.data();
  shown.label = label.data();
  return contact_sheet({config.name, fmt::format("seed {}", config.seed), ""},
                       training_origins(config, mixture), {shown, std::span(slots).first(rows)});
}

}  // namespace wellspring
