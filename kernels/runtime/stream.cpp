#include "kernels/runtime/stream.h"

#include "kernels/runtime/cuda_check.h"
#include "kernels/runtime/threads.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace wellspring {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

NodeKind node_kind(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::on_device:
      return NodeKind::copy_on_device;
    case CopyDirection::host_to_device:
      return NodeKind::host_to_device;
    case CopyDirection::device_to_host:
      return NodeKind::device_to_host;
  }
  throw std::logic_error("unknown copy direction");
}

#if WELLSPRING_CUDA

cudaStream_t as_stream(void* native) {
  return static_cast<cudaStream_t>(native);
}
cudaEvent_t as_event(void* native) {
  return static_cast<cudaEvent_t>(native);
}

cudaMemcpyKind memcpy_kind(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::on_device:
      return cudaMemcpyDeviceToDevice;
    case CopyDirection::host_to_device:
      return cudaMemcpyHostToDevice;
    case CopyDirection::device_to_host:
      return cudaMemcpyDeviceToHost;
  }
  throw std::logic_error("unknown copy direction");
}

#endif

}  // namespace

// Uses the number of threads that OpenMP will provide. oneDNN divides its work among the configured
// number of threads and would wait forever for missing ones.
Stream::Stream(Device device, int threads, Native kind)
    : device_(device),
      active_(std::make_shared<ActiveThreads>(compute_threads(threads).count)),
      kind_(kind) {
  if (device_.is_cuda())
    static_cast<void>(Device::parse(device_.to_string()));  // rejects an absent GPU
}

Stream::Stream(Device device, int threads) : Stream(device, threads, Native::own) {
  if (device_.is_cpu()) return;
#if WELLSPRING_CUDA
  const cuda::DeviceScope scope(device_.index);
  cudaStream_t stream = nullptr;
  WS_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  native_ = stream;
#endif
}

std::unique_ptr<Stream> Stream::borrow(Device device, void* native, int threads) {
  if (device.is_cpu() && native != nullptr)
    throw std::logic_error("a stream on the CPU has no native stream to borrow");
  std::unique_ptr<Stream> stream(new Stream(device, threads, Native::borrowed));
  stream->native_ = native;
  return stream;
}

Stream::~Stream() {
  libraries_.clear();  // handles refer to the stream, so they are destroyed first
#if WELLSPRING_CUDA
  if (kind_ == Native::own && native_ != nullptr)
    WS_CUDA_REPORT(cudaStreamDestroy(as_stream(native_)));
#endif
}

void Stream::run(NodeKind kind, std::string_view name, std::function<void()> work) {
  if (!device_.is_cpu()) {
    throw std::logic_error(
        fmt::format("host work '{}' was enqueued on {}", name, device_.to_string()));
  }
  if (recorder_ != nullptr) {
    recorder_->add(kind, name, std::move(work));
  } else {
    work();
  }
}

void Stream::copy(void* destination, const void* source, std::size_t bytes, CopyDirection direction,
                  std::string_view name) {
  if (bytes == 0) return;
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(
        cudaMemcpyAsync(destination, source, bytes, memcpy_kind(direction), as_stream(native_)));
    return;
  }
#endif
  run(node_kind(direction), name,
      [destination, source, bytes] { std::memcpy(destination, source, bytes); });
}

void Stream::fill_zero(void* destination, std::size_t bytes, std::string_view name) {
  if (bytes == 0) return;
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(cudaMemsetAsync(destination, 0, bytes, as_stream(native_)));
    return;
  }
#endif
  run(NodeKind::memset, name, [destination, bytes] { std::memset(destination, 0, bytes); });
}

void Stream::synchronize() {
  if (recording()) {  // like CUDA, which does not synchronise a capturing stream
    throw std::logic_error("a stream cannot be synchronised while it records a graph");
  }
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(cudaStreamSynchronize(as_stream(native_)));
  }
#endif
}

Event::Event(Device device, bool timing) : device_(device) {
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    cudaEvent_t event = nullptr;
    WS_CUDA_CHECK(
        cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming));
    native_ = event;
  }
#endif
  static_cast<void>(timing);
}

Event::~Event() {
#if WELLSPRING_CUDA
  if (native_ != nullptr) WS_CUDA_REPORT(cudaEventDestroy(as_event(native_)));
#endif
}

void Event::record(Stream& stream) {
  if (stream.device() != device_)
    throw std::logic_error("the event and the stream are on different devices");
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(cudaEventRecord(as_event(native_), as_stream(stream.native())));
    return;
  }
#endif
  host_seconds_ = now_seconds();
}

void Event::wait([[maybe_unused]] Stream& stream) const {
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(stream.device().index);
    WS_CUDA_CHECK(cudaStreamWaitEvent(as_stream(stream.native()), as_event(native_), 0));
  }
#endif
}

void Event::synchronize() const {
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    WS_CUDA_CHECK(cudaEventSynchronize(as_event(native_)));
  }
#endif
}

bool Event::done() const {
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    const cudaError_t status = cudaEventQuery(as_event(native_));
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    WS_CUDA_CHECK(status);
  }
#endif
  return true;
}

double Event::milliseconds_since(const Event& begin) const {
#if WELLSPRING_CUDA
  if (device_.is_cuda()) {
    const cuda::DeviceScope scope(device_.index);
    float milliseconds = 0;
    WS_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, as_event(begin.native_), as_event(native_)));
    return milliseconds;
  }
#endif
  return (host_seconds_ - begin.host_seconds_) * 1e3;
}

}  // namespace wellspring
