#include "train/network/parameters.h"

#include "core/error.h"
#include "kernels/ops/ops.h"
#include "train/optimizer/gradient_sum.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

namespace wellspring {
namespace {

// Alignment of tensors in elements: 128 bytes in bf16, which is a full GPU cache line and more than
// any library requires.
constexpr std::int64_t kAlignment = 64;

std::int64_t align(std::int64_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// Calls f(memory index, file index) for every element of a convolution's weights.
template <class F>
void for_each_in_convolution(const ParameterTensor& tensor, F f) {
  const std::int64_t outputs = tensor.shape[0], rows = tensor.shape[1], columns = tensor.shape[2],
                     inputs = tensor.shape[3];
  for (std::int64_t k = 0; k < outputs; ++k)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t s = 0; s < columns; ++s)
        for (std::int64_t c = 0; c < inputs; ++c)
          f(((k * rows + r) * columns + s) * inputs + c,
            ((k * inputs + c) * rows + r) * columns + s);
}

std::vector<const ParameterTensor*> trained_in_order(std::span<const ParameterTensor> tensors) {
  std::vector<const ParameterTensor*> trained;
  for (const ParameterTensor& tensor : tensors)
    if (tensor.trained()) trained.push_back(&tensor);
  std::ranges::sort(trained, {}, &ParameterTensor::offset);
  return trained;
}

/// The factor of the learning rate by block: decay^(last - block).
std::vector<float> rates_of_blocks(std::span<const ParameterTensor> tensors, float decay) {
  int last = 0;
  for (const ParameterTensor& tensor : tensors) last = std::max(last, tensor.block);
  if (decay != 1 && last == 0)
    fail(ErrorKind::config, {"optimizer.layer_decay: the network has a single block",
                             "the decay is between blocks", "remove layer_decay"});
  std::vector<float> rates;
  for (int block = 0; block <= last; ++block)
    rates.push_back(static_cast<float>(std::pow(static_cast<double>(decay), last - block)));
  return rates;
}

}  // namespace

std::int64_t ParameterTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> ParameterTensor::file_shape() const {
  if (layout != TensorLayout::convolution) return shape;
  return {shape[0], shape[3], shape[1], shape[2]};
}

ParameterId ParameterArena::add(ParameterTensor tensor) {
  if (planned_) throw std::logic_error("parameter '" + tensor.name + "' registered after plan()");
  if (tensor.kind == TensorKind::buffer && tensor.layout != TensorLayout::vector)
    throw std::logic_error("buffer '" + tensor.name + "' is not a vector");
  for (const ParameterTensor& other : tensors_)
    if (other.name == tensor.name)
      throw std::logic_error("parameter '" + tensor.name + "' registered twice");
  if (tensor.kind == TensorKind::parameter) tensor.policy = policy_of(tensor.name, rules_);
  tensors_.push_back(std::move(tensor));
  return {static_cast<int>(tensors_.size()) - 1};
}

ParameterId ParameterArena::find(const ParameterTensor& asked) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].name != asked.name) continue;
    if (tensors_[i].layout != asked.layout || tensors_[i].shape != asked.shape ||
        tensors_[i].kind != asked.kind)
      throw std::logic_error("parameter '" + asked.name +
                             "' cannot be shared: its layout, shape or kind differs");
    return {static_cast<int>(i)};
  }
  throw std::logic_error("there is no parameter '" + asked.name + "' to share");
}

void ParameterArena::plan(MemoryPlan& memory, DType compute, const ops::OptimizerSpec& optimizer,
                          bool keep_average) {
  planned_ = true;
  compute_ = compute;
  lay_out();
  plan_ranges(memory, optimizer);
  if (optimizer.agc > 0) plan_clip_units(memory);

  const auto n = static_cast<std::size_t>(length()), moments = static_cast<std::size_t>(changing());
  const std::size_t size = size_of(compute);
  master_ = memory.reserve_state<float>("parameters", "master weights", n);
  if (compute != DType::f32)
    working_ = memory.reserve_state<std::byte>(
        "parameters", "working weights",
        static_cast<std::size_t>(matrices_ + frozen_matrices_) * size, Persistence::derived);
  matrix_gradient_ = memory.reserve<std::byte>("gradients", "of matrices",
                                               static_cast<std::size_t>(matrices_) * size);
  vector_gradient_ =
      memory.reserve<float>("gradients", "of vectors", static_cast<std::size_t>(vectors_));
  if (optimizer.state_arrays() > 0)
    first_ = memory.reserve_state<float>("optimizer", "first moment", moments);
  if (optimizer.state_arrays() > 1)
    second_ = memory.reserve_state<float>("optimizer", "second moment", moments);
  if (keep_average) average_ = memory.reserve_state<float>("optimizer", "averaged weights", n);
}

/// Gives every tensor its offset.
void ParameterArena::lay_out() {
  std::int64_t end = 0;
  const auto place = [this, &end](const auto& belongs) {
    const std::int64_t begin = end;
    for (ParameterTensor& tensor : tensors_) {
      if (!belongs(tensor)) continue;
      tensor.offset = end;
      end += align(tensor.elements());
    }
    return end - begin;
  };
  const auto is_vector = [](const auto& tensor) { return tensor.layout == TensorLayout::vector; };
  matrices_ = place([&](const auto& tensor) { return tensor.trained() && !is_vector(tensor); });
  vectors_ = place([&](const auto& tensor) { return tensor.trained() && is_vector(tensor); });
  buffers_ = place([](const auto& tensor) { return tensor.kind == TensorKind::buffer; });
  frozen_matrices_ =
      place([&](const auto& tensor) { return tensor.frozen() && !is_vector(tensor); });
  frozen_vectors_ = place([&](const auto& tensor) { return tensor.frozen() && is_vector(tensor); });
}

/// Makes the table of policies: neighbouring tensors with the same policy share a range, unless the
/// optimizer needs norms of tensors.
void ParameterArena::plan_ranges(MemoryPlan& memory, const ops::OptimizerSpec& optimizer) {
  const std::vector<float> of_blocks = rates_of_blocks(tensors_, optimizer.layer_decay);
  const bool norms = optimizer.row().tensor_norms;
  for (const ParameterTensor* tensor : trained_in_order(tensors_)) {
    const bool vector = tensor->layout == TensorLayout::vector;
    const float of_block =
        tensor->output.empty() ? of_blocks[static_cast<std::size_t>(tensor->block)] : 1.0f;
    const ops::UpdateRange range{
        tensor->offset, tensor->offset + align(tensor->elements()),
        tensor->policy.lr_scale * of_block,
        tensor->policy.weight_decay.value_or(vector ? 0 : optimizer.weight_decay),
        tensor->policy.unfreeze_at};
    const bool same = !norms && !update_ranges_.empty() && tensor->offset != matrices_ &&
                      update_ranges_.back().lr_scale == range.lr_scale &&
                      update_ranges_.back().weight_decay == range.weight_decay &&
                      update_ranges_.back().start == range.start;
    if (same)
      update_ranges_.back().end = range.end;
    else
      update_ranges_.push_back(range);
  }
  ranges_ = memory.reserve<ops::UpdateRange>("optimizer", "policies", update_ranges_.size());
  if (norms)
    tensor_norms_ = memory.reserve<float>("optimizer", "norms of tensors",
                                          static_cast<std::size_t>(ops::tensor_norm_floats(
                                              static_cast<std::int64_t>(update_ranges_.size()))));
}

/// Makes the table of units for adaptive clipping. As in Brock et al. 2021, section 4.1, the layers of
/// the outputs are not clipped.
void ParameterArena::plan_clip_units(MemoryPlan& memory) {
  std::int64_t first = 0;
  for (const ParameterTensor* tensor : trained_in_order(tensors_)) {
    if (!tensor->output.empty()) continue;
    const std::int64_t count = tensor->layout == TensorLayout::vector ? 1 : tensor->shape.front();
    clip_units_.push_back({tensor->offset, tensor->elements() / count, first, count});
    first += count;
  }
  units_ = memory.reserve<ops::ClipUnits>("optimizer", "units of clipping", clip_units_.size());
}

std::vector<std::uint64_t> ParameterArena::phases() const {
  std::set<std::uint64_t> first = {0};
  for (const ParameterTensor& tensor : tensors_)
    if (tensor.trained()) first.insert(tensor.policy.unfreeze_at);
  return {first.begin(), first.end()};
}

std::int64_t ParameterArena::count() const {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : tensors_)
    sum += tensor.kind == TensorKind::parameter ? tensor.elements() : 0;
  return sum;
}

std::int64_t ParameterArena::frozen_count() const {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : tensors_) sum += tensor.frozen() ? tensor.elements() : 0;
  return sum;
}

const ParameterTensor& ParameterArena::tensor(ParameterId id) const {
  return tensors_.at(static_cast<std::size_t>(id.index));
}

const void* ParameterArena::weight(ParameterId id) const {
  const ParameterTensor& t = tensor(id);
  if (compute_ == DType::f32) return master_.data() + t.offset;
  // The working copy holds only the matrices: the trained ones, then the frozen ones.
  const std::int64_t position = t.frozen() ? t.offset - vectors_ - buffers_ : t.offset;
  return working_.data() + static_cast<std::size_t>(position) * size_of(compute_);
}

const float* ParameterArena::value(ParameterId id) const {
  return master_.data() + tensor(id).offset;
}

float* ParameterArena::buffer(ParameterId id) const {
  WS_EXPECT(tensor(id).kind == TensorKind::buffer);
  return master_.data() + tensor(id).offset;
}

void* ParameterArena::gradient(ParameterId id) const {
  const ParameterTensor& t = tensor(id);
  return t.trained() ? gradients(t.offset) : nullptr;
}

void* ParameterArena::gradients(std::int64_t begin) const {
  if (begin >= matrices_) return vector_gradient_.data() + (begin - matrices_);
  return matrix_gradient_.data() + static_cast<std::size_t>(begin) * size_of(compute_);
}

std::vector<ArenaArray> ParameterArena::arrays() const {
  std::vector<ArenaArray> arrays = {weights()};
  if (first_) arrays.push_back({"first.", first_.data(), changing()});
  if (second_) arrays.push_back({"second.", second_.data(), changing()});
  if (average_) arrays.push_back({"average.", average_.data(), length()});
  return arrays;
}

ops::ParameterView ParameterArena::view() const {
  ops::ParameterView view;
  view.matrices = matrices_;
  view.vectors = vectors_;
  view.ranges = ranges_.data();
  view.range_count = static_cast<std::int64_t>(ranges_.size());
  view.tensor_norms = tensor_norms_ ? tensor_norms_.data() : nullptr;
  if (!clip_units_.empty()) {
    view.clip_units = units_.data();
    view.clip_unit_count = static_cast<std::int64_t>(clip_units_.size());
    view.units = clip_units_.back().first + clip_units_.back().count;
  }
  view.master = master_.data();
  view.working = compute_ == DType::f32 ? static_cast<void*>(master_.data()) : working_.data();
  view.matrix_gradient = matrix_gradient_.data();
  view.vector_gradient = vector_gradient_.data();
  view.compute = compute_;
  return view;
}

void ParameterArena::plan_sums(MemoryPlan& memory) {
  sums_ = memory.reserve<float>("gradients", "sums over passes",
                                static_cast<std::size_t>(matrices_ + vectors_));
}

void ParameterArena::add_gradients(Stream& stream, GradientRange range, std::int64_t pass,
                                   std::int64_t passes) const {
  using ops::SumPart;
  const SumPart part = pass == 0            ? SumPart::first
                       : pass + 1 == passes ? SumPart::last
                                            : SumPart::middle;
  ops::add_gradients(stream, part, range.size(), type_of(range), gradients(range.begin),
                     sums_.data() + range.begin);
}

void ParameterArena::reduce_gradients(Stream& stream, GradientRange range, Communicator& ranks,
                                      float* wide) const {
  void* const own = gradients(range.begin);
  const DType type = type_of(range);
  if (type == DType::f32) {
    ranks.all_reduce(stream, static_cast<float*>(own), range.size());
    return;
  }
  ops::convert(stream, range.size(), type, own, DType::f32, wide);
  ranks.all_reduce(stream, wide, range.size());
  ops::convert(stream, range.size(), DType::f32, wide, type, own);
}

void ParameterArena::initialise(Stream& stream, std::uint64_t seed) {
  for (const Planned<float>* moment : {&first_, &second_})
    if (*moment) stream.fill_zero(moment->data(), moment->bytes(), "initialise moments");
  stream.fill_zero(matrix_gradient_.data(), matrix_gradient_.bytes(), "initialise gradients");
  stream.fill_zero(vector_gradient_.data(), vector_gradient_.bytes(), "initialise gradients");
  stream.copy(ranges_.data(), update_ranges_.data(), ranges_.bytes(), CopyDirection::host_to_device,
              "upload policies");
  if (!clip_units_.empty())
    stream.copy(units_.data(), clip_units_.data(), units_.bytes(), CopyDirection::host_to_device,
                "upload units of clipping");
  std::vector<float> values(static_cast<std::size_t>(length()), 0.0f);
  for (const ParameterTensor& tensor : tensors_) {
    const std::vector<float> initial = initial_values(tensor, seed);
    std::copy(initial.begin(), initial.end(), values.begin() + tensor.offset);
  }
  upload(stream, values, weights());
  begin_average(stream);
  refresh_working(stream);
  stream.synchronize();
}

void ParameterArena::begin_average(Stream& stream) {
  if (!average_) return;
  stream.copy(average_.data(), master_.data(), average_.bytes(), CopyDirection::on_device,
              "begin average");
}

void ParameterArena::swap_average(Stream& stream) {
  WS_EXPECT(average_);
  ops::swap_arrays(stream, changing(), master_.data(), average_.data());
  refresh_working(stream);
}

void ParameterArena::refresh_working(Stream& stream) {
  if (compute_ == DType::f32) return;
  ops::convert(stream, matrices_, DType::f32, master_.data(), compute_, working_.data());
  ops::convert(stream, frozen_matrices_, DType::f32, master_.data() + changing(), compute_,
               working_.data() + static_cast<std::size_t>(matrices_) * size_of(compute_));
}

std::vector<float> ParameterArena::download(Stream& stream, const ArenaArray& array) {
  std::vector<float> values(static_cast<std::size_t>(array.length));
  stream.copy(values.data(), array.data, values.size() * sizeof(float),
              CopyDirection::device_to_host, "download parameters");
  stream.synchronize();
  return values;
}

void ParameterArena::upload(Stream& stream, const std::vector<float>& values,
                            const ArenaArray& array) {
  WS_EXPECT(static_cast<std::int64_t>(values.size()) == array.length);
  stream.copy(array.data, values.data(), values.size() * sizeof(float),
              CopyDirection::host_to_device, "upload parameters");
  stream.synchronize();
}

std::vector<float> to_file_order(const ParameterTensor& tensor, const float* values) {
  std::vector<float> file(values, values + tensor.elements());
  if (tensor.layout == TensorLayout::convolution)
    for_each_in_convolution(tensor, [&](std::int64_t memory, std::int64_t position) {
      file[static_cast<std::size_t>(position)] = values[memory];
    });
  return file;
}

void from_file_order(const ParameterTensor& tensor, std::span<const float> file, float* values) {
  WS_EXPECT(static_cast<std::int64_t>(file.size()) == tensor.elements());
  if (tensor.layout != TensorLayout::convolution) {
    std::copy(file.begin(), file.end(), values);
    return;
  }
  for_each_in_convolution(tensor, [&](std::int64_t memory, std::int64_t position) {
    values[memory] = file[static_cast<std::size_t>(position)];
  });
}

}  // namespace wellspring
