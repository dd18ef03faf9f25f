// `wellspring stats`: statistics of samples, and their drift against a stored profile.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "export/preview.h"
#include "measure/profile_page.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::cli {
namespace {

constexpr int kDrift = 5;

struct StatsArguments {
  SampleOptions samples;
  std::string out, html;
  std::optional<std::string> against;
  bool json = false;
};

bool is_finite(const DataProfile& profile) {
  return std::ranges::all_of(profile.sources, [](const SourceProfile& source) {
    return std::ranges::all_of(source.columns,
                               [](const ColumnProfile& column) { return column.not_finite == 0; });
  });
}

/// A sheet of images, or histograms of events by class. None for latents from a file, whose number is
/// fixed, and for values that are not finite, which have no place in a histogram.
std::vector<ReportPicture> pictures(const StatsArguments& options, std::uint64_t count,
                                    const DataProfile& profile) {
  constexpr std::uint64_t kImages = 36;
  if (options.samples.latents || !is_finite(profile)) return {};
  SampleOptions shown = options.samples;
  shown.out = options.html;
  shown.count = count;
  auto reader = open_samples(shown, usual_profile_samples);
  if (reader->layout().kind == SampleKind::image && count > kImages) {
    shown.count = kImages;
    reader = open_samples(shown, usual_profile_samples);
  }
  const Preview picture = preview(*reader);
  return {{encode_png(picture.image), reader->summary()}};
}

int run(const StatsArguments& options) {
  if (options.samples.plane)
    fail(ErrorKind::config, {"stats does not measure dense labels", "", "remove --plane"});
  std::optional<DataProfile> stored;
  if (options.against) stored = read_profile(*options.against);
  SampleOptions samples = options.samples;
  samples.out = options.out;
  samples.finite = false;
  const auto reader = open_samples(samples, usual_profile_samples);
  for (const std::string& path : {options.out, options.html})
    if (!path.empty()) require_creatable(path);
  DataProfile profile;
  const bool done = watch("stats", *reader, [&](const auto& progress) {
    profile = profile_of(*reader, stored ? &*stored : nullptr, progress);
  });
  if (!done) return kInterrupted;
  std::optional<Drift> drift;
  if (stored) drift = compare(*stored, profile);
  nlohmann::ordered_json json = to_json(profile);
  json["identity"] = reader->identity();
  write_output(options.out, json.dump(2, ' ', /*ensure_ascii=*/true) + "\n");
  if (!options.html.empty())
    write_output(options.html, to_html(profile, drift ? &*drift : nullptr,
                                       pictures(options, reader->count(), profile)));
  if (drift) json["drift"] = to_json(*drift);
  if (options.json)
    tell(stdout, "{}\n", json.dump(2, ' ', /*ensure_ascii=*/true));
  else
    tell(stdout, "{}", printable(to_text(profile, drift ? &*drift : nullptr)));
  if (drift && !drift->not_compared.empty())
    print_notes({"only in the profile or only in the samples, or with other bins: " +
                 join(drift->not_compared)});
  return drift && drift->drifts() ? kDrift : 0;
}

}  // namespace

Command add_stats(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "stats", "measure the statistics of samples, and their drift against a stored profile");
  auto options = std::make_shared<StatsArguments>();
  add_sample_options(*app, options->samples,
                     "number of samples (default: 4096 images, 20000 events, or all held-out "
                     "samples if they are fewer)");
  add_output_option(*app, "--out", options->out, "write the profile to this JSON file");
  add_output_option(*app, "--html", options->html,
                    "also write a page with histograms and pictures of samples to this HTML file");
  app->add_option("--against", options->against,
                  "a profile to compare with; if a column drifts, the exit code is 5");
  app->add_flag("--json", options->json, "print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
