#include "train/network/parameters.h"

#include "kernels/ops/ops.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/parameter_view.h"
#include "train/optimizer/weight_averaging.h"

#include <algorithm>
#include <numeric>
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

}  // namespace

std::int64_t ParameterTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> ParameterTensor::file_shape() const {
  if (layout != TensorLayout::convolution) return shape;
  return {shape[0], shape[3], shape[1], shape[2]};
}

ParameterId ParameterArena::matrix(std::string name, TensorLayout layout,
                                   std::vector<std::int64_t> shape, Init initial) {
  return add({std::move(name), layout, std::move(shape), initial});
}

ParameterId ParameterArena::vector(std::string name, std::int64_t n, Init initial) {
  return add({std::move(name), TensorLayout::vector, {n}, initial});
}

ParameterId ParameterArena::add(ParameterTensor tensor) {
  if (planned_) throw std::logic_error("parameter '" + tensor.name + "' registered after plan()");
  if (!tensor.trained() && tensor.layout != TensorLayout::vector)
    throw std::logic_error("buffer '" + tensor.name + "' is not a vector");
  for (const ParameterTensor& other : tensors_)
    if (other.name == tensor.name)
      throw std::logic_error("parameter '" + tensor.name + "' registered twice");
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
  std::int64_t end = 0;
  const auto place = [&end](ParameterTensor& tensor) {
    tensor.offset = end;
    end += align(tensor.elements());
  };
  for (ParameterTensor& tensor : tensors_)
    if (tensor.layout != TensorLayout::vector) place(tensor);
  matrices_ = end;
  for (ParameterTensor& tensor : tensors_)
    if (tensor.layout == TensorLayout::vector && tensor.trained()) place(tensor);
  vectors_ = end - matrices_;
  for (ParameterTensor& tensor : tensors_)
    if (!tensor.trained()) place(tensor);
  buffers_ = end - matrices_ - vectors_;

  const auto n = static_cast<std::size_t>(length());
  const std::size_t matrix_bytes = static_cast<std::size_t>(matrices_) * size_of(compute);
  master_ = memory.reserve_state<float>("parameters", "master weights", n);
  if (compute != DType::f32)
    working_ = memory.reserve_state<std::byte>("parameters", "working weights", matrix_bytes,
                                               Persistence::derived);
  matrix_gradient_ = memory.reserve<std::byte>("gradients", "of matrices", matrix_bytes);
  vector_gradient_ =
      memory.reserve<float>("gradients", "of vectors", static_cast<std::size_t>(vectors_));
  if (optimizer.state_arrays() > 0)
    first_ = memory.reserve_state<float>("optimizer", "first moment", n);
  if (optimizer.state_arrays() > 1)
    second_ = memory.reserve_state<float>("optimizer", "second moment", n);
  if (keep_average) average_ = memory.reserve_state<float>("optimizer", "averaged weights", n);
}

std::int64_t ParameterArena::count() const {
  std::int64_t sum = 0;
  for (const ParameterTensor& tensor : tensors_) sum += tensor.trained() ? tensor.elements() : 0;
  return sum;
}

const ParameterTensor& ParameterArena::tensor(ParameterId id) const {
  return tensors_.at(static_cast<std::size_t>(id.index));
}

const void* ParameterArena::weight(ParameterId id) const {
  const std::int64_t offset = tensor(id).offset;
  if (compute_ == DType::f32) return master_.data() + offset;
  return working_.data() + static_cast<std::size_t>(offset) * size_of(compute_);
}

const float* ParameterArena::value(ParameterId id) const {
  return master_.data() + tensor(id).offset;
}

float* ParameterArena::buffer(ParameterId id) const {
  WS_EXPECT(!tensor(id).trained());
  return master_.data() + tensor(id).offset;
}

void* ParameterArena::gradient(ParameterId id) const {
  const ParameterTensor& t = tensor(id);
  if (!t.trained()) return nullptr;
  if (t.layout == TensorLayout::vector) return vector_gradient_.data() + (t.offset - matrices_);
  return matrix_gradient_.data() + static_cast<std::size_t>(t.offset) * size_of(compute_);
}

std::vector<ArenaArray> ParameterArena::arrays() const {
  std::vector<ArenaArray> arrays = {{"", master_.data()}};
  if (first_) arrays.push_back({"first.", first_.data()});
  if (second_) arrays.push_back({"second.", second_.data()});
  if (average_) arrays.push_back({"average.", average_.data()});
  return arrays;
}

ops::ParameterView ParameterArena::view() const {
  ops::ParameterView view;
  view.matrices = matrices_;
  view.vectors = vectors_;
  view.master = master_.data();
  view.working = compute_ == DType::f32 ? static_cast<void*>(master_.data()) : working_.data();
  view.matrix_gradient = matrix_gradient_.data();
  view.vector_gradient = vector_gradient_.data();
  view.compute = compute_;
  return view;
}

void ParameterArena::reduce_gradients(Stream& stream, Communicator& ranks) const {
  ranks.all_reduce(stream, matrix_gradient_.data(), compute_, matrices_);
  ranks.all_reduce(stream, vector_gradient_.data(), DType::f32, vectors_);
}

void ParameterArena::initialise(Stream& stream, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(length()), 0.0f);
  if (first_) upload(stream, values, first_.data());
  if (second_) upload(stream, values, second_.data());
  for (const ParameterTensor& tensor : tensors_) {
    const std::vector<float> initial = initial_values(tensor, seed);
    std::copy(initial.begin(), initial.end(), values.begin() + tensor.offset);
  }
  upload(stream, values, master_.data());
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
  ops::swap_arrays(stream, length(), master_.data(), average_.data());
  refresh_working(stream);
}

void ParameterArena::refresh_working(Stream& stream) {
  if (compute_ == DType::f32) return;
  ops::convert(stream, matrices_, DType::f32, master_.data(), compute_, working_.data());
}

std::vector<float> ParameterArena::download(Stream& stream, const float* array) const {
  std::vector<float> values(static_cast<std::size_t>(length()));
  stream.copy(values.data(), array, values.size() * sizeof(float), CopyDirection::device_to_host,
              "download parameters");
  stream.synchronize();
  return values;
}

void ParameterArena::upload(Stream& stream, const std::vector<float>& values, float* array) {
  WS_EXPECT(static_cast<std::int64_t>(values.size()) == length());
  stream.copy(array, values.data(), values.size() * sizeof(float), CopyDirection::host_to_device,
              "upload parameters");
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
