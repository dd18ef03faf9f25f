// `wellspring preview`: draws samples; for a configuration, as the network sees them.
#include "export/preview.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

namespace wellspring::cli {
namespace {

// Defaults of --count: a square of images, or enough events for smooth histograms.
constexpr std::uint64_t kImages = 36;
constexpr std::uint64_t kEvents = 20'000;
constexpr std::uint64_t kRows = 8;  ///< events printed as numbers

struct PreviewArguments {
  SampleOptions samples;
  std::string out;
};

/// NAME.png; the path of a folder may end with a slash.
std::string usual_name(const std::filesystem::path& what) {
  return (what.has_filename() ? what : what.parent_path()).stem().string() + ".png";
}

std::uint64_t usual_count(SampleKind kind) {
  return kind == SampleKind::image ? kImages : kEvents;
}

/// The class name, with its source if there are several; the label itself if it is not a class.
std::string class_name(const std::vector<SampleOrigin>& origins, std::size_t source,
                       std::int32_t label) {
  const SampleOrigin& origin = origins.at(source);
  const auto index = static_cast<std::size_t>(label);
  const std::string name = label >= 0 && index < origin.info.classes.size()
                               ? origin.info.classes[index]
                               : std::to_string(label);
  return origins.size() > 1 ? origin.name + ": " + name : name;
}

void print_events(SampleReader& feed) {
  const auto features = static_cast<std::size_t>(feed.layout().features);
  fmt::print("{:>8} {:<12}", "id", "class");
  const std::vector<ValueInfo>& named = feed.origins().front().info.features;
  for (std::size_t f = 0; f < features; ++f)
    fmt::print(" {:>12}",
               f < named.size() ? printable(named[f].name) : fmt::format("feature {}", f));
  fmt::print(" {:>12}\n", "weight");
  feed.make([&](const HostSamples& samples) {
    for (std::size_t i = 0; i < samples.label().size(); ++i) {
      const Slot& slot = samples.slots[i];
      fmt::print("{:>8} {:<12}", slot.sample,
                 printable(class_name(feed.origins(), slot.source, samples.label()[i])));
      for (const float value : samples.x().subspan(i * features, features)) {
        fmt::print(" {:>12.6g}", value);
      }
      fmt::print(" {:>12.6g}\n", samples.weight()[i]);
    }
  });
}

void require_png_name(const std::string& out) {
  if (out.empty() || std::filesystem::path(out).extension() == ".png") return;
  fail(ErrorKind::config, {fmt::format("command line: cannot write a preview to '{}'", out),
                           "previews are PNG files", "use an --out name that ends in .png"});
}

int run(const PreviewArguments& options) {
  require_png_name(options.out);
  const std::string out = options.out.empty() ? usual_name(options.samples.what) : options.out;
  SampleOptions samples = options.samples;
  samples.out = out;
  const auto feed = open_samples(samples, usual_count);
  require_creatable(out);
  Preview picture;
  const bool done =
      watch("preview", *feed, [&](const auto& progress) { picture = preview(*feed, progress); });
  if (!done) return kInterrupted;
  write_png(out, picture.image);
  if (picture.clamped > 0) {
    print_notes({fmt::format(
        "{} of {} values are outside [0, 1] and are drawn clamped; the network sees them unclamped",
        picture.clamped, picture.values)});
  }
  print_notes(picture.legend);
  if (feed->layout().kind == SampleKind::event) {
    SampleOptions few = options.samples;
    few.count = std::min(feed->count(), kRows);
    print_events(*open_samples(few, usual_count));
  }
  fmt::print("{}: {}\n", printable(out), printable(feed->summary()));
  return 0;
}

}  // namespace

Command add_preview(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "preview", "draw samples as a PNG: images in a grid, events as histograms");
  auto options = std::make_shared<PreviewArguments>();
  add_sample_options(
      *app, options->samples,
      "number of samples (default: 36 images, 20000 events, or all held-out samples)");
  app->add_option("--out", options->out, "the PNG file (default: NAME.png)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
