// Samples kept whole, for tests. Host only.
#pragma once

#include "generators/generator.h"
#include "generators/samples.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wellspring::test {

struct Samples {
  std::vector<float> x;
  std::vector<std::int32_t> label;
  std::vector<float> latents;
  std::vector<float> weight;
  std::size_t elements = 0, latent_count = 0;

  std::size_t count() const { return label.size(); }
  const float* image(std::size_t i) const { return x.data() + i * elements; }
  float latent(std::size_t i, std::size_t l) const { return latents[i * latent_count + l]; }
};

inline Samples collect(const Generator& generator, const SampleRange& range,
                       const SampleMaking& making = {}) {
  Samples all;
  all.elements = static_cast<std::size_t>(generator.shape().elements());
  all.latent_count = generator.info().latents.size();
  SampleReader reader(generator, range.seed, making);
  reader.read(range.first, range.count, [&](const HostSamples& samples) {
    all.x.insert(all.x.end(), samples.x.begin(), samples.x.end());
    all.label.insert(all.label.end(), samples.label.begin(), samples.label.end());
    all.latents.insert(all.latents.end(), samples.latents.begin(), samples.latents.end());
    all.weight.insert(all.weight.end(), samples.weight.begin(), samples.weight.end());
  });
  return all;
}

/// One emission with a view, into f32 or bf16.
template <class T>
std::vector<T> emit_with_view(const Generator& generator, const ViewSpec& view, std::uint64_t seed,
                              std::uint64_t first, std::int64_t count) {
  const SampleShape shape = generator.shape();
  const auto size = static_cast<std::size_t>(count);
  std::vector<T> x(size * static_cast<std::size_t>(shape.elements()));
  std::vector<std::int32_t> label(size);
  std::vector<float> weight(size);
  std::vector<Slot> slots(size);
  for (std::size_t i = 0; i < size; ++i) slots[i] = {first + i, first + i, 0, 0};
  Stream stream(Device::cpu());
  generator.emit(
      stream, slots.data(), 0, seed, view,
      {count, shape, DTypeOf<T>::value, x.data(), label.data(), weight.data(), nullptr, 0});
  return x;
}

}  // namespace wellspring::test
