// The convolutions of a network, found by planning it on the CPU: no device is asked. Called by
// conv_plans and by the tests that plan for a GPU which is not there; host only.
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

/// In f32 and in order, for batches of the model's example of samples; images are squares of `size`
/// pixels, where it takes any. The number of outputs, which no convolution depends on, is 10.
/// Errors (config): as make_model.
inline std::vector<ops::Conv2dSpec> network_convolutions(const std::string& model,
                                                         const std::vector<ParamSetting>& settings,
                                                         std::int64_t batch, int size) {
  SampleLayout layout;
  for (const ModelEntry& entry : model_registry()) {
    if (entry.name == model) layout = entry.example;
  }
  if (layout.kind == SampleKind::image) layout.height = layout.width = size;
  const Stream stream(Device::cpu(), 1);
  MemoryPlan memory(Device::cpu());
  const Network network(make_model(model, settings)->record(layout, 10),
                        {.batch = batch, .shards = NetworkSpec::kWholeBatch}, stream, memory);
  auto convolutions = stream.library<ops::PlanLog>()->convolutions;
  // Some CPUs compute the gradient in front of a pooling by other means than a GPU, and plan none:
  // samples alone, which the first one reads, need no gradient.
  for (std::size_t i = 1; i < convolutions.size(); ++i) convolutions[i].input_gradient = true;
  return convolutions;
}

}  // namespace wellspring::bench
