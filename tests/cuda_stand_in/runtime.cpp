// The runtime API, implemented on top of streams.h and memory.h. Semantics follow the CUDA Runtime
// API's reference ("API synchronization behavior", "Stream Management", "Event Management", "Graph
// Management") and the CUDA C++ Programming Guide ("CUDA Graphs", "Stream Capture"); where the
// documentation leaves a choice, the stand-in takes the least forgiving one.
#include "tests/cuda_stand_in/runtime.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace wellspring::stand_in;

struct CUevent_st {
  bool timing = true;
  std::shared_ptr<Moment> last;  ///< the latest record; null before the first
};

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStream_t capturing_here = nullptr;

/// "Any unsafe call" invalidates a capture by this thread (Programming Guide, "Prohibited and
/// Unhandled Operations"; cudaThreadExchangeStreamCaptureMode). Returns true if a capture was
/// active.
bool unsafe_in_capture(const char* call) {
  if (capturing_here == nullptr) return false;
  capturing_here->capture_is_invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported, call, "not allowed while this thread captures");
  return true;
}

/// Adds the work to the graph being captured, or else to the queue.
void add(cudaStream_t stream, CUgraphNode_st node) {
  if (stream->capture) {
    stream->capture->nodes.push_back(std::make_shared<CUgraphNode_st>(std::move(node)));
  } else {
    runtime().streams.enqueue(stream, {nullptr, std::move(node.work)});
  }
}

/// True if both ends of a copy are entirely in the memory that its kind names.
bool directed(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const DeviceMemory& device = runtime().device;
  const auto is_host = [&](const void* p) { return !device.holds(p, 1); };
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return is_host(from) && device.holds(to, bytes);
    case cudaMemcpyDeviceToHost:
      return device.holds(from, bytes) && is_host(to);
    case cudaMemcpyDeviceToDevice:
      return device.holds(from, bytes) && device.holds(to, bytes);
    default:
      return false;
  }
}

constexpr const char* kMisdirected =
    "a pointer is not in the memory that the kind of copy names, or the copy leaves its block";

}  // namespace

#define REFUSED_IN_CAPTURE \
  if (unsafe_in_capture(__func__)) return cudaErrorStreamCaptureUnsupported

namespace wellspring::stand_in {

Runtime& runtime() {
  static Runtime& instance = *new Runtime([] {
    const char* const seed = std::getenv("WELLSPRING_STAND_IN_SEED");
    return seed == nullptr ? 0u : static_cast<unsigned>(std::strtoul(seed, nullptr, 10));
  }());
  return instance;
}

cudaError_t refuse(cudaError_t error, const char* call, const char* why) {
  std::fprintf(stderr, "stand-in for CUDA: %s: %s\n", call, why);
  return last_error = error;
}

void launch_kernel(void* stream, std::string name, const LaunchShape& shape,
                   std::function<void()> work) {
  LOCKED;
  add(static_cast<cudaStream_t>(stream),
      {cudaGraphNodeTypeKernel, std::move(name), std::move(work), nullptr, nullptr, shape});
}

void launch_kernel(void* stream, std::string name, std::function<void()> work) {
  launch_kernel(stream, std::move(name), {}, std::move(work));
}

cudaError_t take_local_memory(std::size_t stack) {
  LOCKED;
  Runtime& device = runtime();
  const std::size_t bytes = stack == 0 ? 0 : (stack + 512) * 2048 * kMultiprocessors;
  if (bytes <= device.local) return cudaSuccess;
  if (device.device.used() + bytes > device.memory)
    return refuse(cudaErrorMemoryAllocation, __func__, "no memory is left for the kernel's stack");
  device.local = bytes;
  return cudaSuccess;
}

void set_device_memory(std::size_t bytes) {
  LOCKED;
  runtime().memory = bytes;
  runtime().local = 0;
}

void measure_footprints(std::vector<Footprint>* footprints) {
  LOCKED;
  runtime().footprints = footprints;
}

}  // namespace wellspring::stand_in

// Errors and devices

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

const char* cudaGetErrorName(cudaError_t error) {
#define NAMED(name) \
  if (error == name) return #name
  NAMED(cudaErrorInvalidValue);
  NAMED(cudaErrorMemoryAllocation);
  NAMED(cudaErrorInvalidDevice);
  NAMED(cudaErrorInvalidResourceHandle);
  NAMED(cudaErrorNotReady);
  NAMED(cudaErrorStreamCaptureUnsupported);
  NAMED(cudaErrorStreamCaptureInvalidated);
  NAMED(cudaErrorStreamCaptureIsolation);
#undef NAMED
  return "cudaError";
}

const char* cudaGetErrorString(cudaError_t) {
  return "refused by the stand-in for CUDA, see stderr";
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device != 0) return refuse(cudaErrorInvalidDevice, __func__, "there is one device");
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "stand-in for a GPU");
  properties->multiProcessorCount = kMultiprocessors;
  return cudaSuccess;
}

// Shared memory as on an H200, which is more than on the smallest GPU and on the CPU; a clock of 1
// GHz.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrClockRate ? 1000000 : 227 * 1024;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  LOCKED;
  REFUSED_IN_CAPTURE;
  runtime().streams.finish_all();
  return cudaSuccess;
}

// Memory

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  if (runtime().device.used() + runtime().local + bytes > runtime().memory)
    return refuse(cudaErrorMemoryAllocation, __func__, "no memory");
  *block = runtime().device.allocate(bytes);
  if (*block == nullptr) return refuse(cudaErrorMemoryAllocation, __func__, "no memory");
  return cudaSuccess;
}

// These wait for the device, as cudaFree and cudaFreeHost do: queued work may still use the memory.
cudaError_t cudaFree(void* block) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  runtime().streams.finish_all();
  if (runtime().device.release(block)) return cudaSuccess;
  return refuse(cudaErrorInvalidValue, __func__, "not a block of the device");
}

cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  *block = runtime().pinned.allocate(bytes);
  if (*block == nullptr) return refuse(cudaErrorMemoryAllocation, __func__, "no memory");
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* block) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  runtime().streams.finish_all();
  if (runtime().pinned.release(block)) return cudaSuccess;
  return refuse(cudaErrorInvalidValue, __func__, "not a page-locked block");
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  LOCKED;
  *total_bytes = runtime().memory;
  *free_bytes = runtime().memory - runtime().device.used() - runtime().local;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  LOCKED;
  attributes->type = runtime().device.holds(pointer, 1)   ? cudaMemoryTypeDevice
                     : runtime().pinned.holds(pointer, 1) ? cudaMemoryTypeHost
                                                          : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

// Fills and copies

// Asynchronous with respect to the host, and on the default stream ("Memset: ... the synchronous
// memset functions are asynchronous with respect to the host except when the target is pinned host
// memory").
cudaError_t cudaMemset(void* block, int value, std::size_t bytes) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  return cudaMemsetAsync(block, value, bytes, runtime().default_stream);
}

cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream) {
  LOCKED;
  if (!runtime().device.holds(block, bytes)) {
    return refuse(cudaErrorInvalidValue, __func__, "not inside a block of the device");
  }
  add(stream, {cudaGraphNodeTypeMemset, "memset",
               [block, value, bytes] { std::memset(block, value, bytes); }});
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, runtime().default_stream);
  if (status != cudaSuccess) return status;
  runtime().streams.finish(runtime().default_stream);
  return cudaSuccess;
}

// "For transfers from pageable host memory to device memory, host memory is copied to a staging
// buffer immediately [...]. For transfers from device memory to pageable host memory, the function
// will return only once the copy has completed." Page-locked memory is read and written when the
// copy runs.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  LOCKED;
  if (!directed(to, from, bytes, kind)) {
    return refuse(cudaErrorInvalidValue, __func__, kMisdirected);
  }
  CUgraphNode_st copy{cudaGraphNodeTypeMemcpy, "memcpy",
                      [to, from, bytes] { std::memcpy(to, from, bytes); }, to, from};
  if (stream->capture) {
    add(stream, std::move(copy));
    return cudaSuccess;
  }
  if (kind == cudaMemcpyHostToDevice && !runtime().pinned.holds(from, bytes)) {
    const auto* const begin = static_cast<const std::byte*>(from);
    copy.work = [to, staged = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    };
  }
  add(stream, std::move(copy));
  if (kind == cudaMemcpyDeviceToHost && !runtime().pinned.holds(to, bytes)) {
    runtime().streams.finish(stream);
  }
  return cudaSuccess;
}

// A kernel of another library (tests/cuda_stand_in/nccl.cpp).
extern "C" void stand_in_enqueue_kernel(void* stream, void (*work)(void*), void* data) {
  LOCKED;
  add(static_cast<cudaStream_t>(stream),
      {cudaGraphNodeTypeKernel, "library", [work, data] { work(data); }});
}

// A device works while its host waits for something else; the stand-in needs a thread that calls this.
extern "C" void stand_in_progress() {
  LOCKED;
  runtime().streams.finish_all();
}

// Streams

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  LOCKED;
  if (flags != cudaStreamNonBlocking) {
    return refuse(cudaErrorInvalidValue, __func__, "only non-blocking streams are supported");
  }
  *stream = runtime().streams.create();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  LOCKED;
  runtime().streams.destroy(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  if (stream->capture) {  // captured by another thread
    stream->capture_is_invalid = true;
    return refuse(cudaErrorStreamCaptureUnsupported, __func__, "the stream is being captured");
  }
  runtime().streams.finish(stream);
  return cudaSuccess;
}

// "The effect is that of the event's latest record at the time of the call; without one, none."
// Inside a capture, only events of that capture may be waited for, and no events may be recorded.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  LOCKED;
  if (stream->capture) {
    stream->capture_is_invalid = true;
    return refuse(cudaErrorStreamCaptureIsolation, __func__, "an event from outside the capture");
  }
  if (event->last) runtime().streams.enqueue(stream, {event->last, nullptr});
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  LOCKED;
  *status = !stream->capture             ? cudaStreamCaptureStatusNone
            : stream->capture_is_invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  LOCKED;
  if (stream->capture) return refuse(cudaErrorInvalidValue, __func__, "captures already");
  if (mode != cudaStreamCaptureModeThreadLocal) {
    return refuse(cudaErrorInvalidValue, __func__, "only thread-local captures are supported");
  }
  stream->capture = std::make_unique<CUgraph_st>();
  stream->capture_is_invalid = false;
  capturing_here = stream;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  LOCKED;
  *graph = nullptr;
  if (capturing_here != stream) {
    return refuse(cudaErrorInvalidValue, __func__, "this thread does not capture that stream");
  }
  capturing_here = nullptr;
  const std::unique_ptr<CUgraph_st> captured = std::move(stream->capture);
  if (stream->capture_is_invalid) {
    return refuse(cudaErrorStreamCaptureInvalidated, __func__,
                  "an unsafe call interrupted the capture");
  }
  *graph = new CUgraph_st(*captured);
  return cudaSuccess;
}

// Events

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{flags != cudaEventDisableTiming, nullptr};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  LOCKED;
  delete event;  // waiting streams hold the record itself
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  LOCKED;
  if (stream->capture) {
    stream->capture_is_invalid = true;
    return refuse(cudaErrorStreamCaptureUnsupported, __func__, "not supported inside a capture");
  }
  event->last = runtime().streams.record(stream);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  if (event->last) runtime().streams.reach(*event->last);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  runtime().streams.let_time_pass();
  if (!event->last || event->last->reached) return cudaSuccess;
  return last_error = cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  LOCKED;
  if (!begin->timing || !end->timing || !begin->last || !end->last) {
    return refuse(cudaErrorInvalidResourceHandle, __func__, "an event without time or record");
  }
  if (!begin->last->reached || !end->last->reached) {
    return refuse(cudaErrorNotReady, __func__, "an event that is not complete yet");
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->last->when - begin->last->when).count();
  return cudaSuccess;
}
