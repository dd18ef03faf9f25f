#include "core/io/safetensors.h"

#include "core/error.h"
#include "core/io/sha256.h"
#include "core/text/json_reason.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

namespace wellspring {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLargestHeader = 100'000'000;  ///< limit of the reference implementation
constexpr std::uint64_t kAlignment = 64;
constexpr const char* kMetadataKey = "__metadata__";
constexpr const char* kDigestKey = "digest";
constexpr std::array kTypes = {ElementType::u8,  ElementType::i32,  ElementType::i64,
                               ElementType::f16, ElementType::bf16, ElementType::f32,
                               ElementType::f64};

/// Size of a tensor in bytes; empty on overflow.
std::optional<std::uint64_t> tensor_bytes(ElementType type, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = element_size(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(extent);
    if (factor != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / factor) {
      return std::nullopt;
    }
    bytes *= factor;
  }
  return bytes;
}

/// The header without the digest, in canonical form: keys in alphabetical order.
Json header_json(std::span<const TensorInfo> tensors, const TensorMetadata& metadata) {
  Json header = Json::object();
  Json texts = Json::object();
  for (const auto& [key, text] : metadata) {
    if (key != kDigestKey) texts[key] = text;
  }
  if (!texts.empty()) header[kMetadataKey] = std::move(texts);
  for (const TensorInfo& tensor : tensors) {
    header[tensor.name] = {{"dtype", element_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {tensor.offset, tensor.offset + tensor.bytes}}};
  }
  return header;
}

std::string digest_text(const Sha256& hash) {
  return "sha256:" + hash.hex();
}

// ---- reading ----

[[noreturn]] void fail_file(const InputFile& file, const std::string& why) {
  fail(ErrorKind::data,
       {fmt::format("{}: not a valid safetensors file", file.path().string()), why,
        "the file is truncated, damaged or of another format; use an intact copy"});
}

/// Parses the header. Refuses duplicate keys, which the JSON parser accepts.
Json parse_header(const InputFile& file, const std::string& text) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      fail_file(file, fmt::format("its header has the key '{}' twice", parsed.get<std::string>()));
    }
    return true;
  };
  // The JSON parser treats a zero byte as the end of its input.
  if (text.find('\0') != std::string::npos) fail_file(file, "its header has a zero byte");
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    fail_file(file, "its header is " + json_reason(error.what()));
  }
}

TensorMetadata parse_metadata(const InputFile& file, const Json& texts) {
  TensorMetadata metadata;
  if (!texts.is_object()) fail_file(file, "its metadata is not an object");
  for (const auto& [key, text] : texts.items()) {
    if (!text.is_string()) fail_file(file, fmt::format("its metadata '{}' is not a string", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

TensorInfo parse_tensor(const InputFile& file, const std::string& name, const Json& entry) {
  const auto refuse = [&](const std::string& why) {
    fail_file(file, fmt::format("tensor '{}' {}", name, why));
  };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets")) {
    refuse("is not described by dtype, shape and data_offsets");
  }
  TensorInfo tensor;
  tensor.name = name;
  const Json& dtype = entry["dtype"];
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](ElementType candidate) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == element_name(candidate);
  });
  if (type == kTypes.end()) refuse(fmt::format("has the unknown type {}", dtype.dump()));
  tensor.type = *type;
  const auto is_size = [](const Json& number) { return number.is_number_unsigned(); };
  const Json& shape = entry["shape"];
  const Json& offsets = entry["data_offsets"];
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_size)) {
    refuse("has a shape that is not a list of sizes");
  }
  if (!offsets.is_array() || offsets.size() != 2 ||
      !std::all_of(offsets.begin(), offsets.end(), is_size)) {
    refuse("has offsets that are not two sizes");
  }
  tensor.shape = shape.get<std::vector<std::int64_t>>();
  tensor.offset = offsets[0].get<std::uint64_t>();
  const auto end = offsets[1].get<std::uint64_t>();
  if (end < tensor.offset) refuse("ends before it begins");
  tensor.bytes = end - tensor.offset;
  if (tensor_bytes(tensor.type, tensor.shape) != tensor.bytes) {
    refuse("has a number of bytes that does not match its shape");
  }
  return tensor;
}

/// Throws a data error unless every byte of the data belongs to exactly one tensor.
void check_layout(const InputFile& file, std::span<const TensorInfo> tensors,
                  std::uint64_t data_bytes) {
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset < end) {
      fail_file(file, fmt::format("tensor '{}' overlaps the previous one", tensor.name));
    }
    if (tensor.offset > end) {
      fail_file(file, fmt::format("there is a gap before tensor '{}'", tensor.name));
    }
    end += tensor.bytes;
  }
  if (end != data_bytes) {
    fail_file(file, fmt::format("it has {} of data, but its header describes {}",
                                counted(data_bytes, "byte"), end));
  }
}

}  // namespace

void write_safetensors(ByteSink& sink, std::span<const TensorData> tensors,
                       const TensorMetadata& metadata) {
  std::vector<const TensorData*> order;
  for (const TensorData& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const TensorData* a, const TensorData* b) {
    return element_size(a->type) > element_size(b->type);
  });
  std::vector<TensorInfo> infos;
  std::set<std::string> names = {kMetadataKey};
  std::uint64_t offset = 0;
  for (const TensorData* tensor : order) {
    if (!names.insert(tensor->name).second ||
        tensor_bytes(tensor->type, tensor->shape) != tensor->data.size()) {
      throw std::logic_error(
          fmt::format("tensor '{}' is a duplicate or does not match its shape", tensor->name));
    }
    infos.push_back({tensor->name, tensor->type, tensor->shape, offset, tensor->data.size()});
    offset += tensor->data.size();
  }
  Json header = header_json(infos, metadata);
  Sha256 hash;
  hash.update(bytes_of(header.dump()));
  for (const TensorData* tensor : order) hash.update(tensor->data);
  header[kMetadataKey][kDigestKey] = digest_text(hash);

  std::string text = header.dump();
  text.resize((text.size() + 8 + kAlignment - 1) / kAlignment * kAlignment - 8, ' ');
  if (text.size() > kLargestHeader) throw std::logic_error("the safetensors header is too large");
  std::string length;
  append_number<std::uint64_t>(length, text.size());
  sink.write(length + text);
  for (const TensorData* tensor : order) sink.write(tensor->data);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  std::array<std::byte, 8> length_bytes{};
  if (file_.size() < length_bytes.size()) fail_file(file_, "it is shorter than 8 bytes");
  file_.read(0, length_bytes);
  const auto length = number_at<std::uint64_t>(length_bytes, 0);
  std::array<std::byte, 1> first{};
  if (file_.size() > length_bytes.size()) {
    file_.read(length_bytes.size(), first);
    if (first[0] != std::byte{'{'} && length > file_.size() - 8)
      fail_file(file_, "its first bytes belong to another format");
  }
  if (length > kLargestHeader) fail_file(file_, "its header is longer than 100 MB");
  if (length > file_.size() - 8) fail_file(file_, "its header is truncated");
  data_begin_ = 8 + length;
  std::string text(length, '\0');
  file_.read(8, std::as_writable_bytes(std::span(text.data(), text.size())));
  const Json header = parse_header(file_, text);
  if (!text.starts_with('{') || !header.is_object())
    fail_file(file_, "its header is not an object");
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = parse_metadata(file_, entry);
    } else {
      tensors_.push_back(parse_tensor(file_, name, entry));
    }
  }
  // Empty tensors come before the tensor with the same offset.
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  check_layout(file_, tensors_, file_.size() - data_begin_);
}

const TensorInfo* SafetensorsFile::find(const std::string& name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

const TensorInfo& SafetensorsFile::tensor(const std::string& name) const {
  if (const TensorInfo* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors_) names.push_back(tensor.name);
  fail(ErrorKind::data,
       {fmt::format("{}: no tensor '{}'", path().string(), name), "", name_advice(name, names)});
}

void SafetensorsFile::read(const TensorInfo& tensor, std::span<std::byte> out) const {
  if (out.size() != tensor.bytes) {
    throw std::logic_error(
        fmt::format("the buffer for tensor '{}' has the wrong size", tensor.name));
  }
  file_.read(data_begin_ + tensor.offset, out);
}

bool SafetensorsFile::has_digest() const {
  return metadata_.contains(kDigestKey);
}

void SafetensorsFile::verify() const {
  const auto digest = metadata_.find(kDigestKey);
  if (digest == metadata_.end()) {
    fail(ErrorKind::data,
         {fmt::format("{}: has no digest", path().string()), "it was not written by this program"});
  }
  Sha256 hash;
  hash.update(bytes_of(header_json(tensors_, metadata_).dump()));
  std::vector<std::byte> block(std::min<std::uint64_t>(file_.size() - data_begin_, 1 << 20));
  for (std::uint64_t at = data_begin_; at < file_.size(); at += block.size()) {
    block.resize(std::min<std::uint64_t>(block.size(), file_.size() - at));
    file_.read(at, block);
    hash.update(block);
  }
  if (digest_text(hash) != digest->second)
    fail(ErrorKind::data,
         {fmt::format("{}: its digest does not match its content", path().string()),
          "the file is damaged, or was edited after it was written",
          "use an intact copy; an edited file needs metadata without 'digest'"});
}

}  // namespace wellspring
