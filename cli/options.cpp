#include "cli/options.h"

#include "core/error.h"

#include <fmt/format.h>

namespace wellspring::cli {

std::unique_ptr<Generator> GeneratorOptions::make() const {
  return make_generator(name, size, parse_settings(settings), {"command line"});
}

void add_generator_options(CLI::App& app, GeneratorOptions& options) {
  app.add_option("--seed", options.seed, "seed; sample i is a function of it, the parameters and i")
      ->capture_default_str();
  app.add_option("--size", options.size, "side of the image in pixels; no effect on events")
      ->capture_default_str()
      ->check(CLI::Range(4, 4096));
  app.add_option("--param", options.settings,
                 "a parameter of the generator, name=value; repeatable")
      ->take_all()
      ->expected(1);
}

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

bool names_config_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml") || text.find('/') != std::string::npos;
}

}  // namespace wellspring::cli
