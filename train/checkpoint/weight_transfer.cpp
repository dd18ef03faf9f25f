// Initialisation with another run's weights (declared in train/checkpoint/checkpoint.h): fits the
// tensors of a model file to another network.
#include "core/io/safetensors.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace wellspring {

namespace fs = std::filesystem;

namespace {

/// Copies the output weights of heads that both networks have to `values`, unless it is null;
/// leaves the other elements unchanged. Returns false if no head matches.
bool keep_heads(const SafetensorsFile& file, const std::vector<HeadSpec>& there,
                const std::vector<HeadSpec>& here, const ParameterTensor& tensor, float* values) {
  const TensorInfo* info = file.find(tensor.name);
  if (info == nullptr || info->shape.empty() || info->shape[0] == 0) return false;
  const std::vector<float> held = read_floats(file, *info);
  const std::int64_t row = tensor.elements() / tensor.shape.front();
  if (static_cast<std::int64_t>(held.size()) / info->shape[0] != row) return false;
  bool any = false;
  for (const HeadSpec& head : here)
    for (const HeadSpec& other : there) {
      if (other.name != head.name || other.loss != head.loss || other.classes != head.classes ||
          other.targets != head.targets)
        continue;
      const std::int64_t n = head.outputs() * row;
      if (values != nullptr)
        std::copy_n(held.begin() + other.begin * row, n, values + head.begin * row);
      any = true;
    }
  return any;
}

/// Reads matching tensors into `values`, laid out as the arena; null: only compares.
TransferReport fit_weights(const fs::path& model_file, HeadInit head_init,
                           const std::vector<HeadSpec>& heads, const ParameterArena& parameters,
                           float* values) {
  const ModelDescription model = describe_model(model_file);
  const SafetensorsFile file(model_file);
  TransferReport report;
  std::vector<std::string> unfit;
  std::set<std::string> known;
  for (const ParameterTensor& tensor : parameters.tensors()) {
    known.insert(tensor.name);
    float* const place = values == nullptr ? nullptr : values + tensor.offset;
    const TensorInfo* info = file.find(tensor.name);
    if (tensor.group == ParameterGroup::head) {
      const bool kept =
          head_init == HeadInit::keep && keep_heads(file, model.heads, heads, tensor, place);
      (kept ? report.loaded : report.reset).push_back(tensor.name);
    } else if (info == nullptr) {
      report.missing.push_back(tensor.name);
    } else if (info->shape != tensor.file_shape() || info->type != ElementType::f32) {
      unfit.push_back(fmt::format("{} is {} in the file, {} in this network", tensor.name,
                                  shape_text(info->shape), shape_text(tensor.file_shape())));
    } else {
      if (place != nullptr) from_file_order(tensor, read_floats(file, *info), place);
      report.loaded.push_back(tensor.name);
    }
  }
  for (const TensorInfo& info : file.tensors())
    if (!known.contains(info.name)) report.unused.push_back(info.name);
  if (!unfit.empty() || report.loaded.empty())
    fail(ErrorKind::config,
         {fmt::format("init.from: {} does not fit this network", model_file.string()),
          unfit.empty() ? "no tensor has a matching name" : listed(unfit),
          "use the model section that it was trained with; only the head may differ"});
  return report;
}

}  // namespace

std::string TransferReport::to_string() const {
  std::string text = "loaded " + counted(loaded.size(), "tensor");
  const auto part = [&text](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("; {} {}", what, join(names));
  };
  part("reset", reset);
  part("missing", missing);
  part("unused", unused);
  return text;
}

TransferReport check_transfer(const fs::path& model_file, HeadInit head_init,
                              const std::vector<HeadSpec>& heads,
                              const ParameterArena& parameters) {
  return fit_weights(model_file, head_init, heads, parameters, nullptr);
}

TransferReport transfer_weights(const fs::path& model_file, HeadInit head_init,
                                const std::vector<HeadSpec>& heads, ParameterArena& parameters,
                                Stream& stream) {
  std::vector<float> values = parameters.download(stream, parameters.master());
  TransferReport report = fit_weights(model_file, head_init, heads, parameters, values.data());
  parameters.upload(stream, values, parameters.master());
  parameters.begin_average(stream);
  parameters.refresh_working(stream);
  stream.synchronize();
  return report;
}

}  // namespace wellspring
