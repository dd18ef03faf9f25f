// Samples of a generator or a configuration: command line options, opening, and progress display.
// Called by export, preview and digest; host only.
#pragma once

#include "export/sample_reader.h"

#include <CLI/App.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {

/// The command line of these subcommands. An option that is not given has no value.
struct SampleOptions {
  std::string what;                   ///< a generator's name, a configuration file or a data set
  std::vector<std::string> settings;  ///< "key=value"
  std::optional<std::uint64_t> count;
  bool plane = false;  ///< with the dense labels
  bool finite = true;  ///< see DatasetRequest
  std::string out;     ///< a file to write; must differ from all files read
  // Generators only.
  std::optional<std::uint64_t> first, seed;
  std::optional<ImageSize> size;
  std::optional<int> threads;
  std::optional<std::int64_t> batch;
  std::optional<std::string> device;
  std::optional<std::string> latents;  ///< a file with the latents to use
  // Configurations only.
  std::optional<std::uint64_t> step;
  std::optional<std::string> split;
};

/// Adds all of these options to `app`.
void add_sample_options(CLI::App& app, SampleOptions& options, const std::string& count_help);

/// True if the options name a configuration rather than a generator or a data set.
bool names_configuration(const SampleOptions& options);

/// Opens the samples that the options name. `count` returns the default of --count; 0 makes --count
/// required, except with --split eval and for data sets. Errors (config): neither a generator, a
/// configuration nor a data set; options for a different kind; an output that is one of the files
/// read; any error of the generator, configuration or data set.
std::unique_ptr<SampleReader> open_samples(const SampleOptions& options,
                                           const std::function<std::uint64_t(SampleKind)>& count);

/// Runs `make`, which reports the number of finished samples through its argument. Shows progress
/// on standard error and prints the feed's notes. Returns false, with a message, if a signal
/// interrupted it. `kept` describes what `make` leaves in that case.
bool watch(const std::string& title, SampleReader& feed,
           const std::function<void(const std::function<void(std::uint64_t)>&)>& make,
           const std::string& kept = "nothing is kept");

/// Exit code after a signal, as shells report Ctrl-C.
inline constexpr int kInterrupted = 130;

}  // namespace wellspring::cli
