#include "kernels/runtime/device_activity.h"

#if WELLSPRING_CUPTI

#include "core/text/demangled.h"

#include <chrono>
#include <cstdlib>
#include <cupti_activity.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <mutex>
#include <utility>

#define ACTIVITY_FUNCTIONS(X)               \
  X(cuptiActivityDisable)                   \
  X(cuptiActivityEnable)                    \
  X(cuptiActivityFlushAll)                  \
  X(cuptiActivityGetNextRecord)             \
  X(cuptiActivityGetNumDroppedRecords)      \
  X(cuptiActivityRegisterCallbacks)         \
  X(cuptiActivityRegisterTimestampCallback) \
  X(cuptiGetResultString)

namespace wellspring {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::size_t kBufferAlignment = 8;  // CUPTI's, ACTIVITY_RECORD_ALIGNMENT
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};

/// The recording of the process, because CUPTI's callbacks cannot receive it as an argument.
struct Recording {
#define X(name) decltype(&::name) name = nullptr;
  ACTIVITY_FUNCTIONS(X)
#undef X
  std::mutex mutex;
  std::function<void(const DeviceActivity&)> receive;  ///< empty: nothing is recorded
  std::size_t dropped = 0;
};

/// Never destroyed: CUPTI may deliver records while the process ends.
Recording& recording() {
  static Recording& instance = *new Recording;
  return instance;
}

std::string copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy, host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy, device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy on the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy between devices";
    default:
      return "copy of kind " + std::to_string(kind);
  }
}

template <class Record>
DeviceActivity common(const Record& record, DeviceActivity::Kind kind, std::string name) {
  DeviceActivity activity;
  activity.kind = kind;
  activity.name = std::move(name);
  activity.begin = record.start;
  activity.end = record.end;
  activity.device = record.deviceId;
  activity.stream = record.streamId;
  activity.launch = record.correlationId;
  activity.graph = record.graphId;
  activity.node = record.graphNodeId;
  return activity;
}

void deliver(const CUpti_Activity& record, const std::function<void(const DeviceActivity&)>& to) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      const std::string name = kernel.name == nullptr ? "" : demangled(kernel.name);
      DeviceActivity made = common(kernel, DeviceActivity::Kind::kernel, name);
      made.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
      made.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
      made.registers = kernel.registersPerThread;
      made.shared_bytes = kernel.staticSharedMemory + kernel.dynamicSharedMemory;
      return to(made);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      DeviceActivity made = common(copy, DeviceActivity::Kind::copy, copy_name(copy.copyKind));
      made.bytes = copy.bytes;
      return to(made);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      DeviceActivity made = common(fill, DeviceActivity::Kind::fill, "fill");
      made.bytes = fill.bytes;
      return to(made);
    }
    default:
      return;
  }
}

/// CUPTI converts the GPU's times to this clock.
std::uint64_t CUPTIAPI host_time() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // no limit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid) {
  Recording& to = recording();
  const std::lock_guard lock(to.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && to.receive &&
         to.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    deliver(*record, to.receive);
  std::size_t dropped = 0;
  to.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
  to.dropped += dropped;
  std::free(buffer);
}

/// Fills the functions; returns the problem, or "".
std::string open_cupti(Recording& to) {
  // The layout of records depends on the toolkit's major version: 130001 is 13.0.1.
  const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
  void* library = nullptr;
  std::string problems;
  for (const char* candidate : {name.c_str(), WELLSPRING_CUPTI_LIBRARY}) {
    library = dlopen(candidate, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    problems += (problems.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (library == nullptr) return problems;
#define X(function)                                                                 \
  to.function = reinterpret_cast<decltype(&::function)>(dlsym(library, #function)); \
  if (to.function == nullptr) return name + " has no " #function;
  ACTIVITY_FUNCTIONS(X)
#undef X
  return "";
}

}  // namespace

std::string begin_device_activity(std::function<void(const DeviceActivity&)> receive) {
  Recording& to = recording();
  if (std::string problem = open_cupti(to); !problem.empty()) return problem;
  const auto problem_of = [&](const char* call, CUptiResult status) {
    const char* words = nullptr;
    to.cuptiGetResultString(status, &words);
    std::string problem =
        std::string(call) + ": " + (words == nullptr ? "error " + std::to_string(status) : words);
    if (status == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
      problem += " (NVIDIA's driver has NVreg_RestrictProfilingToAdminUsers=1)";
    return problem;
  };
  CUptiResult status = to.cuptiActivityRegisterTimestampCallback(host_time);
  if (status != CUPTI_SUCCESS) return problem_of("cuptiActivityRegisterTimestampCallback", status);
  status = to.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  if (status != CUPTI_SUCCESS) return problem_of("cuptiActivityRegisterCallbacks", status);
  for (const CUpti_ActivityKind kind : kKinds) {
    status = to.cuptiActivityEnable(kind);
    if (status == CUPTI_SUCCESS) continue;
    for (const CUpti_ActivityKind enabled : kKinds) to.cuptiActivityDisable(enabled);
    return problem_of("cuptiActivityEnable", status);
  }
  const std::lock_guard lock(to.mutex);
  to.receive = std::move(receive);
  to.dropped = 0;
  return "";
}

std::size_t end_device_activity() {
  Recording& to = recording();
  {
    const std::lock_guard lock(to.mutex);
    if (!to.receive) return 0;
  }
  to.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  for (const CUpti_ActivityKind kind : kKinds) to.cuptiActivityDisable(kind);
  const std::lock_guard lock(to.mutex);
  to.receive = nullptr;
  return to.dropped;
}

}  // namespace wellspring

#else

namespace wellspring {

std::string begin_device_activity(std::function<void(const DeviceActivity&)> /*receive*/) {
  return "this program was built without CUPTI's header";
}

std::size_t end_device_activity() {
  return 0;
}

}  // namespace wellspring

#endif
