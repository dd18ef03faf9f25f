// A run so small that a test takes a fraction of a second. For the tests of training; host
// only.
#pragma once

#include "core/error.h"
#include "core/signals.h"
#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"
#include "train/config/run_config.h"
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace wellspring::test {

/// Two generators with separate heads and a network with every kind of layer.
inline const std::string kSmallRun = R"(name: small
seed: 7
device: cpu
threads: 1
data:
  size: 8
  sources:
    - {name: shapes, kind: generator, generator: shapes, params: {classes: 4}, weight: 3}
    - {name: noise, kind: generator, generator: noise, weight: 1}
eval:
  samples: 20
  sources: [{of: shapes}, {of: noise}]
model: {name: cnn, widths: [4, 8], blocks: [0, 1], pool: [0, 1], norm: group, group_width: 4}
optimizer: {kind: adamw, lr: 0.01, weight_decay: 0.01}
train: {batch: 8, steps: 30, log_every: 4, checkpoint_every: 10, keep: 3}
)";

/// Overrides of a run.
using Settings = std::vector<std::string>;

inline Settings with(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Stores the reports of a run.
struct Listener : TrainObserver {
  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
  std::vector<CheckpointReport> checkpoints;
  GraphCensus census, launch_census;  ///< one step; several steps
  int plans = 0, finishes = 0;
  std::uint64_t interrupt_at = UINT64_MAX;

  void on_plan(const PlanReport&) override { ++plans; }
  void on_graph(const GraphCensus& graph, std::uint64_t graph_steps) override {
    (graph_steps == 1 ? census : launch_census) = graph;
  }
  void on_step_metrics(const StepReport& report) override {
    steps.push_back(report);
    if (report.step >= interrupt_at) request_interrupt();
  }
  void on_evaluation(const EvaluationReport& report) override { evaluations.push_back(report); }
  void on_checkpoint(const CheckpointReport& report) override { checkpoints.push_back(report); }
  void on_finish(const FinishReport&) override { ++finishes; }
};

/// The device: an override, or else WELLSPRING_TEST_DEVICE, or else the CPU.
inline RunConfig small_run(const std::filesystem::path& folder,
                           std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "out=" + folder.string());
  const bool named = std::ranges::any_of(
      overrides, [](const std::string& text) { return text.starts_with("device="); });
  if (const char* device = std::getenv("WELLSPRING_TEST_DEVICE"); device != nullptr && !named) {
    overrides.insert(overrides.begin(), std::string("device=") + device);
  }
  return RunConfig::parse(kSmallRun, "small.yaml", overrides);
}

/// Default options except for `resume`.
inline TrainerOptions quick(ResumeChoice resume = {}) {
  TrainerOptions options;
  options.resume = std::move(resume);
  return options;
}

/// Runs to the end and returns the stored state. Steps must not transfer data from or to the host.
inline std::vector<std::uint8_t> end_state(const RunConfig& config, const TrainerOptions& options) {
  Listener listener;
  Trainer trainer(config, listener, options);
  trainer.run();
  EXPECT_TRUE(trainer.census().kernels == 0 || trainer.census().no_host_transfer());
  return trainer.state_bytes();
}

/// Compares the files of two runs' checkpoints after their last step, 30.
inline void expect_same_checkpoints(const std::filesystem::path& run,
                                    const std::filesystem::path& other) {
  for (const char* name : {"model.safetensors", "state.safetensors"})
    EXPECT_EQ(slurp(run / "checkpoints/step-30" / name),
              slurp(other / "checkpoints/step-30" / name))
        << name;
}

/// Options for a run without a folder.
inline TrainerOptions in_memory() {
  TrainerOptions options = quick();
  options.write_files = false;
  return options;
}

}  // namespace wellspring::test
