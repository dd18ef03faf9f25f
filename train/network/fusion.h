// Peepholes over a recorded list: operations that run as one. Models never see them. Host only.
#pragma once

#include "train/network/tape.h"

#include <vector>

namespace wellspring {

/// The same computation in fewer nodes, where nobody else reads what lies between:
///
///     conv, 2x2 max_pool, relu      one convolution, pooling before the ReLU (they commute)
///     conv, relu   dense, relu      bias and ReLU in the library's epilogue
///     norm, add, relu               one normalisation; the other operand of add is its residual
///
/// Values keep their numbers; those between are no longer written.
std::vector<Node> fuse(std::vector<Node> nodes);

}  // namespace wellspring
