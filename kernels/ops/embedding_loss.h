// Self-supervised losses of embeddings: all rows of a batch are compared with each other. Called by
// train/heads; host only. The functors are in kernels/ops/embedding_teams.h.
//
// A batch has S samples in V views: row r is view r % V of sample r / V. With the embedding u of a
// row and z = u / |u|, the losses of a batch are
//
//   info_nce              mean over rows i and the other views p of i's sample of
//                         -log(exp(z_i z_p / T) / sum over k != i of exp(z_i z_k / T))
//                         T. Chen et al., "SimCLR", ICML 2020, eq. 1 (NT-Xent), for two views; P.
//                         Khosla et al., NeurIPS 2020, eq. 2, for more.
//   alignment_uniformity  mean over pairs of views of a sample of |z - z'|^2, plus `uniformity` times
//                         the mean over views of log mean over pairs of samples exp(-2 |z - z'|^2)
//                         T. Wang, P. Isola, ICML 2020, eq. 7 and 10, with alpha = 2 and t = 2.
//   vicreg                `invariance` times the mean over pairs of views, samples and dimensions of
//                         (u - u')^2; plus `variance` times the mean over views and dimensions of
//                         max(0, 1 - sqrt(variance + 1e-4)); plus `covariance` times twice the mean
//                         over views (for two views: the sum) of the squared covariances, summed
//                         over pairs of dimensions and divided by the number of dimensions
//                         A. Bardes, J. Ponce, Y. LeCun, "VICReg", ICLR 2022, algorithm 1. Variances
//                         and covariances have the divisor S - 1.
#pragma once

#include "kernels/ops/training.h"

#include <cstddef>
#include <cstdint>

namespace wellspring::ops {

enum class EmbeddingLossKind : std::uint8_t { info_nce, alignment_uniformity, vicreg };

struct EmbeddingLoss {
  EmbeddingLossKind kind = EmbeddingLossKind::info_nce;
  std::int32_t views = 2;
  float temperature = 0.5f;                              ///< info_nce
  float uniformity = 1;                                  ///< alignment_uniformity
  float invariance = 25, variance = 25, covariance = 1;  ///< vicreg
};

/// Workspace of embedding_loss() in floats, for `rows` embeddings of `width` values.
std::size_t embedding_workspace(const EmbeddingLoss& loss, std::int64_t rows, std::int32_t width);

/// The loss of the embeddings in the head's outputs. All rows train the head, with the weight
/// head.weight[0]; sample weights are ignored. A row's loss is its part of the batch's loss, so
/// that the mean over the rows is the batch's loss. There are no scores.
void embedding_loss(Stream& stream, const HeadSlice& head, const float* outputs,
                    const EmbeddingLoss& loss, float* workspace, const LossResult& out);

}  // namespace wellspring::ops
