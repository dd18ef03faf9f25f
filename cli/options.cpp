#include "cli/options.h"

#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "train/evaluation/checkpoint_network.h"

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

void write_output(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  OutputFile output(file, OutputFile::Mode::replace);
  output.write(text);
  output.finish();
}

void add_evaluation_arguments(CLI::App& app, std::string& checkpoint,
                              std::vector<std::string>& settings) {
  app.add_option(
         "checkpoint", checkpoint,
         "run folder, checkpoint folder, or safetensors file; a file from another program needs "
         "a configuration, and its tensors must have the network's names (scripts/torch-weights "
         "converts .pt and .pth)")
      ->required();
  app.add_option("settings", settings,
                 "a configuration with other data, and key=value overrides (default: the "
                 "checkpoint's own configuration)");
}

bool has_yaml_name(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

RunConfig evaluation_config(const std::string& command, const std::string& checkpoint,
                            std::vector<std::string> settings) {
  if (has_yaml_name(checkpoint))
    fail(ErrorKind::config,
         {fmt::format("command line: {} is a configuration, not a checkpoint", checkpoint),
          fmt::format("{} reads the weights of a trained run", command),
          fmt::format("use wellspring {} RUN_FOLDER {}", command, checkpoint)});
  if (settings.empty() || settings.front().find('=') != std::string::npos)
    return config_of_checkpoint(checkpoint, settings);
  const std::string file = settings.front();
  settings.erase(settings.begin());
  return RunConfig::load(file, settings);
}

namespace {

ParamRow option_row(ParamType type, const std::string& name, double low, double high,
                    const std::string& help) {
  ParamRow row;
  row.name = name;
  row.type = type;
  row.low = low;
  row.high = high;
  row.help = help;
  return row;
}

}  // namespace

void add_size_option(CLI::App& app, const std::string& name, std::optional<ImageSize>& size,
                     int largest, const std::string& help) {
  const auto read = [row = option_row(ParamType::size, name, 1, largest, help),
                     &size](const std::string& text) {
    const auto sides = std::get<std::vector<std::int64_t>>(
        wellspring::detail::parse_param(row, text, {"command line"}));
    size = ImageSize(static_cast<int>(sides[0]), static_cast<int>(sides[1]));
  };
  app.add_option_function<std::string>(name, read, help)->type_name("SIZE");
}

CLI::Option* detail::add_whole_option(CLI::App& app, const std::string& name,
                                      const std::function<void(std::int64_t)>& set, double low,
                                      double high, const std::string& help) {
  const ParamRow row = option_row(ParamType::integer, name, low, high, help);
  const auto read = [row, set](const std::string& text) {
    set(std::get<std::int64_t>(wellspring::detail::parse_param(row, text, {"command line"})));
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("INT");
}

}  // namespace wellspring::cli
