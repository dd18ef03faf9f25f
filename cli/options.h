// Options that several subcommands share. Called by the subcommands; host only.
#pragma once

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

/// No more than a 64-bit integer holds.
inline constexpr double kAnyWhole = 0x1p63;

/// Adds an option that takes a whole number in [low, high], as strictly as a configuration does:
/// nothing is wrapped round or cut off. `value` is its default.
template <class Whole>
CLI::Option* add_whole_option(CLI::App& app, const std::string& name, Whole& value, double low,
                              double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

/// What a generator has to say about its tables, to standard error, a line each.
void print_notes(const std::vector<std::string>& notes);

/// One that may be left out.
template <class Whole>
CLI::Option* add_optional_whole(CLI::App& app, const std::string& name, std::optional<Whole>& value,
                                double low, double high, const std::string& help) {
  return detail::add_whole_option(
      app, name, [&value](std::int64_t given) { value = static_cast<Whole>(given); }, low, high,
      help);
}

}  // namespace wellspring::cli
