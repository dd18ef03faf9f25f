// The rows of the batches that training steps use. For the tests of training; host only.
#pragma once

#include "kernels/batch/batch_columns.h"
#include "train/step/run_context.h"
#include "train/step/step.h"
#include "train/step/supervised_task.h"

#include <cstdint>
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

/// A rank's rows in the first batches, step by step. Trains the network at the same time.
inline std::vector<std::string> trained_rows(const RunConfig& config, Communicator& ranks,
                                             int steps) {
  RunContext context(ranks, config.train.batch, Device::cpu(), 1);
  context.passes = config.train.accumulate;
  Stream& stream = context.stream;
  Mixture mixture = config.open_training();
  SupervisedTask task(config, context, DType::f32, SupervisedTask::Input::of(config, mixture));
  TrainingStep step(config, mixture, task, context);
  mixture.plan(context.memory, context.share, static_cast<std::uint64_t>(config.train.steps));
  context.memory.commit(config.memory_limit());
  mixture.load(stream);
  step.load(stream);
  task.parameters().initialise(stream, config.seed);
  std::vector<std::string> rows;
  for (int k = 0; k < steps; ++k) {
    mixture.before_step(stream, static_cast<std::uint64_t>(k));
    step.enqueue(stream);
    mixture.after_step(stream, static_cast<std::uint64_t>(k));
    stream.synchronize();
    for (std::int64_t row = 0; row < context.share.rows; ++row)
      rows.push_back(row_of(step.batch(), row));
  }
  return rows;
}

}  // namespace wellspring::test
