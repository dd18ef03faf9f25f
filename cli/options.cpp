#include "cli/options.h"

#include "cli/terminal.h"
#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <cstdio>

namespace wellspring::cli {

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    tell(stderr, "{}\n", fit("note: " + printable(note), STDERR_FILENO, 2));
}

ParamSetting parse_setting(const std::string& text, const std::string& example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail(ErrorKind::config, {fmt::format("command line: '{}' is not key=value", text), "",
                             "write, for example, " + example});
  return {text.substr(0, equals), text.substr(equals + 1), {"command line"}};
}

void add_output_option(CLI::App& app, const std::string& name, std::string& file,
                       const std::string& help) {
  const auto set = [name, &file](const std::string& given) {
    if (given.empty())
      fail(ErrorKind::config, {fmt::format("command line: {} has an empty name", name), "",
                               "give the name of the file to write, or leave the option out"});
    file = given;
  };
  app.add_option_function<std::string>(name, set, help);
}

CLI::Option* detail::add_whole_option(CLI::App& app, const std::string& name,
                                      const std::function<void(std::int64_t)>& set, double low,
                                      double high, const std::string& help) {
  ParamRow row;
  row.name = name;
  row.type = ParamType::integer;
  row.low = low;
  row.high = high;
  row.help = help;
  const auto read = [row, set](const std::string& text) {
    set(std::get<std::int64_t>(wellspring::detail::parse_param(row, text, {"command line"})));
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("INT");
}

}  // namespace wellspring::cli
