// `wellspring digest`: the SHA-256 of samples, to compare machines, devices and versions.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "core/sha256.h"
#include "core/version.h"
#include "kernels/device.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace wellspring::cli {
namespace {

struct Options {
  GeneratorOptions samples;
  std::uint64_t count = 0;
  SampleMaking making;
  std::string device = "cpu";
};

/// Sample by sample, so that the batch leaves no mark: x, label, latents, weight.
void update(Sha256& hash, const HostSamples& samples, std::size_t elements, std::size_t latents) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples.count); ++i) {
    hash.update(std::as_bytes(samples.x.subspan(i * elements, elements)));
    hash.update(std::as_bytes(samples.label.subspan(i, 1)));
    hash.update(std::as_bytes(samples.latents.subspan(i * latents, latents)));
    hash.update(std::as_bytes(samples.weight.subspan(i, 1)));
  }
}

int run(const Options& options) {
  const std::unique_ptr<Generator> generator = options.samples.make();
  SampleMaking making = options.making;
  making.device = Device::parse(options.device);
  SampleReader reader(*generator, options.samples.seed, making);
  Sha256 hash;
  const auto elements = static_cast<std::size_t>(generator->shape().elements());
  const std::size_t latents = generator->info().latents.size();
  reader.read(options.samples.first, options.count,
              [&](const HostSamples& samples) { update(hash, samples, elements, latents); });
  const SampleShape shape = generator->shape();
  const nlohmann::ordered_json result = {{"generator", generator->info().name},
                                         {"parameters", generator->parameters_yaml()},
                                         {"seed", options.samples.seed},
                                         {"first", options.samples.first},
                                         {"count", options.count},
                                         {"shape", {shape.height, shape.width, shape.channels}},
                                         {"device", making.device.to_string()},
                                         {"batch", making.batch},
                                         {"version", kVersion},
                                         {"sha256", hash.hex()}};
  fmt::print("{}\n", result.dump(2));
  return 0;
}

}  // namespace

Command add_digest(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "digest", "print the SHA-256 of samples as JSON; equal on every machine and device");
  auto options = std::make_shared<Options>();
  app->add_option("generator", options->samples.name, "a name from 'wellspring list generators'")
      ->required();
  app->add_option("--count", options->count, "how many samples")
      ->required()
      ->check(CLI::PositiveNumber);
  app->add_option("--first", options->samples.first, "id of the first sample")
      ->capture_default_str();
  add_generator_options(*app, options->samples);
  app->add_option("--batch", options->making.batch, "samples made at once; does not change them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app->add_option("--device", options->device, "cpu, cuda, cuda:N or auto; does not change them")
      ->capture_default_str();
  app->add_option("--threads", options->making.threads, "CPU threads, 0: all; does not change them")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
