// Initialisation with another run's weights (declared in train/checkpoint/checkpoint.h): matches
// the tensors of a model file to the tensors of this network.
#include "core/io/safetensors.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_file.h"
#include "train/checkpoint/tensor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace wellspring {

namespace fs = std::filesystem;

namespace {

/// The rows of an output layer that one head of this network takes from the file.
struct KeptRows {
  std::string output;
  std::int64_t from = 0, to = 0, count = 0;
};

struct KeptHeads {
  std::vector<KeptRows> rows;
  std::vector<std::string> added;  ///< heads that the file lacks
};

[[noreturn]] void refuse_heads(const ModelFile& model, const std::vector<std::string>& why) {
  fail(ErrorKind::config,
       {fmt::format("init.head=keep: {} has a different output layer", model.path().string()),
        listed(why), "set init.head=reset to re-initialise the output layer"});
}

/// "4 classes", or their names if `other` has the same number.
std::string outputs_text(const HeadSpec& head, const HeadSpec& other) {
  if (head.loss != other.loss) return "loss " + to_string(head.loss);
  if (head.output != other.output) return fmt::format("output {}", head.output);
  if (head.rows() != other.rows())
    return head.loss == LossKind::regression ? counted(head.rows(), "target")
                                             : counted(head.rows(), "class", "classes");
  if (head.loss != LossKind::regression) return fmt::format("[{}]", join(head.classes));
  std::vector<std::string> targets;
  for (const HeadTarget& target : head.targets)
    targets.push_back(fmt::format("{} {}..{}", target.name, target.low, target.high));
  return fmt::format("[{}]", join(targets));
}

std::vector<std::string> names_of(const std::vector<HeadSpec>& heads) {
  std::vector<std::string> names;
  for (const HeadSpec& head : heads) names.push_back(head.name);
  return names;
}

/// Pairs heads by name. Error (config) if there is no pair, or if the heads of a pair differ.
KeptHeads match_heads(const ModelFile& model, const std::vector<HeadSpec>& here) {
  KeptHeads kept;
  std::vector<std::string> differences;
  const std::vector<HeadSpec>& there = model.described().heads;
  for (const HeadSpec& head : here) {
    const auto other = std::ranges::find(there, head.name, &HeadSpec::name);
    if (other == there.end()) {
      kept.added.push_back(head.name);
    } else if (other->loss != head.loss || other->classes != head.classes ||
               other->targets != head.targets || other->output != head.output) {
      differences.push_back(fmt::format("head '{}' has {} in the file, {} in this network",
                                        head.name, outputs_text(*other, head),
                                        outputs_text(head, *other)));
    } else {
      kept.rows.push_back({head.output, other->row, head.row, head.rows()});
    }
  }
  if (differences.empty() && kept.rows.empty())
    differences.push_back(fmt::format("it has the heads {}; this network has {}",
                                      join(names_of(there)), join(names_of(here))));
  if (!differences.empty()) refuse_heads(model, differences);
  return kept;
}

/// Copies the kept rows of one tensor to `values`, unless it is null.
void keep_rows(const ModelFile& model, const KeptHeads& kept, const ParameterTensor& tensor,
               float* values) {
  std::vector<std::int64_t> shape = tensor.file_shape();
  shape.front() = 0;
  for (const HeadSpec& head : model.described().heads)
    if (head.output == tensor.output) shape.front() += head.rows();
  const TensorInfo* info = model.tensors().find(tensor.name);
  if (info == nullptr || info->shape != shape || !holds_floats(*info))
    refuse_heads(
        model,
        {fmt::format("{} is {} in the file; its heads and this network need {}", tensor.name,
                     info == nullptr ? "missing" : shape_text(info->shape), shape_text(shape))});
  if (values == nullptr) return;
  const std::vector<float> held = read_floats(model.tensors(), *info);
  const std::int64_t row = tensor.elements() / tensor.shape.front();
  for (const KeptRows& rows : kept.rows)
    if (rows.output == tensor.output)
      std::copy_n(held.begin() + rows.from * row, rows.count * row, values + rows.to * row);
}

/// The same for a file that does not list its heads: keeps all rows.
void keep_all(const ModelFile& model, const ParameterTensor& tensor, float* values) {
  const TensorInfo* info = model.tensors().find(tensor.name);
  if (info == nullptr || info->shape != tensor.file_shape() || !holds_floats(*info))
    refuse_heads(model, {fmt::format("{} is {} in the file, {} in this network", tensor.name,
                                     info == nullptr ? "missing" : shape_text(info->shape),
                                     shape_text(tensor.file_shape()))});
  if (values != nullptr) from_file_order(tensor, read_floats(model.tensors(), *info), values);
}

[[noreturn]] void refuse_weights(const ModelFile& model, const std::vector<std::string>& unfit,
                                 const TransferReport& report) {
  const auto some = [](const std::vector<std::string>& names) {
    return names.empty() ? "none" : listed(names);
  };
  const std::string why =
      unfit.empty()
          ? fmt::format("no tensor has a matching name; this network has {}; the file has {}",
                        some(report.missing), some(report.unused))
          : listed(unfit);
  fail(ErrorKind::config,
       {fmt::format("init.from: {} does not fit this network", model.path().string()), why,
        model.description() ? "use the model section that it was trained with; only the head may "
                              "differ"
                            : "use the model that it belongs to, and rename its tensors; see "
                              "scripts/torch-weights"});
}

/// Reads matching tensors into `values`, laid out like the arena; if it is null, only compares.
TransferReport fit_weights(const fs::path& model_file, HeadInit head_init,
                           const std::vector<HeadSpec>& heads, const ParameterArena& parameters,
                           float* values) {
  const ModelFile model(model_file);
  const SafetensorsFile& file = model.tensors();
  TransferReport report;
  report.foreign = model.foreign();
  KeptHeads kept;
  if (head_init == HeadInit::keep && model.description()) {
    kept = match_heads(model, heads);
    for (const std::string& name : kept.added)
      report.reset.push_back(fmt::format("head '{}'", name));
  }
  std::vector<std::string> unfit;
  std::set<std::string> known, types;
  for (const ParameterTensor& tensor : parameters.tensors()) {
    known.insert(tensor.name);
    float* const place = values == nullptr ? nullptr : values + tensor.offset;
    const TensorInfo* info = file.find(tensor.name);
    if (!tensor.output.empty()) {
      if (head_init == HeadInit::reset) {
        report.reset.push_back(tensor.name);
        continue;
      }
      if (model.description())
        keep_rows(model, kept, tensor, place);
      else
        keep_all(model, tensor, place);
    } else if (info == nullptr) {
      report.missing.push_back(tensor.name);
      continue;
    } else if (info->shape != tensor.file_shape() || !holds_floats(*info)) {
      unfit.push_back(
          fmt::format("{} is {}{} in the file, {} in this network", tensor.name,
                      holds_floats(*info) ? "" : fmt::format("{} ", element_name(info->type)),
                      shape_text(info->shape), shape_text(tensor.file_shape())));
      continue;
    } else if (place != nullptr) {
      from_file_order(tensor, read_floats(file, *info), place);
    }
    report.loaded.push_back(tensor.name);
    if (info->type != ElementType::f32) types.emplace(element_name(info->type));
  }
  report.types.assign(types.begin(), types.end());
  for (const TensorInfo& info : file.tensors())
    if (!known.contains(info.name) && !is_batch_count(info)) report.unused.push_back(info.name);
  if (!unfit.empty() || report.loaded.empty()) refuse_weights(model, unfit, report);
  return report;
}

}  // namespace

std::string TransferReport::to_string() const {
  std::string text = foreign ? fmt::format("{}; ", kForeignFile) : "";
  text += "loaded " + counted(loaded.size(), "tensor");
  const auto part = [&text](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("; {} {}", what, join(names));
  };
  part("converted from", types);
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
  std::vector<float> values = ParameterArena::download(stream, parameters.weights());
  TransferReport report = fit_weights(model_file, head_init, heads, parameters, values.data());
  ParameterArena::upload(stream, values, parameters.weights());
  parameters.begin_average(stream);
  parameters.refresh_working(stream);
  stream.synchronize();
  return report;
}

}  // namespace wellspring
