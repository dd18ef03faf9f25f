#include "tests/support/plain_safetensors.h"

#include "tests/support/temporary_folder.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace wellspring::test {
namespace {

template <class To>
void append(std::vector<std::byte>& out, To value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), begin, begin + sizeof(To));
}

/// The bits of a binary16 number in its normal range, or of 0.
std::uint16_t half_bits(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(value), &exponent);  // [0.5, 1)
  if (exponent < -13 || exponent > 16) throw std::logic_error("not a normal F16");
  const auto bits = static_cast<std::uint16_t>((exponent + 14) << 10 |
                                               static_cast<int>((2 * fraction - 1) * 1024));
  return value < 0 ? bits | 0x8000 : bits;
}

}  // namespace

std::vector<PlainTensor> read_tensors(const SafetensorsFile& file) {
  std::vector<PlainTensor> tensors;
  for (const TensorInfo& info : file.tensors()) {
    tensors.push_back({info.name, info.type, info.shape, std::vector<std::byte>(info.bytes)});
    file.read(info, tensors.back().data);
  }
  return tensors;
}

PlainTensor as_type(const PlainTensor& tensor, ElementType type) {
  PlainTensor out{tensor.name, type, tensor.shape, {}};
  for (std::size_t at = 0; at < tensor.data.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, tensor.data.data() + at, sizeof(float));
    if (type == ElementType::f16) append(out.data, half_bits(value));
    if (type == ElementType::bf16)
      append(out.data, static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
    if (type == ElementType::f32) append(out.data, value);
    if (type == ElementType::f64) append(out.data, static_cast<double>(value));
  }
  return out;
}

PlainTensor batch_count(const std::string& layer) {
  PlainTensor out{layer + ".num_batches_tracked", ElementType::i64, {}, {}};
  append(out.data, std::int64_t{100});
  return out;
}

void write_plain_safetensors(const std::filesystem::path& path,
                             const std::vector<PlainTensor>& tensors,
                             const TensorMetadata& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::string data;
  for (const PlainTensor& tensor : tensors) {
    const std::size_t begin = data.size();
    data += text_of(tensor.data);
    header[tensor.name] = {{"dtype", element_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string file;
  append_number<std::uint64_t>(file, text.size());
  spill(path, file + text + data);
}

}  // namespace wellspring::test
