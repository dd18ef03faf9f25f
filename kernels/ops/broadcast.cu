#include "kernels/ops/broadcast.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::BroadcastToRows<float, wellspring::ops::Broadcast::add>);
WS_CUDA_TEAM(wellspring::ops::BroadcastToRows<float, wellspring::ops::Broadcast::scale>);
WS_CUDA_TEAM(wellspring::ops::BroadcastToRows<wellspring::bf16, wellspring::ops::Broadcast::add>);
WS_CUDA_TEAM(wellspring::ops::BroadcastToRows<wellspring::bf16, wellspring::ops::Broadcast::scale>);
WS_CUDA_TEAM(wellspring::ops::ColumnProducts<float>);
WS_CUDA_TEAM(wellspring::ops::ColumnProducts<wellspring::bf16>);
