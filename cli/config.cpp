// `wellspring config`: the resolved configuration of a run, with every default.
#include "cli/command.h"
#include "core/text/text.h"
#include "train/check_run.h"
#include "train/config/run_config.h"
#include "train/node_table.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

Command add_config(CLI::App& parent) {
  struct Options {
    std::string config;
    std::vector<std::string> overrides;
    bool no_data = false, nodes = false;
  };
  CLI::App* app = parent.add_subcommand(
      "config", "check a configuration with its data and weights, and print it with all defaults");
  auto options = std::make_shared<Options>();
  app->add_option("config", options->config, kConfigurationHelp)->required();
  app->add_option("settings", options->overrides,
                  "key=value: overrides a key of the configuration");
  app->add_flag("--no-data", options->no_data, "check only the text; do not open data or weights");
  app->add_flag(
         "--nodes", options->nodes,
         "print the nodes of the captured step (kernels with their blocks, threads and bytes "
         "of scratch) instead; needs a GPU")
      ->excludes("--no-data");
  return {app, [options] {
            const RunConfig config = RunConfig::load(options->config, options->overrides);
            if (options->nodes) {
              fmt::print("{}", printable(node_table(record_step(config))));
              return 0;
            }
            if (!options->no_data) check_run(config);
            fmt::print("{}", printable(config.to_yaml()));  // escapes are valid in quoted YAML
            return 0;
          }};
}

}  // namespace wellspring::cli
