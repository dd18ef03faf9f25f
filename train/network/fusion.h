// Fusion of recorded operations. It is invisible to models: initialisation and parameter names are
// unchanged. Called by train/network/network.cpp; host only.
#pragma once

#include "train/network/tape.h"

#include <cstdint>
#include <vector>

namespace wellspring {

/// Operation into which a 2x2 max pooling between a convolution and a group normalisation is fused.
/// On a CPU, the backward pass of a convolution with pooling skips the gradients that are 0; on a
/// GPU, pooling in a normalisation saves a launch.
enum class PoolWith : std::uint8_t { convolution, norm };

/// Returns the same computation with fewer nodes. Fuses only where no other node reads an
/// intermediate value:
///
///     conv, 2x2 max_pool, relu      one convolution, pooling before the ReLU (they commute)
///     conv, relu   dense, relu      bias and ReLU in the library's epilogue
///     norm, add, relu               one normalisation; the other operand of add is its residual
///     group_norm, global_mean       one normalisation
///     global_mean of one pixel      nothing
///     2x2 max_pool, group_norm      one normalisation, if pooling goes with normalisations; a ReLU
///                                   of the preceding convolution is fused too
///
/// Values keep their numbers; intermediate values are no longer written.
std::vector<Node> fuse(std::vector<Node> nodes, PoolWith pool = PoolWith::convolution);

}  // namespace wellspring
