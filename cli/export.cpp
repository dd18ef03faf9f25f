// `wellspring export`: samples as files of arrays, with the truth beside them.
#include "export/export.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "export/export_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

struct Options {
  SampleOptions samples;
  std::string out, layout;
};

int run(const Options& options) {
  const auto feed = open_samples(options.samples, [](SampleKind) { return 0; });
  ExportReport report;
  const bool done = watch("export", *feed, [&](const auto& progress) {
    report = export_samples(*feed, options.out, {options.layout, progress});
  });
  if (!done) return kInterrupted;
  if (report.abandoned > 0) {
    print_notes({fmt::format("removed what an export that was killed had left beside {}: {}",
                             options.out, counted(report.abandoned, "folder"))});
  }
  if (report.overflow.samples > 0) {
    print_notes({overflow_text(report.overflow, feed->layout()) +
                 "; they are left out, and counted in the metadata"});
  }
  fmt::print("{}: {}, arrays {}\n", printable(options.out), printable(feed->summary()),
             fmt::join(report.arrays, ", "));
  return 0;
}

}  // namespace

Command add_export(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "export", "write samples as NumPy or HDF5 arrays, with the truth beside them");
  auto options = std::make_shared<Options>();
  add_sample_options(*app, options->samples,
                     "how many samples; of what is held out all, where it is not given");
  app->add_option("--out", options->out,
                  "the file; its ending names the format: NAME.npz (NumPy), NAME.h5 or NAME.hdf5 "
                  "(HDF5); NAME.trackml is a folder of tables, for hits of tracks")
      ->required();
  std::string layouts;
  for (const ExportLayout& layout : export_layouts()) {
    layouts += fmt::format("{}{}: {}", layouts.empty() ? "" : "; ", layout.name, layout.arrays);
    if (!layout.generators.empty())
      layouts += " (default where all samples are of " + join(layout.generators, " or ") + ")";
  }
  app->add_option("--layout", options->layout,
                  "of HDF5 files, what stands for the values: " + layouts);
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
