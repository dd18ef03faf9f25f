#include "generators/sample_info.h"

#include <algorithm>

namespace wellspring {

ValueInfo::ValueInfo(std::string_view its_name, std::string_view its_unit)
    : name(its_name), unit(its_unit) {}
ValueInfo::ValueInfo() = default;
ValueInfo::ValueInfo(const ValueInfo& other) = default;
ValueInfo::ValueInfo(ValueInfo&& other) noexcept = default;
ValueInfo& ValueInfo::operator=(const ValueInfo& other) = default;
ValueInfo& ValueInfo::operator=(ValueInfo&& other) noexcept = default;
ValueInfo::~ValueInfo() = default;

SampleInfo::SampleInfo() = default;
SampleInfo::SampleInfo(const SampleInfo& other) = default;
SampleInfo::SampleInfo(SampleInfo&& other) noexcept = default;
SampleInfo& SampleInfo::operator=(const SampleInfo& other) = default;
SampleInfo& SampleInfo::operator=(SampleInfo&& other) noexcept = default;
SampleInfo::~SampleInfo() = default;

SampleShape SampleInfo::source_shape() const {
  const SampleShape shape = layout.shape();
  if (canvas == 0) return shape;
  const int shorter = std::min(shape.height, shape.width);
  // Rounded up: the output then shows a central part of the canvas, at the exact scale.
  const auto scaled = [&](int side) {
    return static_cast<int>((std::int64_t{canvas} * side + shorter - 1) / shorter);
  };
  return {scaled(shape.height), scaled(shape.width), shape.channels};
}

std::optional<double> SampleInfo::best_result(std::string_view metric) const {
  for (const BestResult& result : best) {
    if (result.metric == metric) return result.value;
  }
  return std::nullopt;
}

}  // namespace wellspring
