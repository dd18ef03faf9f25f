// A batch in ordinary memory with the view that emission writes through. Tests only; host only.
#pragma once

#include "kernels/batch.h"

#include <vector>

namespace wellspring::test {

struct BatchMemory {
  BatchMemory(std::int64_t size, SampleShape shape, std::int64_t latent_stride)
      : x(static_cast<std::size_t>(size * shape.elements()), -99.f),
        label(static_cast<std::size_t>(size), -99),
        weight(static_cast<std::size_t>(size), -99.f),
        latents(static_cast<std::size_t>(size * latent_stride), -99.f),
        view{size,         shape,         DType::f32,     x.data(),
             label.data(), weight.data(), latents.data(), latent_stride} {}
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  std::vector<float> x;
  std::vector<std::int32_t> label;
  std::vector<float> weight;
  std::vector<float> latents;
  BatchView view;
};

}  // namespace wellspring::test
