// `wellspring preview`: samples as a picture, or a batch of a configuration as the network sees it.
#include "generators/preview.h"

#include "cli/command.h"
#include "cli/options.h"
#include "core/error.h"
#include "kernels/emission/batch_columns.h"
#include "train/preview.h"
#include "train/run_config.h"
#include "train/supervised_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

// Where --count is not given: a square of images, or enough events for smooth histograms.
constexpr std::uint64_t kImages = 36;
constexpr std::uint64_t kEvents = 20'000;
constexpr std::uint64_t kRows = 8;  ///< of events, printed as numbers

struct Options {
  SampleOptions samples;              ///< range.count 0: not given
  std::vector<std::string> settings;  ///< "name=value", as those of --param
  std::uint64_t step = 0;
  std::string out;
};

void print_events(Generator& generator, const SampleRange& range) {
  const SampleInfo& info = generator.info();
  const auto features = static_cast<std::size_t>(generator.layout().elements());
  fmt::print("{:>8} {:<12}", "id", "class");
  for (const ValueInfo& feature : info.features) fmt::print(" {:>12}", feature.name);
  fmt::print(" {:>12}\n", "weight");
  SampleMaker maker(generator);
  maker.make({range.seed, range.first, std::min(range.count, kRows)},
             [&](const HostSamples& samples) {
               for (std::size_t i = 0; i < samples.label().size(); ++i) {
                 const auto label = static_cast<std::size_t>(samples.label()[i]);
                 fmt::print("{:>8} {:<12}", samples.first + i, info.classes.at(label));
                 for (const float value : samples.x().subspan(i * features, features)) {
                   fmt::print(" {:>12.6g}", value);
                 }
                 fmt::print(" {:>12.6g}\n", samples.weight()[i]);
               }
             });
}

void preview_generator(const Options& options) {
  const std::unique_ptr<Generator> generator = options.samples.make_generator();
  const SampleKind kind = generator->layout().kind;
  const bool image = kind == SampleKind::image;
  SampleRange range = options.samples.range;
  if (range.count == 0) range.count = image ? kImages : kEvents;
  const std::string out = options.out.empty() ? generator->info().name + ".png" : options.out;
  write_png(out, preview(*generator, range));
  print_notes(generator->notes());
  if (kind == SampleKind::event) print_events(*generator, range);
  fmt::print("{}: {} samples of {}, ids from {}\n", out, range.count, generator->info().name,
             range.first);
}

/// The batch of one step, augmentation included, on the CPU: its samples are the same anywhere.
void preview_config(const Options& options) {
  std::vector<std::string> overrides = {"device=cpu"};
  for (const std::string& setting : options.samples.settings) overrides.push_back(setting);
  const RunConfig config = RunConfig::load(options.samples.generator, overrides);
  Mixture mixture = config.open_training();
  const SampleLayout layout = mixture.layout();
  if (layout.kind != SampleKind::image) {
    fail(ErrorKind::config,
         {fmt::format("{} trains on no images", options.samples.generator),
          "a preview of a configuration is a picture", "preview the generator by its name"});
  }
  Stream stream(Device::cpu());
  MemoryPlan memory(Device::cpu());
  BatchColumns buffers;
  const std::int64_t batch = config.train.batch;
  buffers.plan(memory, "preview", batch, layout, DType::f32);
  const Planned<StepState> state = memory.reserve<StepState>("preview", "step", 1);
  mixture.plan(memory, batch, static_cast<std::uint64_t>(config.train.steps));
  memory.commit();
  mixture.load(stream);

  *state.data() = StepState{};
  state.data()->step = options.step;
  mixture.before_step(stream, options.step);
  mixture.emit(stream, state.data(), buffers.view());
  stream.synchronize();
  mixture.after_step(stream, options.step);
  const std::string out =
      options.out.empty()
          ? std::filesystem::path(options.samples.generator).stem().string() + ".png"
          : options.out;
  write_png(out, batch_sheet(stream, buffers.view(), mixture.host_slots(options.step),
                             preview_sources(config, mixture)));
  fmt::print("{}: the batch of step {} as the network sees it\n", out, options.step);
}

void require_png_name(const std::string& out) {
  if (out.empty() || std::filesystem::path(out).extension() == ".png") return;
  fail(ErrorKind::config, {fmt::format("command line: cannot draw '{}'", out),
                           "a preview is a PNG file", "give --out a name that ends in .png"});
}

bool names_config_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

}  // namespace

Command add_preview(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "preview", "draw samples as a PNG: images side by side, events as histograms");
  auto options = std::make_shared<Options>();
  app->add_option("what", options->samples.generator,
                  "a name from 'wellspring list generators', or a configuration (NAME.yaml): its "
                  "batch, augmentation included")
      ->required();
  app->add_option("settings", options->settings,
                  "key=value: overrides of the configuration, or parameters of the generator");
  add_whole_option(*app, "--count", options->samples.range.count, 1, kAnyWhole,
                   "how many samples of a generator; 36 images or 20000 events without it");
  add_sample_options(*app, options->samples);
  add_whole_option(*app, "--step", options->step, 0, kAnyWhole,
                   "of a configuration: the step whose batch is shown")
      ->default_str("0");
  app->add_option("--out", options->out, "the PNG file; NAME.png without it");
  return {app, [options] {
            require_png_name(options->out);
            auto& settings = options->samples.settings;
            settings.insert(settings.end(), options->settings.begin(), options->settings.end());
            if (names_config_file(options->samples.generator)) {
              preview_config(*options);
            } else {
              preview_generator(*options);
            }
            return 0;
          }};
}

}  // namespace wellspring::cli
