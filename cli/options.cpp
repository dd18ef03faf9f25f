#include "cli/options.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cstdio>

namespace wellspring::cli {
namespace {

/// "name=value" texts as settings; Error (config) where there is no '='.
std::vector<ParamSetting> parse_settings(const std::vector<std::string>& texts) {
  std::vector<ParamSetting> settings;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(ErrorKind::config, {fmt::format("command line: '{}' is not name=value", text), "",
                               "write, for example, --param classes=3"});
    }
    settings.push_back({text.substr(0, equals), text.substr(equals + 1), {"command line"}});
  }
  return settings;
}

}  // namespace

std::unique_ptr<Generator> SampleOptions::make_generator() const {
  return wellspring::make_generator(generator, size, parse_settings(settings), {"command line"});
}

SampleMaking SampleOptions::making() const {
  SampleMaking making = how;
  making.device = Device::parse(device);
  return making;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
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

void add_sample_options(CLI::App& app, SampleOptions& options) {
  add_whole_option(app, "--first", options.range.first, 0, kAnyWhole, "id of the first sample")
      ->default_str("0");
  add_whole_option(app, "--seed", options.range.seed, 0, kAnyWhole,
                   "seed; sample i is a function of it, the parameters and i")
      ->default_str("0");
  add_whole_option(app, "--size", options.size, 1, kLargestImageSide,
                   "side of the image in pixels; no effect on events")
      ->default_str(std::to_string(options.size));
  app.add_option("--param", options.settings,
                 "a parameter of the generator, name=value; repeatable")
      ->take_all()
      ->expected(1);
}

void add_making_options(CLI::App& app, SampleOptions& options) {
  add_whole_option(app, "--batch", options.how.batch, 1, 1 << 20,
                   "samples made at once; changes none of them")
      ->default_str(std::to_string(options.how.batch));
  app.add_option("--device", options.device,
                 "cpu, cuda, cuda:N or auto; changes no byte of a sample")
      ->capture_default_str();
  add_whole_option(app, "--threads", options.how.threads, 0, 1024,
                   "CPU threads, 0: all; changes no byte of a sample")
      ->default_str("0");
}

}  // namespace wellspring::cli
