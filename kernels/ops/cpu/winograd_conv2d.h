// Plans Conv2d by Winograd's algorithm where that takes less than half of the multiplications.
// Called by conv2d.cpp here and in kernels/ops only; host only.
#pragma once

#include "kernels/ops/ops.h"

#include <memory>

namespace wellspring::ops::cpu {

/// Null where the direct way is as good or the only one: other than 3x3 with stride 1 and padding
/// 1, channels that do not fill panels, images or batches of few tiles, no AVX-512.
std::unique_ptr<Conv2d> plan_winograd_conv2d(const Conv2dSpec& spec, const Stream& stream);
/// Conv2d::better_shared
bool winograd_better_shared(const Conv2dSpec& spec, std::int64_t shards);

}  // namespace wellspring::ops::cpu
