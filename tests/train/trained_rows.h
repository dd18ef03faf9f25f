// The rows of the batches that training steps use, and the gradients of the first step. For the
// tests of training; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "train/keep_best.h"
#include "train/normalised_data.h"
#include "train/run_state.h"
#include "train/step/run_context.h"
#include "train/step/step.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wellspring::test {

/// The columns of a row.
inline std::string row_of(const BatchView& batch, std::int64_t row) {
  std::string bytes;
  for (const BatchColumn& column : columns_of(batch))
    if (column.data != nullptr)
      bytes.append(static_cast<const char*>(column.data) +
                       static_cast<std::size_t>(row) * column.row_bytes(),
                   column.row_bytes());
  return bytes;
}

/// A rank's part of some training steps.
struct TrainedSteps {
  std::vector<std::string> rows;  ///< step by step
  std::vector<float> weights;     ///< before the first step; with the gaps of the arena
  /// Gradients of all trained parameters in the first step, summed over the ranks.
  std::vector<float> gradients = {};
};

inline std::vector<float> gradients_of(const ParameterArena& arena) {
  std::vector<float> all;
  for (int i = 0; const ParameterTensor& tensor : arena.tensors()) {
    const auto* const first = static_cast<const float*>(arena.gradient({i++}));
    if (first != nullptr) all.insert(all.end(), first, first + tensor.elements());
  }
  return all;
}

/// Trains the network on the CPU: from the start, or from the checkpoint at `from`.
inline TrainedSteps train_steps(RunConfig config, Communicator& ranks, int steps,
                                const ResumeChoice& from = {}) {
  RunContext context(ranks, config.train.batch, Device::cpu(), 1);
  context.passes = config.train.accumulate;
  Stream& stream = context.stream;
  TrainerOptions options;
  options.resume = from;
  options.write_files = false;
  std::vector<std::string> notes;
  Mixture mixture = open_normalised(config, std::nullopt, options, {}, notes);
  SupervisedTask task(config, context, DType::f32, SupervisedTask::Input::of(config, mixture));
  TrainingStep step(config, mixture, task, context);
  mixture.plan(context.memory, context.share, static_cast<std::uint64_t>(config.train.steps));
  context.memory.commit(config.memory_limit());
  mixture.load(stream);
  step.load(stream);
  BestKeeper best(config, task.heads());
  const std::uint64_t first =
      RunState(config, context, mixture, task, step, best).begin(from, nullptr, notes).step;
  task.select_phase(first);
  const ParameterArena& arena = task.parameters();
  TrainedSteps done{{}, ParameterArena::download(stream, arena.weights())};
  for (std::uint64_t k = first; k < first + static_cast<std::uint64_t>(steps); ++k) {
    mixture.before_step(stream, k);
    step.enqueue(stream);
    mixture.after_step(stream, k);
    stream.synchronize();
    if (k == first) done.gradients = gradients_of(arena);
    for (std::int64_t row = 0; row < context.share.rows; ++row)
      done.rows.push_back(row_of(step.batch(), row));
  }
  return done;
}

/// A rank's rows in the batches of these steps.
inline std::vector<std::string> trained_rows(const RunConfig& config, Communicator& ranks,
                                             int steps, const ResumeChoice& from = {}) {
  return train_steps(config, ranks, steps, from).rows;
}

}  // namespace wellspring::test
