// `wellspring digest`: the SHA-256 of samples, to compare machines, devices and versions.
#include "generators/digest.h"

#include "cli/command.h"
#include "cli/options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace wellspring::cli {

Command add_digest(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "digest", "print the SHA-256 of samples as JSON; equal on every machine and device");
  auto options = std::make_shared<SampleOptions>();
  app->add_option("generator", options->generator, "a name from 'wellspring list generators'")
      ->required();
  add_whole_option(*app, "--count", options->range.count, 1, kAnyWhole, "how many samples")
      ->required();
  add_sample_options(*app, *options);
  add_making_options(*app, *options);
  return {app, [options] {
            const std::unique_ptr<Generator> generator = options->make_generator();
            const auto report = digest_report(*generator, options->range, options->making());
            print_notes(generator->notes());
            fmt::print("{}\n", report.dump(2));
            return 0;
          }};
}

}  // namespace wellspring::cli
