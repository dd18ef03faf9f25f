// Collects samples with all their columns. For tests; host only.
#pragma once

#include "export/samples.h"
#include "generators/generator.h"
#include "kernels/batch/batch_columns.h"
#include "kernels/runtime/memory_plan.h"
#include "tests/support/augmentation.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::test {

struct Samples {
  std::vector<float> x;
  std::vector<std::int32_t> label;
  std::vector<float> latents;
  std::vector<float> weight;
  std::vector<float> plane;
  std::size_t elements = 0, latent_count = 0;

  std::size_t count() const { return label.size(); }
  const float* image(std::size_t i) const { return x.data() + i * elements; }
  float latent(std::size_t i, std::size_t l) const { return latents[i * latent_count + l]; }
};

inline AugmentationPlan plan_of(const std::string& yaml, const SampleInfo& info) {
  return plan_of(yaml, frame_of(info.source_shape()), frame_of(info.layout.shape()));
}

/// `yaml`: augmentations, as for emit_augmented.
inline Samples collect(Generator& generator, const SampleRange& range,
                       const SampleMaking& making = {}, const std::string& yaml = "") {
  Samples all;
  all.elements = static_cast<std::size_t>(generator.layout().elements());
  all.latent_count = generator.info().latents.size();
  SampleMaker maker(generator, making);
  const auto keep = [&](const HostSamples& samples) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.x, samples.x());
    append(all.label, samples.label());
    append(all.latents, samples.latents());
    append(all.weight, samples.weight());
    append(all.plane, samples.plane());
  };
  if (yaml.empty()) {
    maker.make(range, keep);
  } else {
    maker.make(range, keep, plan_of(yaml, generator.info()));
  }
  return all;
}

/// Emits samples in f32 or bf16 with the augmentations in `yaml` (tests/support/augmentation.h).
template <class T>
std::vector<T> emit_augmented(Generator& generator, const std::string& yaml, std::uint64_t seed,
                              std::uint64_t first, std::int64_t count,
                              Device device = Device::cpu()) {
  const auto size = static_cast<std::size_t>(count);
  MemoryPlan memory(device);
  BatchColumns columns;
  columns.plan(memory, "test", count, generator.layout(), DTypeOf<T>::value);
  const auto slots = memory.reserve<Slot>("test", "slots", size);
  generator.plan(memory, count);
  memory.commit();
  std::vector<Slot> host_slots(size);
  for (std::size_t i = 0; i < size; ++i) host_slots[i] = {first + i, first + i, 0, 0};
  Stream stream(device);
  generator.load(stream);
  stream.copy(slots.data(), host_slots.data(), slots.bytes(), CopyDirection::host_to_device,
              "slots");
  const BatchView batch = columns.view();
  const AugmentationPlan plan = yaml.empty() ? AugmentationPlan{} : plan_of(yaml, generator.info());
  generator.emit(stream, {slots.data(), 0, seed, plan, batch});
  std::vector<T> host_x(size * static_cast<std::size_t>(batch.layout.elements()));
  stream.copy(host_x.data(), batch.x, host_x.size() * sizeof(T), CopyDirection::device_to_host,
              "x");
  stream.synchronize();
  return host_x;
}

}  // namespace wellspring::test
