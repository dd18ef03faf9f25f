// `wellspring config`: the configuration as a run would resolve it, every default written out.
#include "cli/command.h"
#include "core/text/text.h"
#include "train/check_run.h"
#include "train/config/run_config.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

Command add_config(CLI::App& parent) {
  struct Options {
    std::string config;
    std::vector<std::string> overrides;
    bool no_data = false;
  };
  CLI::App* app = parent.add_subcommand(
      "config",
      "check a configuration, its data and weights, and print it with every default written out");
  auto options = std::make_shared<Options>();
  app->add_option("config", options->config, "configuration file (YAML)")->required();
  app->add_option("settings", options->overrides, "key=value: overrides of the configuration");
  app->add_flag("--no-data", options->no_data,
                "check the text alone: open neither data nor weights, which may be elsewhere");
  return {app, [options] {
            const RunConfig config = RunConfig::load(options->config, options->overrides);
            if (!options->no_data) check_run(config);
            fmt::print("{}", printable(config.to_yaml()));  // escapes as YAML has them, in quotes
            return 0;
          }};
}

}  // namespace wellspring::cli
