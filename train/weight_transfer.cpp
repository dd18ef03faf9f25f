// Weights of another run to begin with: the part of train/checkpoint.h that fits what is there to
// another network.
#include "core/safetensors.h"
#include "core/text.h"
#include "train/checkpoint.h"
#include "train/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace wellspring {

namespace fs = std::filesystem;

namespace {

/// Copies the logits of heads that both networks have; the others stay as they are in `values`.
/// Returns false when there is none.
bool keep_heads(const SafetensorsFile& file, const std::vector<MixtureHead>& there,
                const std::vector<MixtureHead>& here, const ParameterTensor& tensor,
                float* values) {
  const TensorInfo* info = file.find(tensor.name);
  if (info == nullptr) return false;
  const std::vector<float> held = read_floats(file, *info);
  const std::int64_t row = tensor.elements() / tensor.shape.front();
  if (info->shape.empty() || static_cast<std::int64_t>(held.size()) / info->shape[0] != row)
    return false;
  bool any = false;
  for (const MixtureHead& head : here)
    for (const MixtureHead& other : there) {
      if (other.name != head.name || other.classes != head.classes) continue;
      const auto n = static_cast<std::int64_t>(head.classes.size()) * row;
      std::copy_n(held.begin() + other.begin * row, n, values + head.begin * row);
      any = true;
    }
  return any;
}

}  // namespace

std::string TransferReport::to_string() const {
  std::string text = fmt::format("loaded {} tensors", loaded.size());
  const auto part = [&text](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("; {} {}", what, join(names));
  };
  part("reset", reset);
  part("missing", missing);
  part("unused", unused);
  return text;
}

TransferReport transfer_weights(const fs::path& model_file, HeadInit head_init,
                                const std::vector<MixtureHead>& heads, ParameterArena& parameters,
                                Stream& stream) {
  const ModelDescription model = describe_model(model_file);
  const SafetensorsFile file(model_file);
  std::vector<float> values = parameters.download(stream, parameters.master());
  TransferReport report;
  std::vector<std::string> unfit;
  std::set<std::string> known;
  for (const ParameterTensor& tensor : parameters.tensors()) {
    known.insert(tensor.name);
    float* place = values.data() + tensor.offset;
    const TensorInfo* info = file.find(tensor.name);
    if (tensor.group == ParameterGroup::head) {
      const bool kept =
          head_init == HeadInit::keep && keep_heads(file, model.heads, heads, tensor, place);
      (kept ? report.loaded : report.reset).push_back(tensor.name);
    } else if (info == nullptr) {
      report.missing.push_back(tensor.name);
    } else if (info->shape != tensor.file_shape() || info->type != ElementType::f32) {
      unfit.push_back(fmt::format("{} is {} there, {} here", tensor.name, shape_text(info->shape),
                                  shape_text(tensor.file_shape())));
    } else {
      from_file_order(tensor, read_floats(file, *info), place);
      report.loaded.push_back(tensor.name);
    }
  }
  for (const TensorInfo& info : file.tensors())
    if (!known.contains(info.name)) report.unused.push_back(info.name);
  if (!unfit.empty() || report.loaded.empty())
    fail(ErrorKind::config,
         {fmt::format("init.from: {} does not fit this network", model_file.string()),
          unfit.empty() ? "no tensor has the same name" : listed(unfit),
          "use the model section it was trained with; only the head may differ"});
  parameters.upload(stream, values, parameters.master());
  parameters.refresh_working(stream);
  stream.synchronize();
  return report;
}

}  // namespace wellspring
