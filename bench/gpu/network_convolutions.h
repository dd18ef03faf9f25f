// The convolutions of a network, found by planning it on the CPU, without a GPU. Called by
// conv_plans and by tests that plan for an absent GPU; host only.
#pragma once

#include "kernels/ops/plan_log.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/models/model.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::bench {

/// The convolutions in f32, in order, for `batch` samples of the model's example layout; images have
/// this size. The number of outputs, 10, affects no convolution. Throws the config
/// errors of make_model.
inline std::vector<ops::Conv2dSpec> network_convolutions(const std::string& model,
                                                         const std::vector<ParamSetting>& settings,
                                                         std::int64_t batch, ImageSize size) {
  SampleLayout layout;
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == model) layout = entry.example;
  }
  if (layout.kind == SampleKind::image) {
    layout.height = size.height;
    layout.width = size.width;
  }
  const Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  const Network network(make_model(model, settings)->record(layout, 10),
                        {.batch = batch, .shards = NetworkSpec::kWholeBatch}, stream, memory);
  auto convolutions = stream.library<ops::PlanLog>()->convolutions;
  // Some CPU plans compute the input gradient of a pooled convolution by other means and plan none;
  // a GPU needs one for all but the first convolution, whose input is the samples.
  for (std::size_t i = 1; i < convolutions.size(); ++i) convolutions[i].input_gradient = true;
  return convolutions;
}

}  // namespace wellspring::bench
