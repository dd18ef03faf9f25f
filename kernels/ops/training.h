// The operations that close a training step: loss, metrics, gradient norm, optimizer, schedule and
// the counter. All of them read what changes from device memory (StepState). Called by train/; host
// only; everything runs as map or team functors on host and device alike.
#pragma once

#include "kernels/dtype.h"
#include "kernels/emission/batch.h"
#include "kernels/macros.h"
#include "kernels/step_state.h"
#include "kernels/stream.h"

#include <cstdint>

namespace wellspring::ops {

/// The slice of the logits that belongs to a source's label space: one head of the network.
struct HeadRange {
  std::int32_t begin = 0;    ///< first logit
  std::int32_t classes = 0;  ///< how many
  float loss_weight = 1;     ///< multiplies the loss of this source's samples
};

struct LossSpec {
  std::int64_t batch = 1;
  std::int64_t global_batch = 0;  ///< rows on all ranks, which the mean is taken over; 0: batch
  std::int32_t width = 1;         ///< logits a row, all heads together
  float label_smoothing = 0;      ///< [0, 1); Szegedy et al. 2016, section 7
  HeadRange heads[kMaxSources];   ///< by source index
  DType gradient = DType::f32;    ///< of the logits' gradient
  WS_HD std::int64_t mean_over() const { return global_batch > 0 ? global_batch : batch; }
};

/// Mean over the global batch of sample weight * head weight * cross-entropy of the sample's own
/// head; logits of other heads get gradient 0. Writes loss [batch], correct [batch] (0/1, first
/// maximum wins) and dlogits [batch, width].
void softmax_cross_entropy(Stream& stream, const LossSpec& spec, const float* logits,
                           const Slot* slots, const std::int32_t* labels, const float* weights,
                           float* loss, std::uint8_t* correct, void* dlogits);

/// Mean over batch and targets of weight * (prediction - (target - shift) * scale)^2. `shift` and
/// `scale` [targets] are device arrays that bring every target to about [-1, 1]; `target` reads
/// `target_index` [targets] columns of the latents. correct is 0.
struct MseSpec {
  std::int64_t batch = 1;
  std::int64_t global_batch = 0;  ///< as LossSpec
  std::int32_t targets = 1;
  std::int64_t latent_stride = 1;
  DType gradient = DType::f32;
  WS_HD std::int64_t mean_over() const { return global_batch > 0 ? global_batch : batch; }
};
void mean_squared_error(Stream& stream, const MseSpec& spec, const float* prediction,
                        const float* latents, const std::int32_t* target_index, const float* shift,
                        const float* scale, const float* weights, float* loss,
                        std::uint8_t* correct, void* dprediction);

/// One line of the device ring: what a step reports.
struct StepMetrics {
  std::uint64_t step = 0;
  float loss = 0;
  float gradient_norm = 0;
  float learning_rate = 0;
  std::uint32_t nonfinite = 0;
  float source_loss[kMaxSources] = {};  ///< summed over the step's samples of each source
  std::uint32_t source_correct[kMaxSources] = {};
  std::uint32_t source_count[kMaxSources] = {};
};

/// Reduces loss and correct over the batch in a fixed order: fills ring[state->step % ring_size],
/// state->loss and the non-finite flag (sticky).
void collect_metrics(Stream& stream, std::int64_t batch, const Slot* slots, const float* loss,
                     const std::uint8_t* correct, StepState* state, StepMetrics* ring,
                     std::uint32_t ring_size);
/// Sums of evaluation: adds the batch to one StepMetrics (counts, correct, losses) on the device.
/// Only the first `valid` rows count.
void accumulate_evaluation(Stream& stream, std::int64_t valid, const Slot* slots, const float* loss,
                           const std::uint8_t* correct, StepMetrics* sums);

/// Flat parameter arenas. Matrices (decayed) come first, then vectors (biases, normalisation; not
/// decayed): the optimizer is one launch over both.
struct ParameterView {
  std::int64_t matrices = 0;               ///< elements of the first segment
  std::int64_t vectors = 0;                ///< elements of the second
  float* master = nullptr;                 ///< [matrices + vectors] f32
  void* working = nullptr;                 ///< [matrices] in the compute type; = master when f32
  const void* matrix_gradient = nullptr;   ///< [matrices] in the compute type
  const float* vector_gradient = nullptr;  ///< [vectors] f32
  DType compute = DType::f32;
  /// Per-element learning-rate factor by tensor is not needed yet; frozen tensors are left out.
};

/// Global L2 norm of all gradients in a fixed order; sets state->gradient_norm, gradient_scale =
/// min(1, clip / norm) (clip 0: off), 0 when not finite (the update is skipped and the sticky flag
/// set). `partials`: gradient_norm_partials() floats.
void gradient_norm(Stream& stream, const ParameterView& parameters, float clip, float* partials,
                   StepState* state);
std::size_t gradient_norm_partials();

enum class OptimizerKind : std::uint8_t { sgd, adamw };
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::adamw;
  float momentum = 0.9f;                                ///< sgd; 0: plain
  bool nesterov = false;                                ///< sgd; Sutskever et al. 2013
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  ///< adamw; Loshchilov & Hutter 2019, alg. 2
  float weight_decay = 0;  ///< matrices only; decoupled for adamw, added to the gradient for sgd
  int state_arrays() const { return kind == OptimizerKind::adamw ? 2 : (momentum != 0 ? 1 : 0); }
};
/// `first`, `second`: [matrices + vectors] f32 each, as state_arrays() asks; else null. Bias
/// correction uses state->step + 1. Writes master and working copy in one pass.
void optimizer_step(Stream& stream, const OptimizerSpec& spec, const ParameterView& parameters,
                    float* first, float* second, const StepState* state);

/// Linear warm-up from 0 to `peak` over `warmup` steps, then a half cosine down to `floor` at
/// `total` (Loshchilov & Hutter 2017, eq. 5, one cycle).
struct ScheduleSpec {
  float peak = 1e-3f, floor = 0;
  std::uint64_t warmup = 0, total = 1;
};
/// First node of a step: state->learning_rate from state->step.
void begin_step(Stream& stream, const ScheduleSpec& schedule, StepState* state);
/// Last node of a step: state->step += 1.
void end_step(Stream& stream, StepState* state);

}  // namespace wellspring::ops
