// Plans Conv2d by Winograd's algorithm where that takes so few multiplications that transforms pay.
// Called by kernels/ops/conv2d.cpp and kernels/ops/cpu/conv2d.cpp only; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Null where the direct way is as good or the only one: other than 3x3 with padding 1 and stride
/// 1, or 2 and even sides; channels that do not fill panels, images or batches of few tiles, no
/// AVX-512.
std::unique_ptr<Conv2d> plan_winograd_conv2d(const Conv2dSpec& spec, const Stream& stream);
/// Conv2d::better_shared
bool winograd_better_shared(const Conv2dSpec& spec, std::int64_t shards);

}  // namespace wellspring::ops::cpu
