// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

#include "core/config/params.h"

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

/// Adds an option for a file to write. Error (config): an empty name.
void add_output_option(CLI::App& app, const std::string& name, std::string& file,
                       const std::string& help);

/// Prints notes to standard error, one per line.
void print_notes(const std::vector<std::string>& notes);

/// The same without a default.
template <class Whole>
CLI::Option* add_optional_whole(CLI::App& app, const std::string& name, std::optional<Whole>& value,
                                double low, double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

}  // namespace wellspring::cli
