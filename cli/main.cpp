// The `wellspring` command: parses arguments, calls the library, prints, and maps errors to exit
// codes.
#include "cli/command.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "core/config/duplicates.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/version.h"
#include "kernels/runtime/device.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

void print_error(const std::string& message) {
  std::fflush(stdout);
  tell(stderr, "wellspring: {} {}\n", paint(Colour::red, "error:", STDERR_FILENO),
       printable(message));
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

/// A clearer message than the parser's.
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
      "75 stopped by a signal (repeat the command to continue), 130 interrupted, nothing kept.");
  const std::vector<Command> commands = {
      add_train(app), add_eval(app),     add_preview(app), add_export(app), add_digest(app),
      add_list(app),  add_describe(app), add_bench(app),   add_config(app), add_doctor(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) {
      fail(ErrorKind::config, {fmt::format("unknown subcommand '{}'", argv[1]), "",
                               name_advice(argv[1], names_of(commands))});
    }
    for (const CLI::App* subcommand : app.get_subcommands()) expect_each_once(*subcommand);
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
  wellspring::cli::say_when_memory_ends();
  std::signal(SIGXFSZ,
              SIG_IGN);  // exceeding the file size limit becomes a failed write with a message
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // flush every line, also into a pipe
  try {
    return wellspring::cli::run(argc, argv);
  } catch (const wellspring::Error& error) {
    wellspring::cli::print_error(error.what());
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    wellspring::cli::tell_no_memory();
    return static_cast<int>(wellspring::ErrorKind::runtime);
  } catch (const std::exception& error) {
    wellspring::cli::print_error(error.what());
    return static_cast<int>(wellspring::ErrorKind::runtime);
  }
}
