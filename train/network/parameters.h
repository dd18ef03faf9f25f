// The parameters of a network: named tensors in flat arenas, so that the optimizer is one launch
// and a checkpoint one pass. Called by models, trainer and checkpoints; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/ops/training.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

/// How a tensor begins.
enum class Init : std::uint8_t {
  he_normal,     ///< N(0, 2 / fan_in), before a ReLU; He et al. 2015, eq. 10
  lecun_normal,  ///< N(0, 1 / fan_in), before no activation; LeCun et al. 1998, eq. 16
  zeros,
  ones,
};

/// How a tensor lies in memory, and how a checkpoint shows it.
enum class TensorLayout : std::uint8_t {
  convolution,  ///< KRSC here, OIHW in files
  dense,        ///< [out, in]
  vector,       ///< [n]
};

enum class TensorKind : std::uint8_t {
  parameter,  ///< trained: has a gradient and the optimizer's moments
  buffer,     ///< part of the model but not trained: running statistics
};

/// Which part of the network a tensor belongs to, for those who treat them apart.
enum class ParameterGroup : std::uint8_t {
  body,
  head,  ///< the layer that makes the outputs: begins anew where the classes are others
};

/// Names one tensor of an arena.
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
  /// Inputs that one output sums over.
  std::int64_t fan_in() const { return elements() / shape.front(); }
  std::vector<std::int64_t> file_shape() const;  ///< OIHW for convolutions
};

/// An array of an arena that is state, a value a parameter: [length] f32, where the tensors say.
struct ArenaArray {
  std::string prefix;  ///< of the tensors' names in files; "" for the weights themselves
  float* data = nullptr;
};

/// Registered while models plan, laid out by `plan`, addressed after MemoryPlan::commit. Matrices
/// come first (decayed, in the compute type), then vectors (f32, not decayed), then buffers (f32,
/// not trained). Every tensor begins on a multiple of 64 elements; the gap stays zero.
class ParameterArena {
 public:
  /// Errors (std::logic_error): a name registered twice, a buffer that is no vector, or anything
  /// after plan().
  ParameterId add(ParameterTensor tensor);
  /// The tensor called asked.name. Error (std::logic_error) where there is none, or one of another
  /// layout, shape or kind: it cannot be shared.
  ParameterId find(const ParameterTensor& asked) const;
  ParameterId matrix(std::string name, TensorLayout layout, std::vector<std::int64_t> shape,
                     Init initial);
  ParameterId vector(std::string name, std::int64_t n, Init initial);

  /// `keep_average`: room for a moving average of all values.
  void plan(MemoryPlan& memory, DType compute, const ops::OptimizerSpec& optimizer,
            bool keep_average = false);

  /// Parameters and buffers alike: what a model file holds.
  std::span<const ParameterTensor> tensors() const { return tensors_; }
  const ParameterTensor& tensor(ParameterId id) const;
  /// Trained values as a user counts them: without buffers and gaps.
  std::int64_t count() const;
  /// Values with buffers and gaps: the length of the arrays below. The moments of buffers stay 0.
  std::int64_t length() const { return matrices_ + vectors_ + buffers_; }

  const void* weight(ParameterId id) const;  ///< matrix, in the compute type
  const float* value(ParameterId id) const;  ///< vector
  float* buffer(ParameterId id) const;       ///< buffer
  /// Of a matrix in the compute type, of a vector in f32; null for a buffer.
  void* gradient(ParameterId id) const;
  float* master() const { return master_.data(); }  ///< [length] f32
  float* first_moment() const { return first_ ? first_.data() : nullptr; }
  float* second_moment() const { return second_ ? second_.data() : nullptr; }
  float* average() const { return average_ ? average_.data() : nullptr; }
  /// The weights, what the optimizer keeps of them, and their average.
  std::vector<ArenaArray> arrays() const;
  ops::ParameterView view() const;
  /// Enqueues the sum of every gradient over all ranks.
  void reduce_gradients(Stream& stream, Communicator& ranks) const;

  /// Writes every tensor as it begins: a pure function of (seed, name), so that adding a layer
  /// moves no other. Zeroes the optimizer's moments. Blocks.
  void initialise(Stream& stream, std::uint64_t seed);
  /// Brings the working copy to the masters' values.
  void refresh_working(Stream& stream);
  /// Where there is an average: it begins at the weights.
  void begin_average(Stream& stream);
  /// The average takes the weights' place and they its own; again brings both back, to the bit.
  void swap_average(Stream& stream);

  /// Copies of whole arrays ([length]) between host and device. Block.
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

/// The values of one tensor at its beginning, in memory order.
std::vector<float> initial_values(const ParameterTensor& tensor, std::uint64_t seed);

/// Reorders one tensor between memory and file order; exact, both are permutations.
std::vector<float> to_file_order(const ParameterTensor& tensor, const float* values);
void from_file_order(const ParameterTensor& tensor, std::span<const float> file, float* values);

}  // namespace wellspring
