// Rate of whole training steps, generation included, compared with the same step on a resident
// batch.
#include "bench/measure.h"
#include "train/trainer.h"

#include <fmt/format.h>

namespace wellspring::bench {
namespace {

constexpr double kSeconds = 6;  // duration of the pairs of windows

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

}  // namespace

void bench_train(Report& report, const Filter& filter, const LaunchChoice& choice) {
  for (Case entry : kCases) {
    entry.batch = choice.batch.value_or(entry.batch);
    if (entry.size > 0) entry.size = choice.size.value_or(entry.size);
    const std::string name = entry.name();
    if (!filter.matches(name)) continue;
    TrainObserver silent;
    std::vector<std::string> overrides = entry.overrides();
    overrides.push_back("device=" + report.device.to_string());
    TrainerOptions options;
    options.write_files = false;
    Trainer trainer(RunConfig::parse(entry.yaml, name, overrides), silent, options);
    const MeasuredRates rates = trainer.measure(kSeconds);
    const Throughput &step = rates.as_configured, &resident = rates.resident;
    report.add({name, "samples/s", step.samples_per_second, step.spread,
                static_cast<int>(step.windows), step.interval,
                Ceiling{"the step on a resident batch", resident.samples_per_second,
                        resident.interval, rates.share, rates.load}});
  }
}

}  // namespace wellspring::bench
