#include "train/check_run.h"

#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/evaluation.h"
#include "train/keep_best.h"
#include "train/run_length.h"
#include "train/step/run_context.h"
#include "train/step/step.h"
#include "train/step/supervised_task.h"

#include <string>
#include <vector>

namespace wellspring {
namespace {

/// The run's compute type. The run's device may be absent on this machine.
DType compute_type(const RunConfig& config) {
  return config.device == "cpu" ? config.compute_type(Device::cpu()) : DType::f32;
}

}  // namespace

void check_run(const RunConfig& given) {
  RunConfig config = given;
  RunContext context(single_rank(), config.train.batch, Device::cpu(),
                     static_cast<int>(config.threads));
  Mixture mixture = config.open_training();
  std::vector<std::string> notes;
  settle_epochs(config, mixture, notes);
  context.passes = config.train.accumulate;
  SupervisedTask task(config, context, compute_type(config),
                      SupervisedTask::Input::of(config, mixture));
  (void)figure_to_keep(config, task.heads());
  const Evaluator evaluator(config, open_evaluated(config, task.heads()), task, context);
  const TrainingStep step(config, mixture, task, context);
  mixture.plan(context.memory, context.share, static_cast<std::uint64_t>(config.train.steps));
  if (!config.init.from.empty() && !CheckpointStore(config.folder()).newest())
    check_transfer(config.init, task.heads(), task.layout().shape(), task.parameters());
}

}  // namespace wellspring
