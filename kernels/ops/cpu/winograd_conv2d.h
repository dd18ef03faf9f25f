// Plans Conv2d by Winograd's algorithm if the saved multiplications outweigh the transforms. Called
// only by kernels/ops/conv2d.cpp and kernels/ops/cpu/conv2d.cpp; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Returns null unless the convolution is 3x3 with padding 1 and either stride 1 or stride 2 with
/// even sides, the channels fill panels, there are enough tiles, and AVX-512 or AVX2 is in use.
std::unique_ptr<Conv2d> plan_winograd_conv2d(const Conv2dSpec& spec, const Stream& stream);
/// See Conv2d::better_shared.
bool winograd_better_shared(const Conv2dSpec& spec, std::int64_t shards);

}  // namespace wellspring::ops::cpu
