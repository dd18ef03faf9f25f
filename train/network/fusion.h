// Fusion of recorded operations. It is invisible to models: initialisation and parameter names stay
// the same. Called by train/network/network.cpp; host only.
#pragma once

#include "train/network/tape.h"

#include <vector>

namespace wellspring {

/// Returns the same computation with fewer nodes. Fuses only where no other node reads an
/// intermediate value:
///
///     conv, 2x2 max_pool, relu      one convolution, pooling before the ReLU (they commute)
///     conv, relu   dense, relu      bias and ReLU in the library's epilogue
///     norm, add, relu               one normalisation; the other operand of add is its residual
///
/// Values keep their numbers; intermediate values are no longer written.
std::vector<Node> fuse(std::vector<Node> nodes);

}  // namespace wellspring
