// A stand-in for the part of the CUDA runtime API that Wellspring calls, with the same names and
// rules but implemented on the host, for tests on machines without a GPU or a toolkit. It replaces
// the toolkit's header in builds with WELLSPRING_CUDA_STAND_IN; included by kernels/; host only.
//
// Streams are queues that run as late as the program's waits allow (streams.h); the host cannot
// touch device memory (memory.h); captures refuse what CUDA refuses (runtime.cpp); kernels are
// loops over the functors (kernels/runtime/launch.cuh); oneDNN replaces cuDNN and cuBLASLt
// (operations.cpp). So the stand-in reveals errors in host code: a missing wait, a copy in the
// wrong direction, a step that depends on the host. It reveals nothing about device code as
// compiled by nvcc, NVIDIA's libraries, truly concurrent work, drivers, or speed. Nor does it
// detect kernels that read host memory, because here both share an address space.
#pragma once

#include "kernels/runtime/kernel_handle.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// Values are from the CUDA Runtime API, "Data types used by CUDA Runtime".
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorCudartUnloading = 4,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorAssert = 710,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
};
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0;
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocDefault = 0;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
struct cudaGraphEdgeData {
  unsigned char from_port, to_port, type;
};

enum cudaDeviceAttr {
  cudaDevAttrClockRate = 13,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount;
};
struct cudaPointerAttributes {
  cudaMemoryType type;
};
struct cudaPitchedPtr {
  void* ptr;
};
struct cudaMemcpy3DParms {
  void* srcArray;
  cudaPitchedPtr srcPtr;
  void* dstArray;
  cudaPitchedPtr dstPtr;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct cudaKernelNodeParams {
  void* func;
  dim3 gridDim, blockDim;
  unsigned sharedMemBytes;
};
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, localSizeBytes;
};

cudaError_t cudaGetLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaMalloc(void** block, std::size_t bytes);
cudaError_t cudaFree(void* block);
cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* block);
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

cudaError_t cudaMemset(void* block, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
/// Sets the calling thread's mode and returns the previous one. In the relaxed mode, calls that are
/// otherwise unsafe do not invalidate a capture.
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);

cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* data, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* copy);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* kernel);
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaFuncGetName(const char** name, const void* function);
/// Local memory comes from the functor's row in bench/results/kernels.md; 0 for others.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);

namespace wellspring::stand_in {

/// Target of a KernelHandle here: the host's loop with the kernel's parameters.
struct HostKernel {
  void (*run)(const void* parameters);
  const char* name;
  const char* block = "";  ///< mangled type of its parameter, which identifies its listing
};

/// Replaces cudaLaunchKernel in the stand-in: enqueues a kernel, which is host work. `stream` is a
/// cudaStream_t.
void launch_kernel(void* stream, std::string name, const LaunchShape& shape,
                   std::function<void()> work);
/// The same for a kernel of a library.
void launch_kernel(void* stream, std::string name, std::function<void()> work);
/// Takes local memory for a kernel with `stack` bytes per thread, as the driver does at its first
/// launch (MemoryPlan::local_bytes). Fails if the device has too little left.
cudaError_t take_local_memory(std::size_t stack);

/// The seed of all random orders: WELLSPRING_STAND_IN_SEED, or 0.
unsigned seed();

/// Sets the size of device memory (4 GiB otherwise). The next launch allocates local memory again.
void set_device_memory(std::size_t bytes);

/// Device memory that a graph node touches, in pages of 4 KiB. A page counts at most once as read
/// and once as written. Pages that a node writes first do not count as read.
struct Footprint {
  std::string name;
  std::size_t read = 0, written = 0;  ///< bytes
};
/// While set, each graph launch appends the footprints of its nodes when they run. Null: off.
void measure_footprints(std::vector<Footprint>* footprints);

}  // namespace wellspring::stand_in
