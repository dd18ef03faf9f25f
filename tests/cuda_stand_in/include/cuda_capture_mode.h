// A call of the CUDA runtime API that only kernels/runtime/stream_capture.cpp uses; CUDA declares it in
// cuda_runtime_api.h. Host only.
#pragma once

#include <cuda_runtime_api.h>

/// Sets the calling thread's mode and returns the previous one. In the relaxed mode, calls that are
/// otherwise unsafe do not invalidate a capture.
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
