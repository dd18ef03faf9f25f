// The runtime API, implemented on top of streams.h and memory.h. Semantics follow the CUDA Runtime
// API's reference ("API synchronization behavior", "Stream Management", "Event Management", "Graph
// Management") and the CUDA C++ Programming Guide ("CUDA Graphs", "Stream Capture"); where the
// documentation leaves a choice, the stand-in is as strict as possible.
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
  std::shared_ptr<Moment> last;  ///< the latest record; null at first, and after a captured one
  CapturePoint captured = {};    ///< the latest record, if it was captured
};

namespace {

constexpr int kVersion = 13000;  ///< CUDA 13.0
thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStream_t capturing_here = nullptr;

/// "Any unsafe call" invalidates a capture by this thread (Programming Guide, "Prohibited and
/// Unhandled Operations"; cudaThreadExchangeStreamCaptureMode). Returns true if a capture was
/// active.
bool unsafe_in_capture(const char* call) {
  if (capturing_here == nullptr || capture_mode() == cudaStreamCaptureModeRelaxed) return false;
  capturing_here->here.capture->invalid = true;
  refuse(cudaErrorStreamCaptureUnsupported, call, "not allowed while this thread captures");
  return true;
}

/// Adds the work to the graph being captured, or else to the queue.
void add(cudaStream_t stream, CUgraphNode_st node) {
  if (CapturePoint& here = stream->here; here.capture) {
    auto& nodes = here.capture->graph.nodes;
    node.after = std::exchange(here.after, {nodes.size()});
    nodes.push_back(std::make_shared<CUgraphNode_st>(std::move(node)));
  } else {
    runtime().streams.enqueue(stream, {nullptr, std::move(node.work)});
  }
}

/// Makes later work of a stream depend on a position in a capture, which the stream joins.
cudaError_t wait_in_capture(cudaStream_t stream, const CapturePoint& point, const char* call) {
  CapturePoint& here = stream->here;
  if (point.capture->ended || (here.capture && here.capture != point.capture)) {
    if (here.capture) here.capture->invalid = true;
    return refuse(cudaErrorStreamCaptureIsolation, call, "an event of another capture");
  }
  if (!here.capture) {
    here.capture = point.capture;
    point.capture->joined.push_back(stream);
  }
  for (const std::size_t node : point.after)
    if (std::ranges::find(here.after, node) == here.after.end()) here.after.push_back(node);
  return cudaSuccess;
}

/// True if the end of the capture's origin comes after everything that was captured.
bool all_joined(const Capture& capture) {
  const auto& nodes = capture.graph.nodes;
  std::vector<std::size_t> ends = capture.origin->here.after;
  std::vector<bool> reached(nodes.size(), false);
  while (!ends.empty()) {
    const std::size_t node = ends.back();
    ends.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    ends.insert(ends.end(), nodes[node]->after.begin(), nodes[node]->after.end());
  }
  return std::ranges::all_of(reached, [](bool is) { return is; });
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
#define REFUSED_IF_CAPTURED(event) \
  if (event->captured.capture)     \
  return refuse(cudaErrorCapturedEvent, __func__, "the event was recorded in a capture")

namespace wellspring::stand_in {

Runtime& runtime() {
  static Runtime& instance = *new Runtime(seed());
  return instance;
}

unsigned seed() {
  static const char* const text = std::getenv("WELLSPRING_STAND_IN_SEED");
  return text == nullptr ? 0u : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
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
  NAMED(cudaErrorStreamCaptureUnjoined);
  NAMED(cudaErrorStreamCaptureIsolation);
  NAMED(cudaErrorCapturedEvent);
#undef NAMED
  return "cudaError";
}

const char* cudaGetErrorString(cudaError_t) {
  return "refused by the stand-in for CUDA, see stderr";
}

// WELLSPRING_STAND_IN_DRIVER: another version, 1000 * major + 10 * minor (12020: 12.2); 0: no driver.
cudaError_t cudaDriverGetVersion(int* version) {
  const char* const text = std::getenv("WELLSPRING_STAND_IN_DRIVER");
  *version = text == nullptr ? kVersion : std::atoi(text);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  if (driver < kVersion) return last_error = cudaErrorInsufficientDriver;
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

// These wait for the device, like cudaFree and cudaFreeHost: queued work may use the memory.
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
  if (stream->here.capture) {
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
  if (stream->here.capture) std::erase(stream->here.capture->joined, stream);
  runtime().streams.destroy(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  if (stream->here.capture) {  // captured by another thread
    stream->here.capture->invalid = true;
    return refuse(cudaErrorStreamCaptureUnsupported, __func__, "the stream is being captured");
  }
  runtime().streams.finish(stream);
  return cudaSuccess;
}

// "The effect is that of the event's latest record at the time of the call; without one, none."
// Inside a capture, streams may wait only for its events. A stream that waits for an event of a
// capture becomes part of it (Programming Guide, "Cross-stream Dependencies and Events").
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  LOCKED;
  if (event->captured.capture) return wait_in_capture(stream, event->captured, __func__);
  if (stream->here.capture) {
    stream->here.capture->invalid = true;
    return refuse(cudaErrorStreamCaptureIsolation, __func__, "an event from outside the capture");
  }
  if (event->last) runtime().streams.enqueue(stream, {event->last, nullptr});
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  LOCKED;
  const std::shared_ptr<Capture>& capture = stream->here.capture;
  *status = !capture           ? cudaStreamCaptureStatusNone
            : capture->invalid ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  LOCKED;
  if (stream->here.capture) return refuse(cudaErrorInvalidValue, __func__, "captures already");
  if (mode != cudaStreamCaptureModeThreadLocal) {
    return refuse(cudaErrorInvalidValue, __func__, "only thread-local captures are supported");
  }
  stream->here = {std::make_shared<Capture>(Capture{stream}), {}};
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
  const std::shared_ptr<Capture> captured = stream->here.capture;
  const bool joined = all_joined(*captured);
  captured->ended = true;
  for (const cudaStream_t other : captured->joined) other->here = {};
  stream->here = {};
  if (captured->invalid) {
    return refuse(cudaErrorStreamCaptureInvalidated, __func__,
                  "an unsafe call interrupted the capture");
  }
  if (!joined) {
    return refuse(cudaErrorStreamCaptureUnjoined, __func__,
                  "the stream does not wait for all work of the capture");
  }
  *graph = new CUgraph_st(captured->graph);
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
  event->captured = stream->here;
  event->last = stream->here.capture ? nullptr : runtime().streams.record(stream);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  REFUSED_IF_CAPTURED(event);
  if (event->last) runtime().streams.reach(*event->last);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  LOCKED;
  REFUSED_IN_CAPTURE;
  REFUSED_IF_CAPTURED(event);
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
