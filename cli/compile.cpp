// `wellspring compile HEADER`: compiles generators of the user in advance.
#include "cli/command.h"
#include "core/text/text.h"
#include "generators/own/own_generator.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

struct CompileArguments {
  std::vector<std::string> headers;
  std::string arch;
  bool trust = false;
};

int run(const CompileArguments& options) {
  for (const std::string& header : options.headers) {
    const CompiledHeader compiled = compile_own_generator(
        header, options.trust ? OwnCheck::trust : OwnCheck::run, options.arch);
    fmt::print("{}: {} {} (header {})\n", printable(header),
               compiled.from_cache ? "already compiled:" : "compiled:",
               printable(compiled.object.string()), compiled.hash.substr(0, 12));
  }
  return 0;
}

}  // namespace

Command add_compile(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "compile", "compile and check generators of your own in advance (docs/own-generator.md)");
  auto options = std::make_shared<CompileArguments>();
  app->add_option("headers", options->headers, "headers, such as ./rings.h")->required();
  app->add_option("--arch", options->arch,
                  "compile them also for GPUs of this architecture, such as sm_90; needs nvcc, but "
                  "no GPU")
      ->check([](const std::string& arch) {
        const bool valid = arch.starts_with("sm_") && arch.size() > 3;
        return valid ? "" : "'" + arch + "' is not like sm_90";
      });
  app->add_flag("--trust", options->trust,
                "skip the check of the samples, now and whenever the header is unchanged");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
