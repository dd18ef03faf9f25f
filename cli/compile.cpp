// `wellspring compile HEADER`: compiles the user's generators in advance.
#include "cli/command.h"
#include "cli/options.h"
#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct CompileArguments {
  std::vector<std::string> words;  ///< headers, then settings
  std::string arch, into;
  std::optional<std::int64_t> samples;
  bool trust = false;
};

int run(const CompileArguments& options) {
  std::vector<std::string> headers;
  std::vector<ParamSetting> settings;
  for (const std::string& word : options.words) {
    if (word.find('=') == std::string::npos) {
      headers.push_back(word);
    } else {
      settings.push_back(parse_setting(word, "contrast=0.5"));
    }
  }
  if (headers.empty())
    fail(ErrorKind::config, {"command line: no header", "", "name one, such as ./rings.h"});
  if (!settings.empty() && !options.samples)
    fail(ErrorKind::config,
         {"command line: parameters without --samples", "a header is compiled for all parameters",
          "leave them out, or add --samples 4096 to check samples"});
  for (const std::string& header : headers) {
    const CompiledHeader compiled =
        compile_own_generator(header, {.check = options.trust ? OwnCheck::trust : OwnCheck::run,
                                       .arch = options.arch,
                                       .into = options.into});
    fmt::print("{}: {} {} (header {})\n", printable(header),
               compiled.from_cache ? "already compiled:" : "compiled:",
               printable(compiled.object.string()), compiled.hash.substr(0, 12));
    if (!options.samples) continue;
    check_own_generator(header, settings, *options.samples);
    fmt::print("{}: {} passed the checks\n", printable(header),
               counted(static_cast<std::uint64_t>(*options.samples), "sample"));
  }
  return 0;
}

}  // namespace

Command add_compile(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "compile", "compile and check generators of your own in advance (docs/own-generator.md)");
  auto options = std::make_shared<CompileArguments>();
  app->add_option("headers", options->words,
                  "headers, such as ./rings.h; with --samples, then key=value: parameters")
      ->required();
  app->add_option("--arch", options->arch,
                  "also compile them for GPUs of this architecture, such as sm_90; needs nvcc, but "
                  "no GPU")
      ->check([](const std::string& arch) {
        const bool valid = arch.starts_with("sm_") && arch.size() > 3;
        return valid ? "" : "'" + arch + "' is not like sm_90";
      });
  app->add_option("--into", options->into,
                  "also write the objects into this folder, for machines without a compiler; "
                  "PREFIX/bin/wellspring reads PREFIX/share/wellspring/generators");
  constexpr double kMostSamples = 1e9;
  add_optional_whole(*app, "--samples", options->samples, 1, kMostSamples,
                     "also check this many samples, and the number of random numbers that each "
                     "draws; from 4096 on, that all classes and the whole ranges of latents occur");
  app->add_flag("--trust", options->trust,
                "skip the check of the samples, now and whenever the header is unchanged");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
