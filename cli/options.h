// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

#include "generators/generator.h"

#include <CLI/App.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

/// Which samples of which generator.
struct GeneratorOptions {
  std::string name;
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  int size = 64;
  std::vector<std::string> settings;  ///< "name=value"

  std::unique_ptr<Generator> make() const;
};

/// Adds --seed, --size and --param.
void add_generator_options(CLI::App& app, GeneratorOptions& options);
/// "name=value" texts as settings; Error (config) where there is no '='.
std::vector<ParamSetting> parse_settings(const std::vector<std::string>& texts);
/// True where the text names a configuration file rather than a generator.
bool names_config_file(const std::string& text);

}  // namespace wellspring::cli
