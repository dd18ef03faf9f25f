// `wellspring export`: writes samples and their true parameters as arrays.
#include "export/export.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "export/array_shards.h"
#include "export/export_layout.h"
#include "export/layouts/webdataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <unistd.h>

namespace wellspring::cli {
namespace {

struct ExportArguments {
  SampleOptions samples;
  std::string layout;
  std::string pixels = "f32", channels = "last";
  std::string compress = "none";
  bool store_headers = false, reencode = false;
  std::string format;
  std::uint64_t shard_samples = ExportOptions{}.shard_samples;
};

int run(const ExportArguments& options) {
  const auto feed = open_samples(options.samples, [](SampleKind) { return 0; });
  ExportReport report;
  ImageForm images;
  images.pixels = options.pixels == "u8" ? ElementType::u8 : ElementType::f32;
  images.channels_first = options.channels == "first";
  const bool shards = options.layout == kWebDataset || !options.format.empty();
  const bool done = watch(
      "export", *feed,
      [&](const auto& progress) {
        report = export_samples(
            *feed, options.samples.out,
            {options.layout, progress, images, compression_from_text(options.compress),
             options.shard_samples, options.samples.threads.value_or(0), options.store_headers,
             options.format, options.reencode});
      },
      shards ? "repeat the command to continue after the last complete shard" : "nothing is kept");
  if (!done) return shards ? kInterruptedExitCode : kInterrupted;
  if (report.abandoned > 0) {
    print_notes({fmt::format("removed leftovers of a killed export next to {}: {}",
                             options.samples.out, counted(report.abandoned, "folder"))});
  }
  if (report.overflow.samples > 0) {
    print_notes({overflow_text(report.overflow, feed->layout()) +
                 "; they are left out and counted in the metadata"});
  }
  if (shards) {
    fmt::print("{}: {}, {}{}{}\n", printable(options.samples.out), printable(feed->summary()),
               counted(report.arrays.size(), "shard"),
               report.copied ? ", image files copied unchanged (--reencode writes PNG)" : "",
               report.resumed > 0
                   ? fmt::format(" ({} were there already)", counted(report.resumed, "sample"))
                   : "");
    return 0;
  }
  fmt::print("{}: {}, arrays {}\n", printable(options.samples.out), printable(feed->summary()),
             fmt::join(report.arrays, ", "));
  const ExportLayout& layout = find_export_layout(options.layout, *feed, options.samples.out);
  if (options.layout.empty() && !layout.generators.empty()) {
    const std::string text = fmt::format(
        "layout {}, the default in HDF5 for these samples, stores {}; --layout columns stores the "
        "values as generated",
        layout.name, layout.arrays);
    fmt::print("{}\n", fit(text, STDOUT_FILENO, 4));
  }
  return 0;
}

}  // namespace

Command add_export(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "export", "write samples with labels and true parameters as arrays or shards");
  app->alias("pack");
  auto options = std::make_shared<ExportArguments>();
  add_sample_options(*app, options->samples,
                     "number of samples (with --split eval, default: all held-out samples)");
  app->add_option(
         "--out", options->samples.out,
         "output; the extension selects the format: NAME.npz (NumPy), NAME.h5 or "
         "NAME.hdf5 (HDF5), NAME.trackml (a folder of tables, for tracker hits), NAME.lhe or "
         "NAME.hepmc (event records, of columns=record)")
      ->required();
  app->add_option("--latents", options->samples.latents,
                  "(generators only) make one sample per row at these latents instead of drawing "
                  "them: NAME.npz with an array `latents` (as export writes it), or NAME.npy");
  std::string layouts;
  for (const ExportLayout& layout : export_layouts()) {
    layouts += fmt::format("{}{}: {}", layouts.empty() ? "" : "; ", layout.name, layout.arrays);
    if (!layout.generators.empty())
      layouts +=
          " (HDF5 only; default if all samples come from " + join(layout.generators, " or ") + ")";
  }
  app->add_option("--layout", options->layout,
                  "webdataset: a folder of tar shards, --out FOLDER, which an interrupted export "
                  "continues. Others: names and layout of the arrays. " +
                      layouts);
  app->add_option("--format", options->format,
                  "npz or hdf5: a folder of array files with these arrays, --out FOLDER, which an "
                  "interrupted export continues; a data set is read from such a folder")
      ->check(CLI::IsMember({kNpzShards, kHdf5Shards}));
  app->add_flag("--reencode", options->reencode,
                "webdataset only: decode image files and write PNG; by default, files that nothing "
                "resizes or converts are copied unchanged");
  app->add_option("--shard-samples", options->shard_samples,
                  fmt::format("folders only: samples per shard; a shard also ends at 1 GiB "
                              "(default: {})",
                              options->shard_samples))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app->add_option(
      "--compress", options->compress,
      "HDF5 only: how the arrays are compressed: gzip, zstd or lz4, gzip and zstd also "
      "with a level (gzip:9, zstd:19). h5py needs the package hdf5plugin for zstd and lz4");
  app->add_flag(
      "--store-headers", options->store_headers,
      "also store the text of generators in headers (./NAME.h), which `wellspring headers` "
      "prints");
  app->add_option("--pixels", options->pixels, "images: f32, or u8 (scales 0 to 1 to 0 to 255)")
      ->check(CLI::IsMember({"f32", "u8"}));
  app->add_option("--channels", options->channels,
                  "images: last ([rows, height, width, channels]) or first (as in PyTorch)")
      ->check(CLI::IsMember({"first", "last"}));
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
