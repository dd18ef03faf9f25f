// Parameters of a network: named tensors in flat arenas, so that an optimizer step takes one launch
// and a checkpoint one pass. Called by layers, training and checkpoints; host only.
#pragma once

#include "kernels/batch/communicator.h"
#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/network/initialisation.h"
#include "train/network/parameter_policy.h"
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
  dense,        ///< [out, in], and other matrices with the same order in files
  vector,       ///< [n]
};

enum class TensorKind : std::uint8_t {
  parameter,  ///< trained unless its policy is frozen: has a gradient and optimizer moments
  buffer,     ///< part of the model, but not trained: running statistics
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
  std::string output = {};  ///< output that its layer writes (Dense::output); "": none
  int block = 0;            ///< block of the network, see Tape::begin_block
  ParameterPolicy policy = {};
  bool trained() const { return kind == TensorKind::parameter && !policy.frozen; }
  bool trained_at(std::uint64_t step) const { return trained() && policy.unfreeze_at <= step; }
  bool frozen() const { return kind == TensorKind::parameter && policy.frozen; }
  std::int64_t elements() const;
  /// Number of inputs summed by one output.
  std::int64_t fan_in() const { return elements() / shape.front(); }
  /// Number of outputs that one input contributes to, with stride 1, as PyTorch counts it.
  std::int64_t fan_out() const {
    return elements() / (layout == TensorLayout::convolution ? shape.back() : shape.at(1));
  }
  std::vector<std::int64_t> file_shape() const;  ///< OIHW for convolutions
};

/// An array of persistent values, one per element of the arena: f32, with the tensors at their
/// offsets.
struct ArenaArray {
  std::string prefix;  ///< prefix of tensor names in files; "": the weights
  float* data = nullptr;
  std::int64_t length = 0;
  bool holds(const ParameterTensor& tensor) const { return tensor.offset < length; }
};

/// Elements [begin, end) of the gradients: all trained matrices come first, then all trained
/// vectors. A range contains matrices or vectors, not both.
struct GradientRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// Holds all parameters. Tensors are registered while a network is planned, laid out by plan(), and
/// addressable after MemoryPlan::commit. Trained matrices (compute type) come first, followed by
/// trained vectors (f32), buffers (f32, not trained), frozen matrices and frozen vectors. So a step
/// changes only a prefix. Every tensor begins at a multiple of 64 elements; gaps stay 0.
class ParameterArena {
 public:
  /// `rules`: the policies of the parameters.
  explicit ParameterArena(std::vector<ParameterRule> rules = {}) : rules_(std::move(rules)) {}

  /// Errors (std::logic_error): a name registered twice, a buffer that is not a vector, or any call
  /// after plan().
  ParameterId add(ParameterTensor tensor);
  /// The tensor called asked.name, for sharing; it keeps the initialisation of its owner. Error
  /// (std::logic_error) if it does not exist, or its layout, shape or kind differs.
  ParameterId find(const ParameterTensor& asked) const;

  /// `keep_average`: also reserves a moving average of all values. Error (config): layer-wise decay
  /// in a network with a single block.
  void plan(MemoryPlan& memory, DType compute, const ops::OptimizerSpec& optimizer,
            bool keep_average = false);

  /// Parameters and buffers: the contents of a model file.
  std::span<const ParameterTensor> tensors() const { return tensors_; }
  const ParameterTensor& tensor(ParameterId id) const;
  std::span<const ParameterRule> rules() const { return rules_; }
  /// First steps of the phases: step 0, then every step that unfreezes parameters. Within a phase,
  /// the same parameters are trained.
  std::vector<std::uint64_t> phases() const;
  /// Numbers of parameter values, in total and frozen, excluding buffers and gaps.
  std::int64_t count() const;
  std::int64_t frozen_count() const;
  /// Length of the weights, with buffers and gaps.
  std::int64_t length() const { return changing() + frozen_matrices_ + frozen_vectors_; }
  /// Length of the prefix that a step may change: everything but frozen parameters. The moments
  /// have this length; the moments of buffers stay 0.
  std::int64_t changing() const { return matrices_ + vectors_ + buffers_; }

  /// The gradients of all matrices and of all vectors, with gaps.
  GradientRange matrices() const { return {0, matrices_}; }
  GradientRange vectors() const { return {matrices_, matrices_ + vectors_}; }
  DType compute() const { return compute_; }

  const void* weight(ParameterId id) const;  ///< matrix, in the compute type
  const float* value(ParameterId id) const;  ///< vector
  float* buffer(ParameterId id) const;       ///< buffer
  /// Gradient of a matrix (in the compute type) or vector (f32) that some step trains; null for
  /// other tensors.
  void* gradient(ParameterId id) const;
  float* master() const { return master_.data(); }                             ///< [length] f32
  float* first_moment() const { return first_ ? first_.data() : nullptr; }     ///< [changing]
  float* second_moment() const { return second_ ? second_.data() : nullptr; }  ///< [changing]
  float* average() const { return average_ ? average_.data() : nullptr; }      ///< [length]
  ArenaArray weights() const { return {"", master_.data(), length()}; }
  /// The weights, the optimizer's moments, and the average.
  std::vector<ArenaArray> arrays() const;
  ops::ParameterView view() const;
  /// Reserves memory for sums of gradients. Call after plan().
  void plan_sums(MemoryPlan& memory);
  /// Enqueues the addition, in f32, of the gradients of pass `pass` of `passes` to their sums; the
  /// last pass rounds the sums once and writes them to the gradients.
  void add_gradients(Stream& stream, GradientRange range, std::int64_t pass,
                     std::int64_t passes) const;
  /// Enqueues the sum of the gradients over all ranks, computed in f32 and rounded once to their
  /// type. `wide`: f32 memory for the range; not needed if its type is f32.
  void reduce_gradients(Stream& stream, GradientRange range, Communicator& ranks,
                        float* wide) const;

  /// Writes the initial values of all tensors, a pure function of (seed, name), so that adding a
  /// layer leaves the others unchanged. Sets the optimizer moments and the gradients to 0 (a phase
  /// does not write the gradients of later ones) and uploads the ranges of the policies. Blocks.
  void initialise(Stream& stream, std::uint64_t seed);
  /// Updates the working copy from the master weights.
  void refresh_working(Stream& stream);
  /// Sets the average, if any, to the weights.
  void begin_average(Stream& stream);
  /// Exchanges weights and average; a second call restores both exactly.
  void swap_average(Stream& stream);

  /// Copy a whole array between host and device. Both block.
  static std::vector<float> download(Stream& stream, const ArenaArray& array);
  static void upload(Stream& stream, const std::vector<float>& values, const ArenaArray& array);

 private:
  void* gradients(std::int64_t begin) const;
  DType type_of(GradientRange range) const {
    return range.begin < matrices_ ? compute_ : DType::f32;
  }
  void lay_out();
  void plan_ranges(MemoryPlan& memory, const ops::OptimizerSpec& optimizer);
  void plan_clip_units(MemoryPlan& memory);

  std::vector<ParameterRule> rules_;
  std::vector<ParameterTensor> tensors_;
  std::int64_t matrices_ = 0, vectors_ = 0, buffers_ = 0;
  std::int64_t frozen_matrices_ = 0, frozen_vectors_ = 0;
  bool planned_ = false;
  DType compute_ = DType::f32;
  std::vector<ops::UpdateRange> update_ranges_;
  std::vector<ops::ClipUnits> clip_units_;
  Planned<ops::UpdateRange> ranges_;
  Planned<ops::ClipUnits> units_;
  Planned<float> tensor_norms_, sums_;
  Planned<float> master_, first_, second_, average_, vector_gradient_;
  Planned<std::byte> working_, matrix_gradient_;
};

/// Reorder one tensor between memory and file order; both are exact permutations.
std::vector<float> to_file_order(const ParameterTensor& tensor, const float* values);
void from_file_order(const ParameterTensor& tensor, std::span<const float> file, float* values);

}  // namespace wellspring
