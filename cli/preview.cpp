// `wellspring preview`: samples as a picture, or events as a table.
#include "cli/command.h"
#include "cli/contact_sheet.h"
#include "cli/options.h"
#include "cli/samples.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>

namespace wellspring::cli {
namespace {

struct Options {
  GeneratorOptions samples;
  std::int64_t count = 36;
  std::string out;
};

void preview_images(const Generator& generator, const Options& options) {
  const SampleShape shape = generator.shape();
  const auto elements = static_cast<std::size_t>(shape.elements());
  ContactSheet sheet(options.count, shape.width, shape.height);
  SampleReader reader(generator, options.samples.seed, {});
  std::set<std::int32_t> labels;
  reader.read(options.samples.first, static_cast<std::uint64_t>(options.count),
              [&](const HostSamples& samples) {
                for (std::int64_t i = 0; i < samples.count; ++i) {
                  const auto row = static_cast<std::size_t>(i);
                  const auto index =
                      static_cast<std::int64_t>(samples.first + row - options.samples.first);
                  sheet.put(index, samples.x.subspan(row * elements, elements), shape.channels);
                  labels.insert(samples.label[row]);
                }
              });
  const std::string out = options.out.empty() ? generator.info().name + ".png" : options.out;
  write_png(out, sheet.image());
  fmt::print("{}: {} samples of {}, ids {} to {}, {} of {} classes\n", out, options.count,
             generator.info().name, options.samples.first,
             options.samples.first + static_cast<std::uint64_t>(options.count) - 1, labels.size(),
             generator.info().classes.size());
}

void preview_events(const Generator& generator, const Options& options) {
  const GeneratorInfo& info = generator.info();
  fmt::print("{:>8} {:<12}", "id", "class");
  for (const std::string& feature : info.features) fmt::print(" {:>12}", feature);
  fmt::print(" {:>12}\n", "weight");
  SampleReader reader(generator, options.samples.seed, {});
  const auto features = static_cast<std::size_t>(generator.shape().elements());
  reader.read(options.samples.first, static_cast<std::uint64_t>(options.count),
              [&](const HostSamples& samples) {
                for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count); ++i) {
                  const auto label = static_cast<std::size_t>(samples.label[i]);
                  fmt::print("{:>8} {:<12}", samples.first + i,
                             label < info.classes.size() ? info.classes[label] : "");
                  for (const float value : samples.x.subspan(i * features, features)) {
                    fmt::print(" {:>12.6g}", value);
                  }
                  fmt::print(" {:>12.6g}\n", samples.weight[i]);
                }
              });
}

int run(const Options& options) {
  const std::unique_ptr<Generator> generator = options.samples.make();
  if (generator->info().kind == SampleKind::image) {
    preview_images(*generator, options);
  } else {
    preview_events(*generator, options);
  }
  return 0;
}

}  // namespace

Command add_preview(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("preview", "draw samples side by side as a PNG; events as a table");
  auto options = std::make_shared<Options>();
  app->add_option("what", options->samples.name,
                  "a name from 'wellspring list generators', or a configuration file")
      ->required();
  app->add_option("--count", options->count, "how many samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app->add_option("--first", options->samples.first, "id of the first sample")
      ->capture_default_str();
  add_generator_options(*app, options->samples);
  app->add_option("--out", options->out, "the PNG file; NAME.png without it");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
