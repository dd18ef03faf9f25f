#include "train/describe_run.h"

#include "core/text/plural.h"
#include "kernels/runtime/threads.h"
#include "train/network/fastest_plans.h"
#include "train/run_samples.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>

namespace wellspring {
namespace {

/// Adds one note per step that unfreezes parameters.
void add_unfreezing(std::vector<std::string>& notes, const ParameterArena& parameters) {
  for (const std::uint64_t step : parameters.phases()) {
    std::int64_t values = 0;
    for (const ParameterTensor& tensor : parameters.tensors())
      if (tensor.trained() && tensor.policy.unfreeze_at == step) values += tensor.elements();
    if (step > 0)
      notes.push_back(fmt::format("{} frozen until step {}",
                                  counted(values, "parameter value is", "parameter values are"),
                                  step));
  }
}

}  // namespace

void describe_run(PlanReport& plan, const RunConfig& config, const RunContext& context,
                  const Mixture& mixture, const SupervisedTask& task, const RunFolder* folder) {
  plan.name = config.name;
  if (folder != nullptr) {
    plan.folder = folder->path();
    for (std::string& line : picture_legend(training_origins(config, mixture)))
      plan.notes.push_back(std::move(line));
    if (!folder->locked())
      plan.notes.push_back(fmt::format(
          "the file system of {} does not support locks: do not start a second run there",
          folder->path().string()));
  }
  plan.device = summarise_device(context.device(), config.threads);
  plan.plans = plans_digest(context.stream);
  for (std::string& note : plan_notes(context.stream)) plan.notes.push_back(std::move(note));
  plan.precision = to_string(task.compute());
  constexpr std::array kModes = {"off", "on", "check"};
  plan.graph = kModes.at(static_cast<std::size_t>(config.train.graph));
  if (config.train.steps_per_launch > 1)
    plan.graph += fmt::format(", {} per launch", counted(config.train.steps_per_launch, "step"));
  plan.model = config.model.name;
  plan.parameters = task.parameters().count();
  plan.frozen = task.parameters().frozen_count();
  add_unfreezing(plan.notes, task.parameters());
  plan.batch = config.train.batch;
  plan.sample_bytes =
      static_cast<double>(task.layout().elements()) * static_cast<double>(size_of(task.compute()));
  plan.ranks = context.ranks.size();
  if (plan.ranks > 1)
    plan.notes.push_back(
        fmt::format("{} with {} each", counted(plan.ranks, "rank"),
                    counted(context.share.rows, "row of the batch", "rows of the batch")));
  if (context.passes > 1)
    plan.notes.push_back(fmt::format("each step takes {} of {} through the network",
                                     counted(context.passes, "pass", "passes"),
                                     counted(context.pass_share().rows, "row", "rows")));
  plan.steps = static_cast<std::uint64_t>(config.train.steps);
  plan.activations = task.network().memory_summary();
  plan.memory_table = context.memory.table();
  plan.memory = static_cast<double>(context.memory.total_bytes(MemorySpace::device));
  double sum = 0;
  for (const double weight : config.data.schedule.front().weights) sum += weight;
  for (int i = 0; i < mixture.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Source& source = mixture.source(i);
    const Dataset* const rows = source.rows();
    plan.sources.push_back(
        {source.name(), source.summary(), config.data.sources[k].spec.head,
         config.data.schedule.front().weights[k] / sum, source.streams(),
         source.streams() && rows->encoded(),
         rows == nullptr ? 0.0 : static_cast<double>(rows->size() * rows->layout().bytes()),
         rows == nullptr || !config.data.sources[k].augmentations.list.empty() ||
             config.data.mix.on()});
  }
}

}  // namespace wellspring
