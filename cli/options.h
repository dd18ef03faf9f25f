// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <CLI/App.hpp>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

/// Which samples of which generator, and how they are made.
struct SampleOptions {
  std::string generator;
  SampleRange range;
  int size = 64;
  std::vector<std::string> settings;  ///< "name=value"
  SampleMaking how;
  std::string device = "cpu";

  std::unique_ptr<Generator> make_generator() const;
  SampleMaking making() const;
};

/// Adds --first, --seed, --size and --param.
void add_sample_options(CLI::App& app, SampleOptions& options);
/// Adds --batch, --device and --threads, which change no sample.
void add_making_options(CLI::App& app, SampleOptions& options);

}  // namespace wellspring::cli
