// Rate of whole training steps, including data, compared with the same step on a resident batch.
#include "bench/measure.h"
#include "core/error.h"
#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace wellspring::bench {
namespace {

constexpr double kSeconds = 6;  // duration of the pairs of windows, if more than kUsualPairs fit

struct Case {
  const char* network;
  int size;  ///< image side, pixels; 0: no images
  std::int64_t batch;
  const char* source;
  const char* yaml;

  std::string name() const {
    const std::string side = size > 0 ? fmt::format(" {0}x{0}", size) : "";
    return fmt::format("{}{} batch {} {}", network, side, batch, source);
  }
  std::vector<std::string> overrides() const {
    std::vector<std::string> settings = {fmt::format("train.batch={}", batch)};
    if (size > 0) settings.push_back(fmt::format("data.size={}", size));
    return settings;
  }
};

// The first and the third are the networks of peers/torch_step.py: three 3x3 convolutions of 32, 64
// and 128 channels, each with ReLU and 2x2 max pooling, global mean, dense layer; 32x32x3, batch
// 128.
constexpr Case kCases[] = {
    {"three convolutions", 32, 128, "shapes", R"(
data: {sources: [{name: shapes, generator: shapes}]}
model: {name: cnn, widths: [32, 64, 128], blocks: [0, 0, 0], pool: [1, 1, 1], norm: none}
optimizer: {kind: sgd, momentum: 0.9, lr: 0.01}
train: {steps: 1000000, clip: 0}
)"},
    {"residual network", 32, 128, "shapes", R"(
data: {sources: [{name: shapes, generator: shapes}]}
model: {name: cnn, widths: [32, 64, 128], blocks: [1, 1, 1], pool: [1, 1, 1], norm: group}
optimizer: {kind: adamw, lr: 0.001}
train: {steps: 1000000}
)"},
    {"resnet18", 32, 32, "shapes", R"(
data: {sources: [{name: shapes, generator: shapes}]}
model: {name: resnet18, stem: cifar}
optimizer: {kind: sgd, momentum: 0.9, lr: 0.01}
train: {steps: 1000000, clip: 0}
)"},
    {"mlp 2 features", 0, 1024, "ee_mumu", R"(
data: {sources: [{name: ee_mumu, generator: ee_mumu}]}
model: {name: mlp}
optimizer: {kind: adamw, lr: 0.001}
train: {steps: 1000000}
)"},
};

void add_row(Report& report, const std::string& name, RunConfig config, TrainObserver& observer,
             std::optional<int> repeats) {
  config.evaluation.sources.clear();  // neither read nor evaluated
  config.train.keep_best.clear();
  const auto batch = static_cast<double>(config.train.batch);
  TrainerOptions options;
  options.write_files = false;
  Trainer trainer(std::move(config), observer, options);
  double by_marks = 0, by_host = 0;  // seconds of all windows
  const Work step = {{}, batch, {}, [&](int n) {
                       const StepTimes times = trainer.time_steps(static_cast<std::uint64_t>(n));
                       by_marks += std::accumulate(times.steps.begin(), times.steps.end(), 0.0);
                       by_host += times.wall;
                       return times.wall;
                     }};
  const Work resident = {
      {}, batch, {}, [&](int n) {
        return trainer.time_steps(static_cast<std::uint64_t>(n), TimedPart::without_data).wall;
      }};
  const double pair = std::max(step.seconds(1) + resident.seconds(1), 2 * kShortestWindow);
  const int usual = std::max(kUsualPairs, static_cast<int>(kSeconds / pair));
  Row row = measure(name, "samples/s", step, {"the step on a resident batch", resident},
                    repeats.value_or(usual));
  row.clocks = by_marks / by_host;
  report.add(std::move(row));
}

}  // namespace

void bench_run(Report& report, RunConfig config, TrainObserver& observer,
               std::optional<int> repeats) {
  if (config.train.graph == GraphMode::check)
    fail(ErrorKind::config, {config.name + ": train.graph is check, which runs every step twice",
                             "", "add train.graph=on or train.graph=off"});
  std::string name =
      fmt::format("{}: {} batch {}", config.name, config.model.name, config.train.batch);
  for (const SourceConfig& source : config.data.sources) name += " " + source.spec.name;
  add_row(report, name, std::move(config), observer, repeats);
}

void bench_train(Report& report, const Filter& filter, const LaunchChoice& choice) {
  for (Case entry : kCases) {
    entry.batch = choice.batch.value_or(entry.batch);
    if (entry.size > 0) entry.size = choice.size.value_or(entry.size);
    const std::string name = entry.name();
    if (!filter.matches(name)) continue;
    TrainObserver silent;
    std::vector<std::string> overrides = entry.overrides();
    overrides.push_back("device=" + report.device.to_string());
    add_row(report, name, RunConfig::parse(entry.yaml, name, overrides), silent, choice.repeats);
  }
}

}  // namespace wellspring::bench
