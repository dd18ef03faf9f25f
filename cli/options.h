// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <CLI/App.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {

namespace detail {
CLI::Option* add_whole_option(CLI::App& app, const std::string& name,
                              const std::function<void(std::int64_t)>& set, double low, double high,
                              const std::string& help);
}

/// No more than a 64-bit integer holds.
inline constexpr double kAnyWhole = 0x1p63;

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

/// Adds an option that takes a whole number in [low, high], as strictly as a configuration does:
/// nothing is wrapped round or cut off. `value` is its default.
template <class Whole>
CLI::Option* add_whole_option(CLI::App& app, const std::string& name, Whole& value, double low,
                              double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

/// Adds --first, --seed, --size and --param.
void add_sample_options(CLI::App& app, SampleOptions& options);
/// What a generator has to say about its tables, to standard error, a line each.
void print_notes(const std::vector<std::string>& notes);
/// Adds --batch, --device and --threads, which change no sample.
void add_making_options(CLI::App& app, SampleOptions& options);

}  // namespace wellspring::cli
