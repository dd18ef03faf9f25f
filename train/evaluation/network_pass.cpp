#include "train/evaluation/network_pass.h"

#include "core/error.h"
#include "core/signals.h"
#include "sources/datasets/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace wellspring {

void require_finite_outputs(const PredictedRows& rows, const Mixture& mixture) {
  const std::span outputs(rows.outputs, static_cast<std::size_t>(rows.count * rows.width));
  const auto bad = std::ranges::find_if(outputs, [](float value) { return !std::isfinite(value); });
  if (bad == outputs.end()) return;
  const std::uint64_t sample =
      rows.first + static_cast<std::uint64_t>((bad - outputs.begin()) / rows.width);
  const Source& source = mixture.source(rows.source);
  const Dataset* const data = source.rows();
  const std::string location =
      data == nullptr ? ""
                      : fmt::format(" ({})", data->location(static_cast<std::int64_t>(sample)));
  fail(ErrorKind::data,
       {fmt::format("source '{}', sample {}{}: an output of the network is {}", source.name(),
                    sample, location, *bad),
        "scores and predictions need finite outputs",
        "use an earlier checkpoint, or train with a smaller learning rate; if the network "
        "computes in bf16, try precision=f32"});
}

void NetworkPass::plan(MemoryPlan& memory, const SampleLayout& layout, const SupervisedTask& task) {
  const std::int64_t rows = task.rows();
  batch_.plan(memory, "evaluation", rows, layout, task.compute());
  SampleLayout truth = SampleLayout::event(0);
  if (layout.kind == SampleKind::set) truth = SampleLayout::set(layout.items, 0);
  truth.targets = layout.targets;
  truth.latents = layout.latents;
  host_.plan(memory, "evaluation", rows, truth, DType::f32, MemorySpace::host);
  width_ = task.outputs_per_sample();
  outputs_ = memory.reserve<float>("evaluation", "outputs", static_cast<std::size_t>(rows * width_),
                                   MemorySpace::host);
}

void NetworkPass::run(Stream& stream, SupervisedTask& task, Mixture& mixture, int source,
                      HeldOutRange samples, const Uses& uses) {
  const BatchView batch = batch_.view();
  PredictedRows rows{source, samples.first, 0, width_, outputs_.data(), host_.view()};
  const auto from = columns_of(batch), to = columns_of(rows.truth);
  for (; rows.first < samples.end; rows.first += static_cast<std::uint64_t>(batch.size)) {
    stop_if_interrupted();
    rows.count = static_cast<std::int64_t>(
        std::min(samples.end - rows.first, static_cast<std::uint64_t>(batch.size)));
    const auto count = static_cast<std::size_t>(rows.count);
    mixture.emit_range(stream, source, rows.first, batch, rows.count);
    task.forward({stream, batch, mixture.slots(), nullptr, PassMode::evaluate});
    if (uses.on_device) uses.on_device(batch, rows.count);
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i].data != nullptr)
        stream.copy(to[i].data, from[i].data, count * to[i].row_bytes(),
                    CopyDirection::device_to_host, "truth of evaluated samples");
    stream.copy(outputs_.data(), task.outputs(),
                count * static_cast<std::size_t>(width_) * sizeof(float),
                CopyDirection::device_to_host, "outputs of evaluated samples");
    stream.synchronize();
    uses.on_host(rows);
    if (uses.progress) uses.progress(rows.first + count - samples.first);
  }
}

}  // namespace wellspring
