// `wellspring stats`: statistics of samples, and their drift against a stored profile.
#include "cli/command.h"
#include "cli/options.h"
#include "cli/samples.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/io/files.h"
#include "core/text/text.h"
#include "measure/data_profile.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

namespace wellspring::cli {
namespace {

constexpr int kDrift = 5;

struct StatsArguments {
  SampleOptions samples;
  std::string out;
  std::optional<std::string> against;
  bool json = false;
};

int run(const StatsArguments& options) {
  if (options.samples.plane)
    fail(ErrorKind::config, {"stats does not measure dense labels", "", "remove --plane"});
  std::optional<DataProfile> stored;
  if (options.against) stored = read_profile(*options.against);
  SampleOptions samples = options.samples;
  samples.out = options.out;
  const auto reader = open_samples(samples, usual_profile_samples);
  if (!options.out.empty()) require_creatable(options.out);
  DataProfile profile;
  const bool done = watch("stats", *reader, [&](const auto& progress) {
    profile = profile_of(*reader, stored ? &*stored : nullptr, progress);
  });
  if (!done) return kInterrupted;
  std::optional<Drift> drift;
  if (stored) drift = compare(*stored, profile);
  nlohmann::ordered_json json = to_json(profile);
  json["identity"] = reader->identity();
  if (!options.out.empty()) {
    OutputFile file(options.out, OutputFile::Mode::replace);
    file.write(json.dump(2, ' ', /*ensure_ascii=*/true) + "\n");
    file.finish();
  }
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
  app->add_option("--against", options->against,
                  "a profile to compare with; if a column drifts, the exit code is 5");
  app->add_flag("--json", options->json, "print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
