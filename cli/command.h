// One subcommand of the command line: its parser and what it does. Called by main; host only.
#pragma once

#include <CLI/App.hpp>

#include <functional>

namespace wellspring::cli {

/// `run` is called after the command line is parsed, when `app` was named on it; it returns the
/// exit code and reports failure by throwing Error.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

// Each is defined in the file of its name.
Command add_bench(CLI::App& parent);
Command add_config(CLI::App& parent);
Command add_describe(CLI::App& parent);
Command add_digest(CLI::App& parent);
Command add_doctor(CLI::App& parent);
Command add_eval(CLI::App& parent);
Command add_export(CLI::App& parent);
Command add_list(CLI::App& parent);
Command add_preview(CLI::App& parent);
Command add_train(CLI::App& parent);

}  // namespace wellspring::cli
