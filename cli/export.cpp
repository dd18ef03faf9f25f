// `wellspring export`: samples as NumPy arrays, with the truth beside them.
#include "generators/export.h"

#include "cli/command.h"
#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

namespace wellspring::cli {

Command add_export(CLI::App& parent) {
  struct Options {
    SampleOptions samples;
    std::string out;
  };
  CLI::App* app =
      parent.add_subcommand("export", "write samples as NumPy arrays, with the truth beside them");
  auto options = std::make_shared<Options>();
  app->add_option("generator", options->samples.generator,
                  "a name from 'wellspring list generators'")
      ->required();
  add_whole_option(*app, "--count", options->samples.range.count, 1, kAnyWhole, "how many samples")
      ->required();
  add_sample_options(*app, options->samples);
  add_making_options(*app, options->samples);
  app->add_option("--out", options->out, "the file; its ending names the format: NAME.npz")
      ->required();
  return {app, [options] {
            const std::unique_ptr<Generator> generator = options->samples.make_generator();
            const SampleRange& range = options->samples.range;
            const ExportReport report =
                export_samples(*generator, range, options->samples.making(), options->out);
            print_notes(report.notes);
            if (report.overflow.samples > 0) {
              print_notes({overflow_text(report.overflow, generator->layout()) +
                           "; they are left out, and counted in metadata.json"});
            }
            fmt::print("{}: {} samples of {} (version {}), arrays {}\n", options->out, range.count,
                       generator->info().name, generator->info().version,
                       fmt::join(report.arrays, ", "));
            return 0;
          }};
}

}  // namespace wellspring::cli
