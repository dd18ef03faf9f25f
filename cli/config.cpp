// `wellspring config`: the configuration as a run would resolve it, every default written out.
#include "cli/command.h"
#include "train/run_config.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

Command add_config(CLI::App& parent) {
  struct Options {
    std::string config;
    std::vector<std::string> overrides;
  };
  CLI::App* app = parent.add_subcommand(
      "config", "check a configuration and print it with every default written out");
  auto options = std::make_shared<Options>();
  app->add_option("config", options->config, "configuration file (YAML)")->required();
  app->add_option("settings", options->overrides, "key=value: overrides of the configuration");
  return {app, [options] {
            fmt::print("{}", RunConfig::load(options->config, options->overrides).to_yaml());
            return 0;
          }};
}

}  // namespace wellspring::cli
