#include "cli/options.h"

#include "core/error.h"

#include <fmt/format.h>

namespace wellspring::cli {
namespace {

/// "name=value" texts as settings; Error (config) where there is no '='.
std::vector<ParamSetting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<ParamSetting> settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(ErrorKind::config, {fmt::format("command line: '{}' is not name=value", text), "",
                               "write, for example, --param classes=3"});
    }
    settings.push_back({text.substr(0, equals), text.substr(equals + 1), {"command line"}});
  }
  return settings;
}

}  // namespace

std::unique_ptr<Generator> SampleOptions::make_generator() const {
  return wellspring::make_generator(generator, size, parse_settings(settings), {"command line"});
}

SampleMaking SampleOptions::making() const {
  SampleMaking making = how;
  making.device = Device::parse(device);
  return making;
}

void add_sample_options(CLI::App& app, SampleOptions& options) {
  app.add_option("--first", options.range.first, "id of the first sample")->capture_default_str();
  app.add_option("--seed", options.range.seed,
                 "seed; sample i is a function of it, the parameters and i")
      ->capture_default_str();
  app.add_option("--size", options.size, "side of the image in pixels; no effect on events")
      ->capture_default_str();
  app.add_option("--param", options.settings,
                 "a parameter of the generator, name=value; repeatable")
      ->take_all()
      ->expected(1);
}

void add_making_options(CLI::App& app, SampleOptions& options) {
  app.add_option("--batch", options.how.batch, "samples made at once; changes none of them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--device", options.device,
                 "cpu, cuda, cuda:N or auto; changes no byte of a sample")
      ->capture_default_str();
  app.add_option("--threads", options.how.threads,
                 "CPU threads, 0: all; changes no byte of a sample")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

}  // namespace wellspring::cli
