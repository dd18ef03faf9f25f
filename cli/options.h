// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

#include "core/config/params.h"
#include "train/config/run_config.h"

#include <CLI/App.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {

namespace detail {
CLI::Option* add_whole_option(CLI::App& app, const std::string& name,
                              const std::function<void(std::int64_t)>& set, double low, double high,
                              const std::string& help);
}

/// Adds an option for the size of images: "32", or "32,48" for height and width.
void add_size_option(CLI::App& app, const std::string& name, std::optional<ImageSize>& size,
                     int largest, const std::string& help);

/// Upper bound for an option that takes any 64-bit integer.
inline constexpr double kAnyWhole = 0x1p63;

/// Adds an option for an integer in [low, high], checked as strictly as a configuration value: no
/// wrap-around, no truncation. `value` holds the default.
template <class Whole>
CLI::Option* add_whole_option(CLI::App& app, const std::string& name, Whole& value, double low,
                              double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

/// Parses a "key=value" argument. Error (config), which shows `example`, for any other text.
ParamSetting parse_setting(const std::string& text, const std::string& example);

inline constexpr const char* kTraceHelp =
    "also write what each thread and GPU did, and when, to this JSON file, for Perfetto "
    "(ui.perfetto.dev)";
/// Adds an option for a file to write. Error (config): an empty name.
void add_output_option(CLI::App& app, const std::string& name, std::string& file,
                       const std::string& help);

/// Writes or replaces the file of such an option; does nothing if it was not given.
void write_output(const std::string& file, const std::string& text);

/// Adds the arguments `checkpoint` and `settings` of commands that evaluate a network.
void add_evaluation_arguments(CLI::App& app, std::string& checkpoint,
                              std::vector<std::string>& settings);
/// The configuration in `settings`, or else the checkpoint's own, with overrides. Error (config): a
/// configuration in place of a checkpoint. `command`: the name of the command.
RunConfig evaluation_config(const std::string& command, const std::string& checkpoint,
                            std::vector<std::string> settings);

/// True for NAME.yaml and NAME.yml.
bool has_yaml_name(const std::string& file);

/// Prints notes to standard error, one per line.
void print_notes(const std::vector<std::string>& notes);

/// Like add_whole_option, but without a default.
template <class Whole>
CLI::Option* add_optional_whole(CLI::App& app, const std::string& name, std::optional<Whole>& value,
                                double low, double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

}  // namespace wellspring::cli
