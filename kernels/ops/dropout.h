// Dropout: in training, sets random values to 0 and scales up the others. Stochastic depth does
// this to whole samples. Called by train/network; host only. The functors run on host and device.
//
// Sources: N. Srivastava et al., "Dropout", JMLR 15 (2014), section 10 (scaling during training);
// G. Huang et al., "Deep Networks with Stochastic Depth", ECCV 2016, with the scaling of dropout.
// Whether a value is kept is a function of (seed, layer, step, source, ordinal, index of the
// value). It does not depend on batch size, shards, ranks, threads or device. Copies of a sample in
// one batch have different masks. The backward pass recomputes the mask instead of storing it.
#pragma once

#include "kernels/batch/batch.h"
#include "kernels/ops/row_blocks.h"
#include "kernels/ops/team_loop.h"
#include "kernels/random/philox.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/pack.h"
#include "kernels/runtime/simd.h"
#include "kernels/runtime/step_state.h"
#include "kernels/runtime/stream.h"

#include <cstdint>
#include <type_traits>

namespace wellspring::ops {

struct DropoutSpec {
  std::int64_t rows = 1;     ///< samples
  std::int64_t columns = 1;  ///< values per sample
  float rate = 0.5f;         ///< [0, 1)
  std::uint64_t key = 0;     ///< key of the layer: named_key(seed, name)
  DType compute = DType::f32;
};

/// y = x / (1 - rate) or 0; y may be x. The backward pass is the same function of dy.
void dropout(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
             const void* x, void* y);

/// Stochastic depth of a residual branch: the same with one random word per row, so that a row is
/// dropped or kept as a whole. The word is the first one of the row's dropout.
void drop_path(Stream& stream, const DropoutSpec& spec, const Slot* slots, const StepState* state,
               const void* x, void* y);

/// Key of a layer's masks for the rows of one source in one step; `key` is DropoutSpec::key.
WS_INLINE constexpr std::uint64_t dropout_step_key(std::uint64_t key, std::uint64_t step,
                                                   std::uint32_t source) {
  const Philox4 block =
      philox4x32({{static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(Purpose::dropout),
                   static_cast<std::uint32_t>(step >> 32), source}},
                 key);
  return block.word[0] | (std::uint64_t{block.word[1]} << 32);
}
/// Random numbers of one row; each value uses one word. The ordinal identifies the row among all
/// rows that its source fills in the run's global batches.
WS_INLINE constexpr SampleRng dropout_rng(std::uint64_t key, std::uint64_t step, const Slot& slot) {
  return {dropout_step_key(key, step, slot.source), slot.ordinal};
}

/// A team works on one chunk of one row.
template <class T>
struct DropoutApply {
  const T* x;
  T* y;
  const Slot* slots;
  const StepState* state;
  std::uint64_t key;
  std::int64_t columns, chunks;  ///< per row
  std::uint32_t threshold;       ///< words below this drop the value: rate * 2^32
  float scale;                   ///< 1 / (1 - rate)

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const std::int64_t row = task / chunks;
    const ChunkRange range(task % chunks, columns);
    const SampleRng rng = dropout_rng(key, state->step, slots[row]);
    const T* from = x + row * columns;
    T* to = y + row * columns;
    const auto apply = [&](auto whole) {
      for (std::int64_t i = range.begin + kPack * std::int64_t{team.rank()}; i < range.end;
           i += kPack * std::int64_t{team.size()}) {
        // One block of four words serves four neighbours; chunks begin at multiples of kPack.
        const auto block = static_cast<std::uint32_t>(i / 4);
        const Philox4 words[] = {rng.block(Purpose::dropout, block),
                                 rng.block(Purpose::dropout, block + 1)};
        Pack pack = whole ? load_pack(from + i) : load_part_of_pack(from + i, range.end - i);
        for (int k = 0; k < kPack; ++k) {
          // Uses a product, so that NaN propagates and is detected.
          pack.v[k] *= words[k / 4].word[k % 4] < threshold ? 0.0f : scale;
        }
        if constexpr (whole) {
          store_pack(to + i, pack);
        } else {
          for (int k = 0; k < kPack && i + k < range.end; ++k) to[i + k] = T(pack.v[k]);
        }
      }
    };
    // Rows of whole packs are aligned.
    columns % kPack == 0 ? apply(std::true_type{}) : apply(std::false_type{});
  }
};

/// One team per block.
template <class T>
struct DropPathApply {
  const T* x;
  T* y;
  const Slot* slots;
  const StepState* state;
  std::uint64_t key;
  std::uint32_t threshold;  ///< words below this drop the row: rate * 2^32
  float scale;              ///< 1 / (1 - rate)
  RowBlocks blocks;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t index) const {
    struct Row {
      std::int64_t offset;
      float factor;
    };
    const DropPathApply of = *this;
    const std::uint64_t step = state->step;
    blocks.visit(
        team, index,
        [=](std::int64_t row) WS_INLINED {
          const SampleRng rng = dropout_rng(of.key, step, of.slots[row]);
          const bool dropped = rng.block(Purpose::dropout, 0).word[0] < of.threshold;
          return Row{row * of.blocks.columns, dropped ? 0.0f : of.scale};
        },
        [=]<int n>(Width<n>, const Row& row, std::int64_t k) WS_INLINED {
          // Uses a product, so that NaN propagates and is detected.
          Values<n> value = load_values<n>(of.x + row.offset + k);
          for (int j = 0; j < n; ++j) value.v[j] *= row.factor;
          store_values(of.y + row.offset + k, value);
        });
  }
};

}  // namespace wellspring::ops
