// `wellspring init`: writes a configuration that trains on a data set.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/samples.h"
#include "cli/work_bar.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/signals.h"
#include "core/text/text.h"
#include "train/check_run.h"
#include "train/suggested_config.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace wellspring::cli {
namespace {

struct InitArguments {
  std::string data, out;
  std::vector<std::string> settings;
};

void refuse_existing(const std::string& out) {
  std::error_code unreadable;  // creating the file reports why
  if (!std::filesystem::exists(std::filesystem::symlink_status(out, unreadable))) return;
  fail(ErrorKind::config, {fmt::format("{}: the file exists", out), "init overwrites nothing",
                           "choose another name with --out, or remove the file"});
}

void write_config(const std::string& data, const std::vector<ParamSetting>& settings,
                  const std::string& out) {
  WorkBar bar(STDERR_FILENO);
  const DataSurvey survey = survey_data(
      data, settings, [&](const std::string& what, std::uint64_t done, std::uint64_t total) {
        bar.show(what, done, total);
      });
  bar.end();
  const std::string text = suggested_config(survey, shell_word(out));
  check_run(RunConfig::parse(text, out));
  OutputFile file(out, OutputFile::Mode::create);
  file.write(bytes_of(text));
  file.finish();
  fmt::print("{}: {}\n", printable(out), printable(survey.summary));
}

int run(const InitArguments& options) {
  std::vector<ParamSetting> settings;
  for (const std::string& text : options.settings)
    settings.push_back(parse_setting(text, "labels=y"));
  const std::string out =
      options.out.empty() ? source_name_of(options.data) + ".yaml" : options.out;
  if (!is_utf8(options.data))
    fail(ErrorKind::config, {options.data + ": the path is not UTF-8",
                             "configurations are UTF-8 text", "give init a symbolic link to it"});
  refuse_existing(out);
  require_creatable(out);
  const SignalGuard signals({.stopping = "\nwellspring: stopping; nothing is kept\n",
                             .ended = "\nwellspring: aborted\n"});
  try {
    write_config(options.data, settings, out);
  } catch (const Interrupted&) {
    return kInterrupted;
  }
  return 0;
}
}  // namespace

Command add_init(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "init", "inspect a data set and write a configuration that trains on it");
  auto options = std::make_shared<InitArguments>();
  app->add_option("data", options->data,
                  "folder or archive of images, or file of arrays; see docs/data-sets.md")
      ->required();
  app->add_option(
      "settings", options->settings,
      "key=value: keys of the data format, such as labels=y, that override what init would choose");
  app->add_option("--out", options->out, "configuration to write (default: DATA_NAME.yaml)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
