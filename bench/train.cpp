// How fast whole training steps run, generation included, beside the same step on a batch that lies
// in memory already.
#include "bench/measure.h"
#include "train/trainer.h"

#include <fmt/format.h>

namespace wellspring::bench {
namespace {

constexpr double kSeconds = 6;  // of pairs of windows

struct Case {
  const char* name;
  const char* yaml;
};

// The first is the network of peers/torch_cnn_step.py: three 3x3 convolutions of 32, 64 and 128
// channels, each with ReLU and 2x2 max pooling, global mean, dense layer; 32x32x3, batch 128.
constexpr Case kCases[] = {
    {"three convolutions 32x32 batch 128 shapes", R"(
data: {size: 32, sources: [{name: shapes, generator: shapes}]}
model: {name: cnn, widths: [32, 64, 128], blocks: [0, 0, 0], pool: [1, 1, 1], norm: none}
optimizer: {kind: sgd, momentum: 0.9, lr: 0.01}
train: {batch: 128, steps: 1000000, clip: 0}
)"},
    {"residual network 32x32 batch 128 shapes", R"(
data: {size: 32, sources: [{name: shapes, generator: shapes}]}
model: {name: cnn, widths: [32, 64, 128], blocks: [1, 1, 1], pool: [1, 1, 1], norm: group}
optimizer: {kind: adamw, lr: 0.001}
train: {batch: 128, steps: 1000000}
)"},
    {"mlp 2 features batch 1024 ee_mumu", R"(
data: {sources: [{name: ee_mumu, generator: ee_mumu}]}
model: {name: mlp}
optimizer: {kind: adamw, lr: 0.001}
train: {batch: 1024, steps: 1000000}
)"},
};

}  // namespace

void bench_train(Report& report, const Filter& filter) {
  for (const Case& entry : kCases) {
    if (!filter.matches(entry.name)) continue;
    TrainObserver silent;
    const std::vector<std::string> overrides = {"device=" + report.device.to_string()};
    TrainerOptions options;
    options.write_files = false;
    Trainer trainer(RunConfig::parse(entry.yaml, entry.name, overrides), silent, options);
    const MeasuredRates rates = trainer.measure(kSeconds);
    const Throughput &step = rates.as_configured, &resident = rates.resident;
    report.add({entry.name, "samples/s", step.samples_per_second, step.spread,
                static_cast<int>(step.windows), step.interval,
                Ceiling{"the step on a resident batch", resident.samples_per_second,
                        resident.interval, rates.share, rates.load}});
  }
}

}  // namespace wellspring::bench
