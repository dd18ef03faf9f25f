#include "train/checkpoint/tensor_text.h"

#include "core/text/text.h"

#include <fmt/format.h>

#include <span>

namespace wellspring {

std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& info) {
  std::vector<float> values(info.bytes / sizeof(float));
  file.read(info, std::as_writable_bytes(std::span(values)));
  return values;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents) + "]";
}

std::string listed(std::vector<std::string> lines) {
  constexpr std::size_t kMost = 8;
  if (lines.size() > kMost) {
    const std::size_t more = lines.size() - kMost;
    lines.resize(kMost);
    lines.push_back(fmt::format("and {} more", more));
  }
  return join(lines, "; ");
}

}  // namespace wellspring
