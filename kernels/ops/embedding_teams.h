// Functors of the self-supervised losses. A team makes one row of a matrix: normalised embeddings,
// similarities or gradients. Called by kernels/ops/embedding_loss.cpp; host and device.
//
// The gradients of the contrastive losses with respect to the normalised embeddings z have the form
// g_i = sum over k of w_ik z_k, where w_ik follows from the similarities s_ik = z_i z_k. With
// z = u / |u|, the gradient of u is (g - (g z) z) / |u|.
//
// Sums run in a fixed order, so the bits depend neither on the team's size nor on the number of
// threads.
#pragma once

#include "kernels/ops/embedding_loss.h"
#include "kernels/random/math.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/launch_bound.h"
#include "kernels/runtime/macros.h"
#include "kernels/runtime/reduce.h"
#include "kernels/runtime/team_loop.h"

#include <cstdint>

namespace wellspring::ops {

/// Threads of the teams, and their scratch for one sum.
inline constexpr int kEmbeddingTeam = 128;
inline constexpr std::size_t kEmbeddingScratch = kReduceLanes * sizeof(float);

/// Sizes and location of a batch of embeddings.
struct Embeddings {
  std::int64_t rows;
  std::int32_t width, views;
  std::int32_t stride, begin;  ///< row r of the outputs begins at r * stride + begin
  float weight;                ///< factor of the loss

  WS_INLINE std::int64_t samples() const { return rows / views; }
  WS_INLINE std::int64_t at(std::int64_t row) const { return row * stride + begin; }
};

/// out[c] = sum over r of weights[r] * matrix[r * pitch + c] for c in [0, columns).
template <class Team>
WS_HD void weighted_rows(Team& team, const float* weights, std::int64_t rows, const float* matrix,
                         std::int64_t pitch, std::int64_t columns, float* out) {
  constexpr std::int64_t kBlock = LoneTeam<Team> ? 32 : 1;  // columns per register block
  for (std::int64_t first = team.rank() * kBlock; first < columns; first += team.size() * kBlock) {
    const std::int64_t n = columns - first < kBlock ? columns - first : kBlock;
    float sum[kBlock] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      const float weight = weights[r];
      const float* const row = matrix + r * pitch + first;
      if (n == kBlock) {
        WS_SIMD
        for (std::int64_t c = 0; c < kBlock; ++c) sum[c] = math::fma(weight, row[c], sum[c]);
      } else {
        for (std::int64_t c = 0; c < n; ++c) sum[c] = math::fma(weight, row[c], sum[c]);
      }
    }
    for (std::int64_t c = 0; c < n; ++c) out[first + c] = sum[c];
  }
}

/// Common part of the functors with sums.
struct EmbeddingTeam {
  static constexpr LaunchBound kLaunchBound = {kEmbeddingTeam, 8};

 protected:
  template <class Team, class Load>
  WS_INLINE static float sum(Team& team, float* lanes, std::int64_t n, Load load) {
    return team_sum<Team, float>(team, lanes, n, load);
  }
  template <class Team>
  WS_INLINE static float* lanes_of(Team& team) {
    return team.template scratch<float>(kReduceLanes);
  }
};

/// For one row, writes z [rows, width], its transpose, and 1 / |u|. For a zero vector, z and its
/// gradient are 0.
struct NormaliseEmbeddings : EmbeddingTeam {
  Embeddings of;
  const float* outputs;
  float *z, *transposed, *inverse_norm;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* const lanes = lanes_of(team);
    const float* const u = outputs + of.at(row);
    const float square = sum(team, lanes, of.width, [=](std::int64_t d) { return u[d] * u[d]; });
    const float inverse = square == 0.0f ? 0.0f : 1.0f / math::sqrt(square);
    for (std::int64_t d = team.rank(); d < of.width; d += team.size())
      z[row * of.width + d] = transposed[d * of.rows + row] = u[d] * inverse;
    if (team.rank() == 0) inverse_norm[row] = inverse;
  }
};

/// Writes a row of the similarities, and its statistic: the logarithm of the sum over k != i of
/// exp(s_ik / T), or the sum over the other samples in the same view of exp(-2 |z - z'|^2).
struct CompareEmbeddings : EmbeddingTeam {
  Embeddings of;
  EmbeddingLoss loss;
  const float *z, *transposed;
  float *similarities, *statistic;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* const lanes = lanes_of(team);
    float* const s = similarities + row * of.rows;
    weighted_rows(team, z + row * of.width, of.width, transposed, of.rows, of.rows, s);
    team.sync();
    float result;
    if (loss.kind == EmbeddingLossKind::info_nce) {
      const float scale = 1.0f / loss.temperature;
      const float largest = team_max<Team, float>(
          team, lanes, of.rows, -2.0f, [=](std::int64_t k) { return k == row ? -2.0f : s[k]; });
      const float exps = sum(team, lanes, of.rows, [=](std::int64_t k) {
        return k == row ? 0.0f : math::exp((s[k] - largest) * scale);
      });
      result = math::log(exps) + largest * scale;
    } else {
      const std::int64_t views = of.views, view = row % views;
      result = sum(team, lanes, of.samples(), [=](std::int64_t k) {
        const std::int64_t other = k * views + view;
        return other == row ? 0.0f : math::exp(4.0f * (s[other] - 1.0f));
      });
    }
    if (team.rank() == 0) statistic[row] = result;
  }
};

/// Writes the loss of a row and the gradient of its embedding. Replaces the similarities of the row
/// with the weights w_ik.
template <class T>
struct ContrastEmbeddings : EmbeddingTeam {
  Embeddings of;
  EmbeddingLoss loss;
  const float *z, *inverse_norm, *statistic;
  float *similarities, *gradients;
  float* row_loss;
  T* out;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* const lanes = lanes_of(team);
    float* const s = similarities + row * of.rows;
    const float result = loss.kind == EmbeddingLossKind::info_nce ? contrast(team, row, s)
                                                                  : align(team, lanes, row, s);
    if (team.rank() == 0) row_loss[row] = of.weight * result;
    team.sync();
    float* const g = gradients + row * of.width;
    weighted_rows(team, s, of.rows, z, of.width, of.width, g);
    team.sync();
    const float* const own = z + row * of.width;
    const float along = sum(team, lanes, of.width, [=](std::int64_t d) { return g[d] * own[d]; });
    const float factor = of.weight * inverse_norm[row];
    T* const gradient = out + of.at(row);
    team_for(team, 0, of.width,
             [=](std::int64_t d) { gradient[d] = T(factor * (g[d] - along * own[d])); });
  }

 private:
  WS_INLINE bool is_positive(std::int64_t row, std::int64_t k) const {
    return k != row && k / of.views == row / of.views;
  }
  /// Mean similarity to the other views of the sample.
  WS_INLINE float positive_mean(std::int64_t row, const float* s) const {
    const std::int64_t first = row / of.views * of.views;
    float total = 0;
    for (std::int64_t k = first; k < first + of.views; ++k)
      if (k != row) total += s[k];
    return total / static_cast<float>(of.views - 1);
  }

  template <class Team>
  WS_HD float contrast(Team& team, std::int64_t row, float* s) const {
    const float scale = 1.0f / loss.temperature, log_sum = statistic[row];
    const float result = log_sum - scale * positive_mean(row, s);
    team.sync();  // all members have read the similarities
    const float factor = scale / static_cast<float>(of.rows);
    const float target = 2.0f / static_cast<float>(of.views - 1);
    const Embeddings sizes = of;
    const float* const log_sums = statistic;
    const auto* const self = this;
    team_for(team, 0, sizes.rows, [=](std::int64_t k) {
      const float logit = scale * s[k];
      const float both = math::exp(logit - log_sum) + math::exp(logit - log_sums[k]);
      const float weight = factor * (both - (self->is_positive(row, k) ? target : 0.0f));
      s[k] = k == row ? 0.0f : weight;
    });
    return result;
  }

  template <class Team>
  WS_HD float align(Team& team, float* lanes, std::int64_t row, float* s) const {
    const std::int64_t view = row % of.views, samples = of.samples();
    const float* const sums = statistic;
    const int views = of.views;
    const float all =
        sum(team, lanes, samples, [=](std::int64_t k) { return sums[k * views + view]; });
    const float pairs = static_cast<float>(samples) * static_cast<float>(samples - 1);
    const float result =
        2.0f - 2.0f * positive_mean(row, s) + loss.uniformity * math::log(all / pairs);
    team.sync();  // all members have read the similarities
    const float attract = -4.0f / (static_cast<float>(of.rows) * static_cast<float>(views - 1));
    const float repel = 8.0f * loss.uniformity / (static_cast<float>(views) * all);
    const auto* const self = this;
    team_for(team, 0, of.rows, [=](std::int64_t k) {
      float weight = 0.0f;
      if (k != row && k % views == view)
        weight = repel * math::exp(4.0f * (s[k] - 1.0f));
      else if (self->is_positive(row, k))
        weight = attract;
      s[k] = weight;
    });
    return result;
  }
};

/// Workspace of vicreg. `c`: column of a view, view * width + dimension.
struct CentredColumns {
  float* rows;        ///< [rows, width] embeddings minus the means of their view
  float* columns;     ///< [views * width, samples] the same, transposed
  float* deviation;   ///< [views * width] sqrt(variance + 1e-4)
  float* covariance;  ///< [views * width, width]; 0 on the diagonal
  float* penalty;     ///< [views * width] weighted terms of variance and covariance
};

/// Writes a column of the centred embeddings, and its deviation.
struct CentreEmbeddings : EmbeddingTeam {
  Embeddings of;
  const float* outputs;
  CentredColumns to;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t c) const {
    float* const lanes = lanes_of(team);
    const std::int64_t view = c / of.width, d = c % of.width, samples = of.samples();
    const float* const u = outputs + of.at(view) + d;
    const std::int64_t step = std::int64_t{of.views} * of.stride;
    const float mean = sum(team, lanes, samples, [=](std::int64_t i) { return u[i * step]; }) /
                       static_cast<float>(samples);
    const float square = sum(team, lanes, samples, [=](std::int64_t i) {
      const float centred = u[i * step] - mean;
      return centred * centred;
    });
    for (std::int64_t i = team.rank(); i < samples; i += team.size())
      to.columns[c * samples + i] = to.rows[(i * of.views + view) * of.width + d] =
          u[i * step] - mean;
    if (team.rank() == 0)
      to.deviation[c] = math::sqrt(square / static_cast<float>(samples - 1) + 1e-4f);
  }
};

/// Writes a row of a view's covariance matrix, and the row's part of the loss.
struct CovarianceOfEmbeddings : EmbeddingTeam {
  Embeddings of;
  EmbeddingLoss loss;
  CentredColumns to;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t c) const {
    float* const lanes = lanes_of(team);
    const std::int64_t view = c / of.width, own = c % of.width, samples = of.samples();
    float* const row = to.covariance + c * of.width;
    weighted_rows(team, to.columns + c * samples, samples, to.rows + view * of.width,
                  std::int64_t{of.views} * of.width, of.width, row);
    team.sync();
    const float inverse = 1.0f / static_cast<float>(samples - 1);
    team_for(team, 0, of.width,
             [=](std::int64_t d) { row[d] = d == own ? 0.0f : row[d] * inverse; });
    team.sync();
    const float squares =
        sum(team, lanes, of.width, [=](std::int64_t d) { return row[d] * row[d]; });
    if (team.rank() != 0) return;
    const float per_column = 1.0f / static_cast<float>(of.views * of.width);
    const float below = 1.0f - to.deviation[c];
    to.penalty[c] = per_column * (loss.variance * (below > 0.0f ? below : 0.0f) +
                                  2.0f * loss.covariance * squares);
  }
};

/// Writes the loss of a row and the gradient of its embedding.
template <class T>
struct RegulariseEmbeddings : EmbeddingTeam {
  Embeddings of;
  EmbeddingLoss loss;
  const float* outputs;
  CentredColumns from;
  float* gradients;
  float* row_loss;
  T* out;

  template <class Team>
  WS_HD void operator()(Team& team, std::int64_t row) const {
    float* const lanes = lanes_of(team);
    const int width = of.width, views = of.views;
    const std::int64_t view = row % views;
    float* const g = gradients + row * width;
    const float* const centred = from.rows + row * width;
    weighted_rows(team, centred, width, from.covariance + view * width * width, width, width, g);
    team.sync();
    const float* const penalty = from.penalty;
    const float penalties =
        sum(team, lanes, std::int64_t{views} * width, [=](std::int64_t c) { return penalty[c]; });
    const auto* const self = this;
    // Each pair of views occurs in the sums of two rows.
    const float distances = sum(team, lanes, width, [=](std::int64_t d) {
      return self->pull(row, d, [](float difference) { return difference * difference; });
    });
    const float samples = static_cast<float>(of.samples()), columns = static_cast<float>(width);
    const float others = static_cast<float>(views - 1);
    if (team.rank() == 0)
      row_loss[row] = of.weight * (loss.invariance * distances / (others * columns) + penalties);
    const float pull_by =
        4.0f * loss.invariance / (samples * columns * static_cast<float>(views) * others);
    const float spread = (samples - 1.0f) * static_cast<float>(views) * columns;
    const float* const deviation = from.deviation + view * width;
    const float variance = loss.variance, covariance = loss.covariance, weight = of.weight;
    T* const gradient = out + of.at(row);
    team_for(team, 0, width, [=](std::int64_t d) {
      const float pulled = self->pull(row, d, [](float difference) { return difference; });
      const float widen = deviation[d] < 1.0f ? variance * centred[d] / deviation[d] : 0.0f;
      gradient[d] = T(weight * (pull_by * pulled + (8.0f * covariance * g[d] - widen) / spread));
    });
  }

 private:
  /// The sum over the other views of the sample of f(difference of dimension d).
  template <class F>
  WS_INLINE float pull(std::int64_t row, std::int64_t d, F f) const {
    const std::int64_t first = row / of.views * of.views;
    const float own = outputs[of.at(row) + d];
    float total = 0;
    for (std::int64_t k = first; k < first + of.views; ++k) total += f(own - outputs[of.at(k) + d]);
    return total;
  }
};

}  // namespace wellspring::ops
