#include "train/checkpoint/tensor_text.h"

#include "core/expect.h"
#include "core/io/half.h"
#include "core/text/text.h"
#include "kernels/runtime/dtype.h"

#include <fmt/format.h>

#include <span>

namespace wellspring {

namespace {

template <class Stored>
std::vector<float> converted(const SafetensorsFile& file, const TensorInfo& info) {
  std::vector<Stored> stored(info.bytes / sizeof(Stored));
  file.read(info, std::as_writable_bytes(std::span(stored)));
  std::vector<float> values;
  values.reserve(stored.size());
  for (const Stored value : stored) values.push_back(static_cast<float>(value));
  return values;
}

}  // namespace

bool holds_floats(const TensorInfo& info) {
  return info.type == ElementType::f16 || info.type == ElementType::bf16 ||
         info.type == ElementType::f32 || info.type == ElementType::f64;
}

bool is_batch_count(const TensorInfo& info) {
  return info.name.ends_with(".num_batches_tracked");
}

std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& info) {
  WS_EXPECT(holds_floats(info));
  if (info.type == ElementType::f16) return converted<Half>(file, info);
  if (info.type == ElementType::bf16) return converted<bf16>(file, info);
  if (info.type == ElementType::f64) return converted<double>(file, info);
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
