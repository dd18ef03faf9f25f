// `wellspring digest`: SHA-256 of samples, to compare machines, devices and versions.
#include "export/digest.h"

#include "cli/command.h"
#include "cli/samples.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace wellspring::cli {
namespace {

int run(const SampleOptions& options) {
  const auto feed = open_samples(options, [](SampleKind) { return 0; });
  nlohmann::ordered_json report;
  const bool done = watch("digest", *feed,
                          [&](const auto& progress) { report = digest_report(*feed, progress); });
  if (!done) return kInterrupted;
  fmt::print("{}\n", report.dump(2, ' ', /*ensure_ascii=*/true));
  return 0;
}

}  // namespace

Command add_digest(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "digest", "print the SHA-256 of samples as JSON; it is the same on every machine and device");
  auto options = std::make_shared<SampleOptions>();
  add_sample_options(*app, *options,
                     "number of samples (with --split eval, default: all held-out samples)");
  return {app, [options] { return run(*options); }};
}

}  // namespace wellspring::cli
