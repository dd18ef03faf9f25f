// `wellspring help`: prints the help of the program or of a subcommand, or the manual page or bash
// completion that an installation contains. All come from the same options.
#include "cli/command.h"
#include "core/error.h"
#include "core/text/text.h"
#include "core/version.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

std::vector<const CLI::App*> subcommands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

/// Options that the help shows: --help first, then positional arguments and others in order.
std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

/// "export" and its other names.
std::vector<std::string> names_of(const CLI::App& command) {
  std::vector<std::string> names = {command.get_name()};
  std::ranges::copy(command.get_aliases(), std::back_inserter(names));
  return names;
}

/// Escapes what troff(7) interprets.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

/// "--steps INT", "CONFIG".
std::string usage_of(const CLI::Option& option) {
  if (!option.nonpositional()) return option.get_name(true);
  std::string text = option.get_name(false, true);
  if (option.get_type_size() != 0 && !option.get_type_name().empty())
    text += " " + option.get_type_name();
  return text;
}

void print_manual_options(const CLI::App& app) {
  for (const CLI::Option* option : shown_options(app))
    fmt::print(".TP\n.B {}\n{}\n", troff(usage_of(*option)), troff(option->get_description()));
}

void print_manual(const CLI::App& program) {
  fmt::print(".TH WELLSPRING 1 \"\" \"wellspring {}\"\n", kVersion);
  fmt::print(".SH NAME\nwellspring \\- {}\n", troff(program.get_description()));
  fmt::print(".SH SYNOPSIS\n.B wellspring\n.I command\n[argument ...]\n");
  fmt::print(".SH OPTIONS\n");
  print_manual_options(program);
  fmt::print(".SH COMMANDS\n");
  for (const CLI::App* command : subcommands_of(program)) {
    fmt::print(".SS {}\n{}\n", troff(join(names_of(*command))), troff(command->get_description()));
    print_manual_options(*command);
  }
  fmt::print(".SH EXIT STATUS\n{}\n", troff(program.get_footer()));
}

/// Prints a completion of commands and options; other arguments complete to files.
void print_completion(const CLI::App& program) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : subcommands_of(program)) {
    std::ranges::copy(names_of(*command), std::back_inserter(names));
    std::vector<std::string> options;
    for (const CLI::Option* option : shown_options(*command))
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    cases +=
        fmt::format("    {}) options='{}' ;;\n", join(names_of(*command), "|"), join(options, " "));
  }
  fmt::print(R"(# Completion of wellspring {} for bash, written by `wellspring help --completion`.
_wellspring() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '{} --help --version' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case ${{COMP_WORDS[1]}}:$word in
    *:-*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    help:*) COMPREPLY=($(compgen -W '{}' -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _wellspring wellspring
)",
             kVersion, join(names, " "), cases, join(names, " "));
}

struct HelpArguments {
  std::string command;
  bool manual = false, completion = false;
};

int run(const CLI::App& program, const HelpArguments& options) {
  if (options.manual) print_manual(program);
  if (options.completion) print_completion(program);
  if (options.manual || options.completion) return 0;
  if (options.command.empty()) {  // program.help() would print the help of `help`
    fmt::print("{}", program.get_formatter()->make_help(&program, program.get_name(),
                                                        CLI::AppFormatMode::Normal));
    return 0;
  }
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands_of(program)) {
    if (command->get_name() == options.command) {
      fmt::print("{}", command->help(program.get_name()));
      return 0;
    }
    names.push_back(command->get_name());
  }
  fail(ErrorKind::config, {fmt::format("unknown subcommand '{}'", options.command), "",
                           name_advice(options.command, names)});
}

}  // namespace

Command add_help(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("help", "print the help of the program or of a subcommand");
  auto options = std::make_shared<HelpArguments>();
  app->add_option("command", options->command, "the subcommand (default: the program)");
  app->add_flag("--man", options->manual, "print the manual page, for man(1)");
  app->add_flag("--completion", options->completion, "print the bash completion script");
  return {app, [&parent, options] { return run(parent, *options); }};
}

}  // namespace wellspring::cli
