// `wellspring export`: samples as NumPy arrays, with the truth beside them.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "core/error.h"
#include "core/npy.h"
#include "core/text.h"
#include "core/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct Options {
  GeneratorOptions samples;
  std::uint64_t count = 0;
  SampleMaking making;
  std::string device = "cpu";
  std::string out;
};

nlohmann::ordered_json metadata(const Generator& generator, const Options& options) {
  const GeneratorInfo& info = generator.info();
  nlohmann::ordered_json latents = nlohmann::json::array();
  for (const LatentInfo& latent : info.latents) {
    latents.push_back(
        {{"name", latent.name}, {"unit", latent.unit}, {"low", latent.low}, {"high", latent.high}});
  }
  return {{"generator", info.name},       {"parameters", generator.parameters_yaml()},
          {"seed", options.samples.seed}, {"first", options.samples.first},
          {"count", options.count},       {"classes", info.classes},
          {"features", info.features},    {"latents", std::move(latents)},
          {"version", kVersion}};
}

void write_npz(const Generator& generator, const Options& options) {
  const auto count = static_cast<std::int64_t>(options.count);
  const SampleShape shape = generator.shape();
  const auto latents = static_cast<std::int64_t>(generator.info().latents.size());
  SampleMaking making = options.making;
  making.device = Device::parse(options.device);
  SampleReader reader(generator, options.samples.seed, making);

  // x is by far the largest and goes to the file as it is made; the truth beside it is kept.
  std::vector<std::int32_t> label;
  std::vector<float> latent, weight;
  NpzWriter file(options.out);
  std::vector<std::int64_t> x_shape = {count};
  if (generator.info().kind == SampleKind::image) {
    x_shape.insert(x_shape.end(), {shape.height, shape.width, shape.channels});
  } else {
    x_shape.push_back(shape.channels);
  }
  file.begin("x", {ElementType::f32, x_shape});
  reader.read(options.samples.first, options.count, [&](const HostSamples& samples) {
    file.append(std::as_bytes(samples.x));
    label.insert(label.end(), samples.label.begin(), samples.label.end());
    latent.insert(latent.end(), samples.latents.begin(), samples.latents.end());
    weight.insert(weight.end(), samples.weight.begin(), samples.weight.end());
  });
  file.end();
  file.add("label", {ElementType::i32, {count}}, std::as_bytes(std::span(label)));
  file.add("latents", {ElementType::f32, {count, latents}}, std::as_bytes(std::span(latent)));
  file.add("weight", {ElementType::f32, {count}}, std::as_bytes(std::span(weight)));
  const std::string text = metadata(generator, options).dump(2);
  file.add_file("metadata.json", std::as_bytes(std::span(text)));
  file.commit();
}

int run(const Options& options) {
  if (!options.out.ends_with(".npz")) {
    fail(ErrorKind::config,
         {fmt::format("command line: --out '{}' has no known ending", options.out),
          "the ending says which format to write", "known: .npz"});
  }
  const std::unique_ptr<Generator> generator = options.samples.make();
  write_npz(*generator, options);
  fmt::print("{}: {} samples of {}, arrays x, label, latents, weight\n", options.out, options.count,
             generator->info().name);
  return 0;
}

}  // namespace

Command add_export(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("export", "write samples as NumPy arrays, with the truth beside them");
  auto options = std::make_shared<Options>();
  app->add_option("generator", options->samples.name, "a name from 'wellspring list generators'")
      ->required();
  app->add_option("--count", options->count, "how many samples")
      ->required()
      ->check(CLI::PositiveNumber);
  app->add_option("--first", options->samples.first, "id of the first sample")
      ->capture_default_str();
  add_generator_options(*app, options->samples);
  app->add_option("--out", options->out, "the file: NAME.npz")->required();
  app->add_option("--device", options->device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
