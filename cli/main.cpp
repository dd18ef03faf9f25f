// The `wellspring` command: parses arguments, calls the library, prints, and maps errors to exit
// codes.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "core/config/config_values.h"
#include "core/config/duplicates.h"
#include "core/config/foreign_words.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/version.h"
#include "generators/own/own_generator.h"
#include "kernels/runtime/device.h"
#include "train/config/run_config.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace wellspring::cli {
namespace {

void print_error(const std::string& message) {
  std::fflush(stdout);
  const std::string line = fmt::format(
      "wellspring: {} {}", paint(Colour::red, "error:", STDERR_FILENO), printable(message));
  tell(stderr, "{}\n", fit(line, STDERR_FILENO, 2));
}

std::string version_line() {
  const std::string commit = kCommit;
  return fmt::format("wellspring {} ({}{}, {}, CUDA {})", kVersion,
                     commit.empty() ? "" : commit + ", ", kBuildType, kHostArchitecture,
                     cuda_status().built ? kCudaArchitectures : "not built in");
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  return names;
}

Command add_version(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("version", "print the version, as --version");
  return {app, [] {
            fmt::print("{}\n", version_line());
            return 0;
          }};
}

/// "train.steps" for "steps" if the subcommand takes a configuration; otherwise `word` unchanged.
std::string key_of(const CLI::App& subcommand, std::string word) {
  std::ranges::replace(word, '-', '_');
  const bool configured = subcommand.get_option_no_throw("config") != nullptr ||
                          subcommand.get_option_no_throw("checkpoint") != nullptr;
  if (!configured) return word;
  if (const ForeignWord* const known = find_foreign_word(word)) return std::string(known->key);
  for (const ConfigSection& section : config_sections())
    if (section.path.find('[') == std::string::npos)
      for (const ParamRow& row : section.rows)
        if (row.name == word) return section.path.empty() ? word : section.path + "." + word;
  return word;
}

/// Refuses an unknown option, such as --steps 5, if the subcommand takes settings.
void expect_no_setting_as_option(const CLI::App& subcommand, int argc, char** argv) {
  if (subcommand.get_option_no_throw("settings") == nullptr) return;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    if (!name.starts_with("--") || name.size() == 2 ||
        subcommand.get_option_no_throw(name) != nullptr)
      continue;
    std::string value = "VALUE";
    if (equals < argument.size())
      value = argument.substr(equals + 1);
    else if (i + 1 < argc && argv[i + 1][0] != '-')
      value = argv[i + 1];
    std::vector<std::string> known;
    for (const CLI::Option* option : subcommand.get_options())
      for (const std::string& own : option->get_lnames()) known.push_back("--" + own);
    const std::optional<std::string> nearest = nearest_name(name, known);
    fail(ErrorKind::config,
         {fmt::format("command line: unknown option {}", name),
          fmt::format("settings are key=value: {}={}", key_of(subcommand, name.substr(2)), value),
          fmt::format("{}see wellspring {} --help",
                      nearest ? fmt::format("did you mean {}? ", *nearest) : "",
                      subcommand.get_name())});
  }
}

/// Reports a missing argument together with its meaning.
void expect_required(const CLI::App& subcommand) {
  for (const CLI::Option* option : subcommand.get_options())
    if (option->get_required() && option->count() == 0)
      fail(ErrorKind::config, {fmt::format("command line: '{}' is missing", option->get_name()),
                               option->get_description(),
                               fmt::format("see wellspring {} --help", subcommand.get_name())});
}

/// Reports output that could not be written; returns the exit code.
int lose_output(const std::string& reason) {
  forget_undelivered();
  print_error(
      fmt::format("cannot write to standard output{}\n  free some space, or check where the "
                  "output goes",
                  reason.empty() ? "" : " (" + reason + ")"));
  return static_cast<int>(ErrorKind::runtime);
}

/// Returns `code`, or ErrorKind::runtime if output could not be written.
int with_delivered_output(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  return lose_output(errno != 0 ? std::generic_category().message(errno) : "");
}

/// Refuses a repeated option with a clearer message than the parser's.
void expect_each_once(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& given = option->results();
    if (option->get_items_expected_max() == 1 && given.size() > 1)
      fail_given_twice({"command line"}, option->get_name(), given[0], given[1]);
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Generate labelled synthetic data and train on it, on one device"};
  app.name("wellspring");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_line());
  app.footer(
      "Exit codes: 0 done, 1 run-time failure, 2 usage or configuration, 3 data, 4 device,\n"
      "5 --fail-if holds or stats finds drift, 75 stopped by a signal (repeat the command to "
      "continue), 130 "
      "interrupted, nothing kept.");
  const std::vector<Command> commands = {
      add_init(app),     add_train(app),    add_eval(app),   add_predict(app), add_features(app),
      add_sweep(app),    add_preview(app),  add_export(app), add_digest(app),  add_list(app),
      add_describe(app), add_diagnose(app), add_bench(app),  add_config(app),  add_doctor(app),
      add_stats(app),    add_loadtest(app), add_new(app),    add_compile(app), add_headers(app),
      add_help(app),     add_version(app)};
  watch_compilations([](const std::string& message) { print_notes({message}); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) {
      fail(ErrorKind::config, {fmt::format("unknown subcommand '{}'", argv[1]), "",
                               name_advice(argv[1], names_of(commands))});
    }
    for (const CLI::App* subcommand : app.get_subcommands()) {
      expect_each_once(*subcommand);
      expect_no_setting_as_option(*subcommand, argc, argv);
      if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError))
        expect_required(*subcommand);
    }
    const std::string name =
        app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name();
    print_error(fmt::format("{}\n  see 'wellspring{} --help'", error.what(), name));
    return static_cast<int>(ErrorKind::config);
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return static_cast<int>(ErrorKind::config);
}

}  // namespace
}  // namespace wellspring::cli

int main(int argc, char** argv) {
  wellspring::cli::open_standard_streams();
  wellspring::cli::allow_many_files();
  wellspring::cli::say_when_memory_ends();
  std::signal(SIGXFSZ,
              SIG_IGN);  // exceeding the file size limit becomes a failed write with a message
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // flush every line, also into a pipe
  try {
    return wellspring::cli::with_delivered_output(wellspring::cli::run(argc, argv));
  } catch (const wellspring::Error& error) {
    wellspring::cli::print_error(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    wellspring::cli::tell_no_memory();
    return static_cast<int>(wellspring::ErrorKind::runtime);
  } catch (const std::filesystem::filesystem_error& error) {
    wellspring::cli::print_error(error.path1().string() + ": " + error.code().message());
    return static_cast<int>(wellspring::ErrorKind::runtime);
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return wellspring::cli::lose_output(error.code().message());
    wellspring::cli::print_error(error.what());
    return static_cast<int>(wellspring::ErrorKind::runtime);
  } catch (const std::exception& error) {
    wellspring::cli::print_error(error.what());
    return static_cast<int>(wellspring::ErrorKind::runtime);
  }
}
