// Attention and its gradient with exact f32 sums, for specs that neither cuDNN nor
// kernels/ops/cpu/attention.h supports. Called by kernels/ops/attention.cpp; host and device.
//
// With the scores s = q k^T / sqrt(width) of a head, p = softmax(s) and y = p v:
//
//   dv = p^T dy     dp = dy v^T     ds = p (dp - sum over keys of p dp)
//   dq = ds k / sqrt(width)         dk = ds^T q / sqrt(width)
//
// The sum over keys of p dp equals the sum of dy y over the head's width. Scores are never stored.
// The forward pass visits the keys in blocks and rescales its sums when the largest score grows.
// The backward pass computes p again from the log-sum-exp of each row of scores. Source: T. Dao et
// al., "FlashAttention", NeurIPS 2022, algorithms 1 and 4.
//
// A team owns a block of tokens, the lanes, and visits the tokens of the sample in blocks of the
// same size, the rows. All products have the form c[i][lane] += sum over k of a(i, k) b[k][lane],
// which vectorises over lanes, and each sum runs in order of k. So no result needs atomics, and the
// bits do not depend on the team's size.
#pragma once

#include "kernels/ops/sets.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/team_loop.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

struct AttentionShape {
  int tokens, heads, width;
  int block;    ///< tokens per block, a multiple of 16
  float scale;  ///< 1 / sqrt(width)

  WS_INLINE constexpr int blocks() const { return (tokens + block - 1) / block; }
  /// Values per token of y and of q, k or v.
  WS_INLINE constexpr int features() const { return heads * width; }
};

enum class AttentionPart : std::uint8_t { query, key, value };

/// The head, sample and block of tokens of one team.
struct AttentionBlock {
  WS_INLINE AttentionBlock(const AttentionShape& of, const std::int32_t* count, std::int64_t task)
      : shape(of),
        head(task / of.blocks()),
        sample(head / of.heads),
        first(static_cast<int>(task % of.blocks()) * of.block),
        last(first + of.block < of.tokens ? first + of.block : of.tokens),
        exist(count != nullptr ? existing_items(count, sample, of.tokens) : of.tokens) {}

  /// Tokens of the block that exist.
  WS_INLINE int own() const {
    const int n = (last < exist ? last : exist) - first;
    return n > 0 ? n : 0;
  }
  /// Number of rows of the block of tokens that begins with `row`.
  WS_INLINE int rows(int row) const {
    return row + shape.block < exist ? shape.block : exist - row;
  }
  /// Offset of a token's values in qkv and in y, for this head.
  WS_INLINE std::int64_t in_qkv(AttentionPart part, int token) const {
    return ((sample * shape.tokens + token) * 3 + static_cast<int>(part)) * shape.features() +
           head % shape.heads * shape.width;
  }
  WS_INLINE std::int64_t in_y(int token) const {
    return (sample * shape.tokens + token) * shape.features() + head % shape.heads * shape.width;
  }
  /// Index of a token in arrays [batch, heads, tokens].
  WS_INLINE std::int64_t in_rows(int token) const { return head * shape.tokens + token; }

  const AttentionShape& shape;
  std::int64_t head;  ///< among the heads of all samples
  std::int64_t sample;
  int first, last;  ///< tokens of the block
  int exist;        ///< tokens of the sample that exist
};

/// A matrix in scratch, or its transpose.
struct MatrixView {
  const float* values;
  int row, column;  ///< distances between neighbouring rows and between neighbouring columns
};

/// Upper bound on a team's scratch in bytes, given the number of AttentionTeam arrays of each kind.
constexpr std::size_t attention_scratch(const AttentionShape& shape, int lanes, int rows,
                                        int scores, int per_lane) {
  const int lane_pitch = shape.block | 1, row_pitch = shape.width | 1;
  return sizeof(float) * static_cast<std::size_t>(
                             lanes * shape.width * lane_pitch + rows * shape.block * row_pitch +
                             scores * shape.block * lane_pitch + per_lane * shape.block);
}

/// Scratch of one team and the steps that all functors share.
template <class Team>
struct AttentionTeam {
  /// A member computes tiles of kTileRows x kTileLanes in registers: two AVX2 vectors per row on a
  /// host.
  static constexpr int kTileRows = 4, kTileLanes = LoneTeam<Team> ? 16 : 4;

  Team& team;
  const AttentionShape& shape;

  // On a GPU, both distances are odd, so that a warp accesses different banks along either
  // dimension.
  WS_INLINE int lane_pitch() const { return LoneTeam<Team> ? shape.block : shape.block | 1; }
  WS_INLINE int row_pitch() const { return LoneTeam<Team> ? shape.width : shape.width | 1; }

  /// Arrays in scratch: [width, lanes], [rows, width], [rows, lanes] and [lanes].
  WS_INLINE float* lanes() const { return floats(shape.width * lane_pitch()); }
  WS_INLINE float* rows() const { return floats(shape.block * row_pitch()); }
  WS_INLINE float* scores() const { return floats(shape.block * lane_pitch()); }
  WS_INLINE float* per_lane() const { return floats(shape.block); }

  /// Copies `count` tokens, whose values begin `stride` apart, to `to` [rows, width].
  template <class T>
  WS_HD void load_rows(const T* from, std::int64_t stride, int count, float* to) const {
    const int pitch = row_pitch();
    team_for_grid(team, count, shape.width, [=](int row, int k) {
      to[row * pitch + k] = static_cast<float>(from[row * stride + k]);
    });
  }
  /// Copies `count` tokens, multiplied by `factor`, to `to` [width, lanes], and writes zeros to the
  /// other lanes.
  template <class T>
  WS_HD void load_lanes(const T* from, std::int64_t stride, int count, float factor,
                        float* to) const {
    const int pitch = lane_pitch();
    team_for_grid(team, shape.block, shape.width, [=](int lane, int k) {
      to[k * pitch + lane] =
          lane < count ? factor * static_cast<float>(from[lane * stride + k]) : 0.0f;
    });
  }
  /// Writes `from` [width, lanes], multiplied by factor(lane), to `own` tokens, and zeros to the
  /// tokens [own, all).
  template <class T, class Factor>
  WS_HD void store_lanes(const float* from, int own, int all, Factor factor, T* to,
                         std::int64_t stride) const {
    const int pitch = lane_pitch();
    team_for_grid(team, all, shape.width, [=](int lane, int k) {
      to[lane * stride + k] = T(lane < own ? from[k * pitch + lane] * factor(lane) : 0.0f);
    });
  }

  WS_HD void clear_lanes(float* values) const {
    team_for(team, 0, shape.width * lane_pitch(), [=](std::int64_t i) { values[i] = 0; });
  }

  /// Calls body(row, lane) for all lanes; visits each lane's rows in order.
  template <class Body>
  WS_INLINE void for_lanes(int rows, int lanes, Body body) const {
    if constexpr (LoneTeam<Team>) {
      for (int row = 0; row < rows; ++row) {
        WS_SIMD
        for (int lane = 0; lane < lanes; ++lane) body(row, lane);
      }
    } else {
      for (int lane = team.rank(); lane < lanes; lane += team.size()) {
        for (int row = 0; row < rows; ++row) body(row, lane);
      }
    }
  }

  /// c[i][lane] = start(i, lane) + sum over k of a(i, k) b[k][lane] for i < rows, k < depth, and at
  /// least `lanes` lanes.
  template <class Start>
  WS_HD void multiply(MatrixView a, int rows, int depth, const float* b, int lanes, float* c,
                      Start start) const {
    const int row_tiles = (rows + kTileRows - 1) / kTileRows,
              lane_tiles = (lanes + kTileLanes - 1) / kTileLanes;
    for (int tile = team.rank(); tile < row_tiles * lane_tiles; tile += team.size()) {
      const int row = tile / lane_tiles * kTileRows, lane = tile % lane_tiles * kTileLanes;
      if (row + kTileRows <= rows) {
        multiply_tile<kTileRows>(a, row, lane, depth, b, c, start);
      } else {
        for (int i = row; i < rows; ++i) multiply_tile<1>(a, i, lane, depth, b, c, start);
      }
    }
  }

 private:
  WS_INLINE float* floats(int n) const {
    return team.template scratch<float>(static_cast<std::size_t>(n));
  }

  template <int n, class Start>
  WS_INLINE void multiply_tile(MatrixView a, int row, int lane, int depth, const float* b, float* c,
                               Start start) const {
    const int pitch = lane_pitch();
    float sums[n][kTileLanes];
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < kTileLanes; ++l) sums[i][l] = start(row + i, lane + l);
    }
    const float* left = a.values + row * a.row;
    const float* right = b + lane;
    for (int k = 0; k < depth; ++k, left += a.column, right += pitch) {
      for (int i = 0; i < n; ++i) {
        const float value = left[i * a.row];
        WS_SIMD
        for (int l = 0; l < kTileLanes; ++l) sums[i][l] = math::fma(value, right[l], sums[i][l]);
      }
    }
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < kTileLanes; ++l) c[(row + i) * pitch + lane + l] = sums[i][l];
    }
  }
};

inline constexpr LaunchBound kAttentionTeam = {128, 2};

/// Writes y and the log-sum-exp of the scores, [batch, heads, tokens]. A team owns queries.
template <class T>
struct AttentionForward {
  static constexpr LaunchBound kLaunchBound = kAttentionTeam;

  const T* qkv;
  const std::int32_t* count;  ///< may be null
  T* y;
  float* log_sum;
  AttentionShape shape;

  static constexpr std::size_t scratch_bytes(const AttentionShape& shape) {
    return attention_scratch(shape, 2, 2, 1, 3);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const AttentionBlock block(shape, count, task);
    const AttentionTeam<Team> steps{team, shape};
    const int own = block.own();
    const std::int64_t stride = 3 * shape.features();
    float *query = steps.lanes(), *sum = steps.lanes(), *key = steps.rows(), *value = steps.rows(),
          *score = steps.scores(), *largest = steps.per_lane(), *total = steps.per_lane(),
          *shrink = steps.per_lane();
    steps.load_lanes(qkv + block.in_qkv(AttentionPart::query, block.first), stride, own,
                     shape.scale, query);
    steps.clear_lanes(sum);
    team_for(team, 0, shape.block, [=](std::int64_t lane) {
      largest[lane] = -math::kInfinity;
      total[lane] = shrink[lane] = 0;
    });
    for (int row = 0; row < block.exist && own > 0; row += shape.block) {
      const int rows = block.rows(row);
      team.sync();  // all members have used the previous rows
      steps.load_rows(qkv + block.in_qkv(AttentionPart::key, row), stride, rows, key);
      steps.load_rows(qkv + block.in_qkv(AttentionPart::value, row), stride, rows, value);
      team.sync();
      steps.multiply({key, steps.row_pitch(), 1}, rows, shape.width, query, own, score,
                     [](int, int) { return 0.0f; });
      team.sync();
      weigh(steps, rows, own, score, largest, total, shrink);
      team.sync();
      const int pitch = steps.lane_pitch();
      steps.multiply({value, 1, steps.row_pitch()}, shape.width, rows, score, own, sum,
                     [=](int k, int lane) { return sum[k * pitch + lane] * shrink[lane]; });
    }
    team.sync();
    steps.store_lanes(
        sum, own, block.last - block.first, [=](int lane) { return 1.0f / total[lane]; },
        y + block.in_y(block.first), shape.features());
    float* to = log_sum + block.in_rows(block.first);
    team_for(team, 0, own,
             [=](std::int64_t lane) { to[lane] = largest[lane] + math::log(total[lane]); });
  }

 private:
  /// Replaces scores by exp(score - largest). The caller must multiply earlier sums by `shrink`.
  template <class Team>
  WS_HD void weigh(const AttentionTeam<Team>& steps, int rows, int lanes, float* score,
                   float* largest, float* total, float* shrink) const {
    const int pitch = steps.lane_pitch();
    steps.for_lanes(1, lanes, [=](int, int lane) { shrink[lane] = largest[lane]; });
    steps.for_lanes(rows, lanes, [=](int row, int lane) {
      const float s = score[row * pitch + lane];
      largest[lane] = s > largest[lane] ? s : largest[lane];
    });
    steps.for_lanes(1, lanes, [=](int, int lane) {
      shrink[lane] = math::exp(shrink[lane] - largest[lane]);
      total[lane] *= shrink[lane];
    });
    steps.for_lanes(rows, lanes, [=](int row, int lane) {
      const float weight = math::exp(score[row * pitch + lane] - largest[lane]);
      score[row * pitch + lane] = weight;
      total[lane] += weight;
    });
  }
};

/// Inputs of the backward functors.
template <class T>
struct AttentionGradient {
  const T* qkv;
  const std::int32_t* count;  ///< may be null
  const T* dy;
  const float* log_sum;  ///< output of AttentionForward
  AttentionShape shape;
};

/// Writes dq and, for each query and head, the sum of dy y, [batch, heads, tokens]. A team owns
/// queries.
template <class T>
struct AttentionQueryGradient {
  static constexpr LaunchBound kLaunchBound = kAttentionTeam;

  AttentionGradient<T> in;
  const T* y;
  T* dqkv;
  float* products;

  static constexpr std::size_t scratch_bytes(const AttentionShape& shape) {
    return attention_scratch(shape, 3, 2, 2, 2);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const AttentionShape& shape = in.shape;
    const AttentionBlock block(shape, in.count, task);
    const AttentionTeam<Team> steps{team, shape};
    const int own = block.own(), pitch = steps.lane_pitch(), width = shape.width;
    const std::int64_t features = shape.features(), stride = 3 * features;
    float *query = steps.lanes(), *dy = steps.lanes(), *sum = steps.lanes(), *key = steps.rows(),
          *value = steps.rows(), *score = steps.scores(), *slope = steps.scores(),
          *product = steps.per_lane(), *log_sum = steps.per_lane();
    steps.load_lanes(in.qkv + block.in_qkv(AttentionPart::query, block.first), stride, own,
                     shape.scale, query);
    steps.load_lanes(in.dy + block.in_y(block.first), features, own, 1.0f, dy);
    steps.clear_lanes(sum);
    const float* saved = in.log_sum + block.in_rows(block.first);
    team_for(team, 0, own, [=](std::int64_t lane) {
      product[lane] = 0;
      log_sum[lane] = saved[lane];
    });
    team.sync();
    const T* own_y = y + block.in_y(block.first);
    steps.for_lanes(width, own, [=](int k, int lane) {
      product[lane] = math::fma(dy[k * pitch + lane],
                                static_cast<float>(own_y[lane * features + k]), product[lane]);
    });
    for (int row = 0; row < block.exist && own > 0; row += shape.block) {
      const int rows = block.rows(row);
      team.sync();  // all members have used the previous rows
      steps.load_rows(in.qkv + block.in_qkv(AttentionPart::key, row), stride, rows, key);
      steps.load_rows(in.qkv + block.in_qkv(AttentionPart::value, row), stride, rows, value);
      team.sync();
      const auto zero = [](int, int) { return 0.0f; };
      steps.multiply({key, steps.row_pitch(), 1}, rows, width, query, own, score, zero);
      steps.multiply({value, steps.row_pitch(), 1}, rows, width, dy, own, slope, zero);
      team.sync();
      team_for_grid(team, rows, own, [=](int i, int lane) {
        const float weight = math::exp(score[i * pitch + lane] - log_sum[lane]);
        score[i * pitch + lane] = weight * (slope[i * pitch + lane] - product[lane]);
      });
      team.sync();
      steps.multiply({key, 1, steps.row_pitch()}, width, rows, score, own, sum,
                     [=](int k, int lane) { return sum[k * pitch + lane]; });
    }
    team.sync();
    const float scale = shape.scale;
    steps.store_lanes(
        sum, own, block.last - block.first, [=](int) { return scale; },
        dqkv + block.in_qkv(AttentionPart::query, block.first), stride);
    float* to = products + block.in_rows(block.first);
    team_for(team, 0, own, [=](std::int64_t lane) { to[lane] = product[lane]; });
  }
};

/// Writes dk and dv. A team owns keys with their values. Runs after AttentionQueryGradient.
template <class T>
struct AttentionKeyGradient {
  static constexpr LaunchBound kLaunchBound = kAttentionTeam;

  AttentionGradient<T> in;
  T* dqkv;
  const float* products;

  static constexpr std::size_t scratch_bytes(const AttentionShape& shape) {
    return attention_scratch(shape, 4, 2, 2, 0);
  }

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t task) const {
    const AttentionShape& shape = in.shape;
    const AttentionBlock block(shape, in.count, task);
    const AttentionTeam<Team> steps{team, shape};
    const int own = block.own(), pitch = steps.lane_pitch(), width = shape.width;
    const std::int64_t features = shape.features(), stride = 3 * features;
    float *key = steps.lanes(), *value = steps.lanes(), *key_sum = steps.lanes(),
          *value_sum = steps.lanes(), *query = steps.rows(), *dy = steps.rows(),
          *score = steps.scores(), *slope = steps.scores();
    steps.load_lanes(in.qkv + block.in_qkv(AttentionPart::key, block.first), stride, own,
                     shape.scale, key);
    steps.load_lanes(in.qkv + block.in_qkv(AttentionPart::value, block.first), stride, own, 1.0f,
                     value);
    steps.clear_lanes(key_sum);
    steps.clear_lanes(value_sum);
    for (int row = 0; row < block.exist && own > 0; row += shape.block) {
      const int rows = block.rows(row);
      team.sync();  // all members have used the previous rows
      steps.load_rows(in.qkv + block.in_qkv(AttentionPart::query, row), stride, rows, query);
      steps.load_rows(in.dy + block.in_y(row), features, rows, dy);
      team.sync();
      const auto zero = [](int, int) { return 0.0f; };
      steps.multiply({query, steps.row_pitch(), 1}, rows, width, key, own, score, zero);
      steps.multiply({dy, steps.row_pitch(), 1}, rows, width, value, own, slope, zero);
      team.sync();
      const float *log_sum = in.log_sum + block.in_rows(row),
                  *product = products + block.in_rows(row);
      team_for_grid(team, rows, own, [=](int i, int lane) {
        const float weight = math::exp(score[i * pitch + lane] - log_sum[i]);
        score[i * pitch + lane] = weight;
        slope[i * pitch + lane] = weight * (slope[i * pitch + lane] - product[i]);
      });
      team.sync();
      steps.multiply({query, 1, steps.row_pitch()}, width, rows, slope, own, key_sum,
                     [=](int k, int lane) { return key_sum[k * pitch + lane]; });
      steps.multiply({dy, 1, steps.row_pitch()}, width, rows, score, own, value_sum,
                     [=](int k, int lane) { return value_sum[k * pitch + lane]; });
    }
    team.sync();
    const int all = block.last - block.first;
    const float scale = shape.scale;
    steps.store_lanes(
        key_sum, own, all, [=](int) { return scale; },
        dqkv + block.in_qkv(AttentionPart::key, block.first), stride);
    steps.store_lanes(
        value_sum, own, all, [](int) { return 1.0f; },
        dqkv + block.in_qkv(AttentionPart::value, block.first), stride);
  }
};

/// Counts clamped to [1, tokens], because cuDNN needs at least one token per sample.
struct ClampedCounts {
  const std::int32_t* count;
  std::int32_t* clamped;
  int tokens;

  WS_HD void operator()(std::int64_t sample) const {
    const int exist = existing_items(count, sample, tokens);
    clamped[sample] = exist > 0 ? exist : 1;
  }
};

/// Writes zeros to tokens that do not exist. values [batch, tokens, features]; one team per sample.
struct ClearMissingTokens {
  const std::int32_t* count;
  bf16* values;
  int tokens, features;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t sample) const {
    bf16* own = values + sample * tokens * features;
    const std::int64_t exist = existing_items(count, sample, tokens);
    team_for(team, exist * features, std::int64_t{tokens} * features,
             [=](std::int64_t i) { own[i] = bf16(0.0f); });
  }
};

}  // namespace wellspring::ops
