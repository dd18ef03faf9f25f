// A subcommand: its parser and its action. Called by main; host only.
#pragma once

#include <CLI/App.hpp>

#include <functional>

namespace wellspring::cli {

/// `run` is called after parsing if the command line names `app`. It returns the exit code and
/// throws Error on failure.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// Help of the argument `config`.
inline constexpr const char* kConfigurationHelp =
    "configuration file (YAML) with the data, the network and the steps of a run, such as "
    "configs/quickstart.yaml; see `wellspring describe config`";

// Each function is defined in the file named after it.
Command add_bench(CLI::App& parent);
Command add_compile(CLI::App& parent);
Command add_config(CLI::App& parent);
Command add_describe(CLI::App& parent);
Command add_diagnose(CLI::App& parent);
Command add_digest(CLI::App& parent);
Command add_doctor(CLI::App& parent);
Command add_eval(CLI::App& parent);
Command add_export(CLI::App& parent);
Command add_features(CLI::App& parent);
Command add_headers(CLI::App& parent);
Command add_help(CLI::App& parent);
Command add_init(CLI::App& parent);
Command add_list(CLI::App& parent);
Command add_loadtest(CLI::App& parent);
Command add_new(CLI::App& parent);
Command add_predict(CLI::App& parent);
Command add_preview(CLI::App& parent);
Command add_stats(CLI::App& parent);
Command add_sweep(CLI::App& parent);
Command add_train(CLI::App& parent);

}  // namespace wellspring::cli
