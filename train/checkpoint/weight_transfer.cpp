// Initialisation with another run's weights (declared in train/checkpoint/checkpoint.h): matches
// the tensors of a model file to the tensors of this network.
#include "core/io/safetensors.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/checkpoint/adapted_tensor.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_file.h"
#include "train/checkpoint/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

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
  std::vector<std::string> added;  ///< heads to re-initialise
};

[[noreturn]] void refuse_heads(const ModelFile& model, const std::vector<std::string>& why) {
  fail(ErrorKind::config,
       {fmt::format("init.head=keep: {} has a different output layer", model.path().string()),
        listed(why), "set init.head=reset to re-initialise the output layer"});
}

/// True if all outputs of a target have the same meaning.
bool same_outputs(const ops::RegressionLaw& a, const ops::RegressionLaw& b) {
  return a.outputs == b.outputs && std::ranges::equal(a.level, b.level);
}

/// "error quantile [0.1, 0.9]"
std::string error_text(const ops::RegressionLaw& law) {
  const auto& names = error_names();
  const auto name = std::ranges::find(names, law.error, [](const auto& n) { return n.second; });
  if (law.error != ops::RegressionError::quantile) return "error " + name->first;
  return fmt::format("error {} [{}]", name->first,
                     fmt::join(law.level + 1, law.level + law.outputs, ", "));
}

/// "4 classes", or the class names if `other` has the same number of classes.
std::string outputs_text(const HeadSpec& head, const HeadSpec& other) {
  if (head.loss != other.loss) return "loss " + to_string(head.loss);
  if (head.output != other.output) return fmt::format("output {}", head.output);
  if (head.is_embedding()) return fmt::format("projection [{}]", fmt::join(head.projection, ", "));
  if (head.is_masked()) return counted(head.patch_values, "value") + " per patch";
  if (!same_outputs(head.law, other.law)) return error_text(head.law);
  if (head.rows() != other.rows())
    return head.has_targets() ? counted(head.rows(), "target")
                              : counted(head.rows(), "class", "classes");
  if (!head.has_targets()) return fmt::format("[{}]", join(head.classes));
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

/// Pairs heads by name. With InitShapes::adapt, heads that differ from their partner are not kept;
/// otherwise Error (config) for such heads, or if no head has a partner.
KeptHeads match_heads(const ModelFile& model, const std::vector<HeadSpec>& here,
                      InitShapes shapes) {
  KeptHeads kept;
  std::vector<std::string> differences;
  const std::vector<HeadSpec>& there = model.described().heads;
  for (const HeadSpec& head : here) {
    const auto other = std::ranges::find(there, head.name, &HeadSpec::name);
    const bool fits = other != there.end() && other->loss == head.loss &&
                      other->classes == head.classes && other->targets == head.targets &&
                      other->output == head.output && other->projection == head.projection &&
                      other->patch_values == head.patch_values &&
                      same_outputs(other->law, head.law);
    if (other == there.end() || (!fits && shapes == InitShapes::adapt)) {
      kept.added.push_back(head.name);
    } else if (!fits) {
      differences.push_back(fmt::format("head '{}' has {} in the file, {} in this network",
                                        head.name, outputs_text(*other, head),
                                        outputs_text(head, *other)));
    } else {
      kept.rows.push_back({head.output, other->row, head.row, head.rows()});
    }
  }
  if (differences.empty() && kept.rows.empty() && shapes == InitShapes::exact)
    differences.push_back(fmt::format("it has the heads {}; this network has {}",
                                      join(names_of(there)), join(names_of(here))));
  if (!differences.empty()) refuse_heads(model, differences);
  return kept;
}

/// Copies one tensor's kept rows to `values`, unless `values` is null.
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

/// "U8 [4, 3]", or "[4, 3]" for floating-point numbers.
std::string stored_text(const TensorInfo& info) {
  return (holds_floats(info) ? "" : fmt::format("{} ", element_name(info.type))) +
         shape_text(info.shape);
}

std::string difference_text(const ParameterTensor& tensor, const TensorInfo* info) {
  return fmt::format("{} is {} in the file, {} in this network", tensor.name,
                     info == nullptr ? "missing" : stored_text(*info),
                     shape_text(tensor.file_shape()));
}

bool fits(const ParameterTensor& tensor, const TensorInfo* info) {
  return info != nullptr && info->shape == tensor.file_shape() && holds_floats(*info);
}

[[noreturn]] void refuse_weights(const ModelFile& model, const std::vector<std::string>& unfit,
                                 const TransferReport& report, InitShapes shapes) {
  const auto some = [](const std::vector<std::string>& names) {
    return names.empty() ? "none" : listed(names);
  };
  const std::string why =
      unfit.empty()
          ? fmt::format("no tensor has a matching name; this network has {}; the file has {}",
                        some(report.missing), some(report.unexpected))
          : listed(unfit);
  std::string advice =
      model.description()
          ? "use the model section that it was trained with; only the head may differ"
          : "use the model that it belongs to, and rename its tensors; see scripts/torch-weights";
  if (!unfit.empty())
    advice +=
        shapes == InitShapes::exact
            ? "; init.shapes=adapt accepts other image sizes of a vit and other input channels"
            : "; init.shapes=adapt changes only pos_embed and the input channels of the first "
              "convolution";
  fail(
      ErrorKind::config,
      {fmt::format("init.from: {} does not fit this network", model.path().string()), why, advice});
}

/// The position embeddings of a vit.
constexpr const char* kPositions = "pos_embed";

/// Tokens before the patches: timm's num_prefix_tokens. `shape_of` returns the shape of a tensor in
/// a file or network, or nullptr for an unknown name.
template <class ShapeOf>
std::int64_t prefix_tokens(const ShapeOf& shape_of) {
  std::int64_t tokens = 0;
  for (const char* name : {"cls_token", "dist_token", "reg_token"})
    if (const std::vector<std::int64_t>* shape = shape_of(name); shape && shape->size() == 3)
      tokens += (*shape)[1];
  return tokens;
}

/// The grid of `cells` patches with the proportions of `input`; a square grid if that does not
/// exist, for example because the shape is unknown; no rows if neither exists.
PatchGrid grid_of(std::int64_t cells, SampleShape input) {
  if (cells < 1) return {};
  const auto area = static_cast<double>(cells);
  const double proportion = static_cast<double>(input.height) / input.width;
  const PatchGrid own = {std::llround(std::sqrt(area * proportion)),
                         std::llround(std::sqrt(area / proportion))};
  if (own.rows * own.columns == cells && own.rows * input.width == own.columns * input.height)
    return own;
  const std::int64_t side = std::llround(std::sqrt(area));
  return side * side == cells ? PatchGrid{side, side} : PatchGrid{};
}

/// Initialises the tensors of a network from a file, one by one.
class WeightFitter {
 public:
  /// `values`: laid out like the arena; null: tensors are only compared.
  WeightFitter(const ModelFile& model, const InitConfig& init, SampleShape input,
               const ParameterArena& parameters, float* values)
      : model_(model), init_(init), input_(input), parameters_(parameters), values_(values) {
    report_.foreign = model.foreign();
  }

  TransferReport run(const std::vector<HeadSpec>& heads) {
    if (init_.head == HeadInit::keep && model_.description()) {
      kept_ = match_heads(model_, heads, init_.shapes);
      for (const std::string& name : kept_.added)
        report_.reset.push_back(fmt::format("head '{}'", name));
    }
    std::set<std::string> known;
    for (const ParameterTensor& tensor : parameters_.tensors()) {
      known.insert(tensor.name);
      const std::string output = output_of(tensor);
      output.empty() ? fit(tensor) : fit_head(tensor, output);
    }
    report_.types.assign(types_.begin(), types_.end());
    for (const TensorInfo& info : model_.tensors().tensors())
      if (!known.contains(info.name) && !is_batch_count(info))
        report_.unexpected.push_back(info.name);
    if (!unfit_.empty() || (report_.loaded.empty() && report_.resized.empty()))
      refuse_weights(model_, unfit_, report_, init_.shapes);
    return report_;
  }

 private:
  const TensorInfo* find(const std::string& name) const { return model_.tensors().find(name); }
  float* place(const ParameterTensor& tensor) const {
    return values_ == nullptr ? nullptr : values_ + tensor.offset;
  }
  void note_loaded(const TensorInfo& info, std::vector<std::string>& as, std::string what) {
    as.push_back(std::move(what));
    if (info.type != ElementType::f32) types_.emplace(element_name(info.type));
  }
  void copy(const ParameterTensor& tensor, const TensorInfo& info) {
    if (values_ != nullptr)
      from_file_order(tensor, read_floats(model_.tensors(), info), place(tensor));
    note_loaded(info, report_.loaded, tensor.name);
  }

  /// The output that a tensor's layer writes, also through the hidden layers of a projection
  /// (Tape::head): "head.hidden1.weight" belongs to the output of "head.weight". "": none.
  std::string output_of(const ParameterTensor& tensor) const {
    const std::size_t hidden = tensor.name.rfind(".hidden");
    if (!tensor.output.empty() || hidden == std::string::npos) return tensor.output;
    const auto layer = std::ranges::find(
        parameters_.tensors(), tensor.name.substr(0, hidden) + ".weight", &ParameterTensor::name);
    return layer == parameters_.tensors().end() ? "" : layer->output;
  }

  void fit_head(const ParameterTensor& tensor, const std::string& output) {
    const TensorInfo* info = find(tensor.name);
    const bool described = model_.description().has_value();
    const bool keeps = std::ranges::find(kept_.rows, output, &KeptRows::output) != kept_.rows.end();
    if (init_.head == HeadInit::reset || (described && !keeps) ||
        (!described && init_.shapes == InitShapes::adapt && !fits(tensor, info))) {
      report_.reset.push_back(tensor.name);
    } else if (tensor.output.empty()) {
      fit(tensor);
    } else if (described) {
      keep_rows(model_, kept_, tensor, place(tensor));
      note_loaded(*info, report_.loaded, tensor.name);
    } else if (!fits(tensor, info)) {
      refuse_heads(model_, {difference_text(tensor, info)});
    } else {
      copy(tensor, *info);
    }
  }

  void fit(const ParameterTensor& tensor) {
    const TensorInfo* info = find(tensor.name);
    if (info == nullptr) {
      report_.missing.push_back(tensor.name);
    } else if (fits(tensor, info) && !turned(tensor, *info)) {
      copy(tensor, *info);
    } else if (const std::vector<float> values = adapted(tensor, *info); !values.empty()) {
      if (values_ != nullptr) from_file_order(tensor, values, place(tensor));
      note_loaded(*info, report_.resized,
                  fmt::format("{} from {} to {}", tensor.name, shape_text(info->shape),
                              shape_text(tensor.file_shape())));
    } else if (fits(tensor, info)) {
      const PatchGrid there = stored_positions(*info).grid,
                      here = own_positions(info->shape[1]).grid;
      unfit_.push_back(fmt::format("{} is for {}x{} patches in the file, {}x{} in this network",
                                   tensor.name, there.columns, there.rows, here.columns,
                                   here.rows));
    } else {
      unfit_.push_back(difference_text(tensor, info));
    }
  }

  struct Positions {
    std::int64_t prefix = 0;  ///< tokens before the patches
    PatchGrid grid;           ///< no rows: unknown
  };
  Positions stored_positions(const TensorInfo& info) const {
    const std::int64_t prefix = prefix_tokens([&](const char* name) {
      const TensorInfo* found = find(name);
      return found == nullptr ? nullptr : &found->shape;
    });
    const bool described = model_.description().has_value();
    return {prefix, grid_of(info.shape[1] - prefix,
                            described ? model_.description()->input.shape() : SampleShape{})};
  }
  Positions own_positions(std::int64_t tokens) const {
    const std::int64_t prefix = prefix_tokens([&](const char* name) {
      const auto found = std::ranges::find(parameters_.tensors(), name, &ParameterTensor::name);
      return found == parameters_.tensors().end() ? nullptr : &found->shape;
    });
    return {prefix, grid_of(tokens - prefix, input_)};
  }
  /// True for positions whose grid has as many patches, but other sides: 4 x 6 instead of 6 x 4.
  bool turned(const ParameterTensor& tensor, const TensorInfo& info) const {
    if (tensor.name != kPositions || info.shape.size() != 3) return false;
    const PatchGrid stored = stored_positions(info).grid, own = own_positions(info.shape[1]).grid;
    return stored.rows > 0 && own.rows > 0 && !(stored == own);
  }

  /// Values in file order, or none if the tensor cannot be adapted.
  std::vector<float> adapted(const ParameterTensor& tensor, const TensorInfo& info) const {
    if (init_.shapes == InitShapes::exact || !holds_floats(info)) return {};
    const auto first = std::ranges::find(parameters_.tensors(), TensorLayout::convolution,
                                         &ParameterTensor::layout);
    if (first != parameters_.tensors().end() && first->name == tensor.name)
      return adapted_convolution(tensor, info);
    return tensor.name == kPositions ? adapted_positions(tensor, info) : std::vector<float>{};
  }

  std::vector<float> adapted_convolution(const ParameterTensor& tensor,
                                         const TensorInfo& info) const {
    std::vector<std::int64_t> wanted = tensor.file_shape();
    const std::int64_t channels = wanted[1];
    if (info.shape.size() != 4) return {};
    wanted[1] = info.shape[1];
    if (info.shape != wanted || info.shape[1] < 1) return {};
    return with_input_channels(read_floats(model_.tensors(), info), wanted[0], wanted[1], channels);
  }

  /// Keeps the positions of the first prefix tokens, one for each prefix token of the network.
  std::vector<float> adapted_positions(const ParameterTensor& tensor,
                                       const TensorInfo& info) const {
    const std::vector<std::int64_t> wanted = tensor.file_shape();
    if (info.shape.size() != 3 || wanted.size() != 3 || info.shape[0] != 1 ||
        info.shape[2] != wanted[2])
      return {};
    const std::int64_t width = wanted[2];
    const Positions from = stored_positions(info), to = own_positions(wanted[1]);
    if (from.grid.rows == 0 || to.grid.rows == 0 || from.prefix < to.prefix) return {};
    const std::vector<float> stored = read_floats(model_.tensors(), info);
    std::vector<float> values(stored.begin(), stored.begin() + to.prefix * width);
    const std::vector<float> grid =
        resized_positions(std::span(stored).subspan(static_cast<std::size_t>(from.prefix * width)),
                          from.grid, to.grid, width);
    values.insert(values.end(), grid.begin(), grid.end());
    return values;
  }

  const ModelFile& model_;
  const InitConfig& init_;
  SampleShape input_;
  const ParameterArena& parameters_;
  float* values_;
  KeptHeads kept_;
  TransferReport report_;
  std::vector<std::string> unfit_;
  std::set<std::string> types_;
};

TransferReport fit_weights(const InitConfig& init, const std::vector<HeadSpec>& heads,
                           SampleShape input, const ParameterArena& parameters, float* values) {
  const ModelFile model(find_model_file(init.from));
  return WeightFitter(model, init, input, parameters, values).run(heads);
}

}  // namespace

std::string TransferReport::to_string() const {
  std::string text = foreign ? fmt::format("{}; ", kForeignFile) : "";
  text += "loaded " + counted(loaded.size(), "tensor");
  const auto part = [&text](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("; {} {}", what, join(names));
  };
  part("converted from", types);
  part("resized", resized);
  part("reset", reset);
  part("missing", missing);
  part("unexpected", unexpected);
  return text;
}

TransferReport check_transfer(const InitConfig& init, const std::vector<HeadSpec>& heads,
                              SampleShape input, const ParameterArena& parameters) {
  return fit_weights(init, heads, input, parameters, nullptr);
}

TransferReport transfer_weights(const InitConfig& init, const std::vector<HeadSpec>& heads,
                                SampleShape input, ParameterArena& parameters, Stream& stream) {
  std::vector<float> values = ParameterArena::download(stream, parameters.weights());
  TransferReport report = fit_weights(init, heads, input, parameters, values.data());
  ParameterArena::upload(stream, values, parameters.weights());
  parameters.begin_average(stream);
  parameters.refresh_working(stream);
  stream.synchronize();
  return report;
}

}  // namespace wellspring
