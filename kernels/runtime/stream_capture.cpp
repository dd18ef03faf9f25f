#include "kernels/runtime/stream_capture.h"

#include "kernels/runtime/cuda_check.h"

namespace wellspring {

#if WELLSPRING_CUDA
namespace {

/// For its lifetime, the calling thread may make calls that a capture otherwise forbids.
class RelaxedCapture {
 public:
  RelaxedCapture() { WS_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { WS_CUDA_REPORT(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace
#endif

bool is_captured(const Stream& stream) {
#if WELLSPRING_CUDA
  if (stream.device().is_cuda()) {
    const cuda::DeviceScope scope(stream.device().index);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    WS_CUDA_CHECK(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream.native()), &status));
    return status != cudaStreamCaptureStatusNone;
  }
#endif
  return stream.recording();
}

void synchronize_in_capture(const Event& event) {
#if WELLSPRING_CUDA
  const RelaxedCapture relaxed;
#endif
  event.synchronize();
}

}  // namespace wellspring
