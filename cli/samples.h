// What export, preview and digest share: samples of a generator or of a configuration, how they are
// named on the command line, and how they are made while somebody watches. Host only.
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

/// The command line of one of them. What is not given has no value.
struct SampleOptions {
  std::string what;                   ///< a generator's name, or a configuration's file
  std::vector<std::string> settings;  ///< "key=value"
  std::optional<std::uint64_t> count;
  bool plane = false;  ///< with the plane of truth
  // Of a generator.
  std::optional<std::uint64_t> first, seed;
  std::optional<int> size, threads;
  std::optional<std::int64_t> batch;
  std::optional<std::string> device;
  // Of a configuration.
  std::optional<std::uint64_t> step;
  std::optional<std::string> split;
};

/// Adds them all: `what`, settings, --count, --plane, --first, --seed, --size, --batch, --device,
/// --threads,
/// --split, --step.
void add_sample_options(CLI::App& app, SampleOptions& options, const std::string& count_help);

/// The samples that the options name. `count`: where --count is not given; 0: it must be, but for
/// what is held out. Errors (config): neither a generator nor a configuration; options of the other
/// kind; and what either refuses.
std::unique_ptr<SampleReader> open_samples(const SampleOptions& options,
                                           const std::function<std::uint64_t(SampleKind)>& count);

/// Runs `make`, which calls what it is handed with the number of samples made, shows progress on
/// standard error meanwhile and prints the feed's notes. False when it was interrupted: what
/// `make` had begun is undone then, and that is said.
bool watch(const std::string& title, SampleReader& feed,
           const std::function<void(const std::function<void(std::uint64_t)>&)>& make);

/// The exit code of a command that a signal ended: what shells report for Ctrl-C.
inline constexpr int kInterrupted = 130;

}  // namespace wellspring::cli
