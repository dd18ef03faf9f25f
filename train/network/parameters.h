// Parameters of a network: named tensors in flat arenas, so that an optimizer step takes one launch
// and a checkpoint one pass. Called by layers, training and checkpoints; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/network/initialisation.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/parameter_view.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// Memory layout of a tensor, and its layout in files.
enum class TensorLayout : std::uint8_t {
  convolution,  ///< KRSC here, OIHW in files
  dense,        ///< [out, in]
  vector,       ///< [n]
};

enum class TensorKind : std::uint8_t {
  parameter,  ///< trained: has a gradient and optimizer moments
  buffer,     ///< part of the model, but not trained: running statistics
};

/// Part of the network that a tensor belongs to.
enum class ParameterGroup : std::uint8_t {
  body,
  head,  ///< output layer, which is re-initialised if the classes change
};

/// Index of a tensor in its arena.
struct ParameterId {
  int index = -1;
};

struct ParameterTensor {
  std::string name;  ///< as in files: "stem.conv.weight"
  TensorLayout layout = TensorLayout::vector;
  std::vector<std::int64_t> shape;  ///< as in memory
  Init initial = Init::zeros;
  std::int64_t offset = 0;  ///< elements from the start of the arena
  TensorKind kind = TensorKind::parameter;
  ParameterGroup group = ParameterGroup::body;
  bool trained() const { return kind == TensorKind::parameter; }
  std::int64_t elements() const;
  /// Number of inputs summed by one output.
  std::int64_t fan_in() const { return elements() / shape.front(); }
  std::vector<std::int64_t> file_shape() const;  ///< OIHW for convolutions
};

/// An array of persistent values, one per element of the arena: [length] f32, with the tensors at
/// their offsets.
struct ArenaArray {
  std::string prefix;  ///< prefix of tensor names in files; "": the weights
  float* data = nullptr;
};

/// Holds all parameters. Tensors are registered while a network is planned, laid out by plan(), and
/// addressable after MemoryPlan::commit. Matrices come first (weight decay, compute type), then
/// vectors (f32, no decay), then buffers (f32, not trained). Every tensor begins at a multiple of
/// 64 elements; gaps stay 0.
class ParameterArena {
 public:
  /// Errors (std::logic_error): a name registered twice, a buffer that is not a vector, or any call
  /// after plan().
  ParameterId add(ParameterTensor tensor);
  /// The tensor called asked.name, for sharing; it keeps the initialisation of its owner. Error
  /// (std::logic_error) if it does not exist, or its layout, shape or kind differs.
  ParameterId find(const ParameterTensor& asked) const;
  ParameterId matrix(std::string name, TensorLayout layout, std::vector<std::int64_t> shape,
                     Init initial);
  ParameterId vector(std::string name, std::int64_t n, Init initial);

  /// `keep_average`: also reserves a moving average of all values.
  void plan(MemoryPlan& memory, DType compute, const ops::OptimizerSpec& optimizer,
            bool keep_average = false);

  /// Parameters and buffers: the contents of a model file.
  std::span<const ParameterTensor> tensors() const { return tensors_; }
  const ParameterTensor& tensor(ParameterId id) const;
  /// Number of trained values, without buffers and gaps.
  std::int64_t count() const;
  /// Length of the arrays below, with buffers and gaps. The moments of buffers stay 0.
  std::int64_t length() const { return matrices_ + vectors_ + buffers_; }

  const void* weight(ParameterId id) const;  ///< matrix, in the compute type
  const float* value(ParameterId id) const;  ///< vector
  float* buffer(ParameterId id) const;       ///< buffer
  /// Gradient of a matrix (in the compute type) or vector (f32); null for a buffer.
  void* gradient(ParameterId id) const;
  float* master() const { return master_.data(); }  ///< [length] f32
  float* first_moment() const { return first_ ? first_.data() : nullptr; }
  float* second_moment() const { return second_ ? second_.data() : nullptr; }
  float* average() const { return average_ ? average_.data() : nullptr; }
  /// The weights, the optimizer's moments, and the average.
  std::vector<ArenaArray> arrays() const;
  ops::ParameterView view() const;
  /// Enqueues the sum of every gradient over all ranks.
  void reduce_gradients(Stream& stream, Communicator& ranks) const;

  /// Writes the initial values of all tensors, a pure function of (seed, name), so that a new layer
  /// leaves the others unchanged. Sets the optimizer moments to 0. Blocks.
  void initialise(Stream& stream, std::uint64_t seed);
  /// Updates the working copy from the master weights.
  void refresh_working(Stream& stream);
  /// Sets the average, if any, to the weights.
  void begin_average(Stream& stream);
  /// Exchanges weights and average; a second call restores both exactly.
  void swap_average(Stream& stream);

  /// Copy whole arrays ([length]) between host and device. Both block.
  std::vector<float> download(Stream& stream, const float* array) const;
  void upload(Stream& stream, const std::vector<float>& values, float* array);

 private:
  std::vector<ParameterTensor> tensors_;
  std::int64_t matrices_ = 0, vectors_ = 0, buffers_ = 0;
  bool planned_ = false;
  DType compute_ = DType::f32;
  Planned<float> master_, first_, second_, average_, vector_gradient_;
  Planned<std::byte> working_, matrix_gradient_;
};

/// Reorder one tensor between memory and file order; both are exact permutations.
std::vector<float> to_file_order(const ParameterTensor& tensor, const float* values);
void from_file_order(const ParameterTensor& tensor, std::span<const float> file, float* values);

}  // namespace wellspring
