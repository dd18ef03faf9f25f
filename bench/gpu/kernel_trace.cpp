// Trace of a CUDA program by NVIDIA's CUPTI: kernels, copies and fills with times and graph nodes.
// A shared library that the driver loads when it starts:
//
//     CUDA_INJECTION64_PATH=.../libkernel_trace.so WELLSPRING_TRACE=FILE COMMAND
//
// Writes one JSON object per line as CUPTI delivers it, and {"end": RECORDS, "dropped": N} when the
// program ends. If CUPTI cannot be used, it writes {"unavailable": WHY} and the program runs
// untraced. Times are nanoseconds of CUPTI's clock. All records of a graph launch share its
// `launch` number; `node` is the graph node; `graph` is 0 outside graphs.
#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#define TRACE_FUNCTIONS(X)             \
  X(cuptiActivityEnable)               \
  X(cuptiActivityFlushAll)             \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiGetResultString)              \
  X(cuptiGetVersion)

namespace {

using nlohmann::json;

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::size_t kBufferAlignment = 8;  // CUPTI's, ACTIVITY_RECORD_ALIGNMENT

struct Cupti {
#define X(name) decltype(&::name) name = nullptr;
  TRACE_FUNCTIONS(X)
#undef X
};

/// The output file and its counts. CUPTI calls it from its own thread.
struct Trace {
  Cupti cupti;
  std::mutex mutex;
  std::FILE* file = nullptr;
  std::size_t records = 0, dropped = 0;

  void write(const json& line) {
    // Names come from the traced program, so invalid UTF-8 is replaced.
    const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }
};

/// Never destroyed: CUPTI may deliver records while the process ends.
Trace& trace() {
  static Trace& instance = *new Trace;
  return instance;
}

std::string demangled(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

template <class Record>
json common(const Record& record, const char* kind, std::string name) {
  return {{"kind", kind},
          {"name", std::move(name)},
          {"start", record.start},
          {"end", record.end},
          {"stream", record.streamId},
          {"launch", record.correlationId},
          {"graph", record.graphId},
          {"node", record.graphNodeId}};
}

json line_of(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      json line = common(kernel, "kernel", demangled(kernel.name));
      line["grid"] = {kernel.gridX, kernel.gridY, kernel.gridZ};
      line["block"] = {kernel.blockX, kernel.blockY, kernel.blockZ};
      line["registers"] = kernel.registersPerThread;
      line["shared_bytes"] = kernel.staticSharedMemory + kernel.dynamicSharedMemory;
      return line;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      json line = common(copy, "copy", "copy of kind " + std::to_string(copy.copyKind));
      line["bytes"] = copy.bytes;
      return line;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      json line = common(fill, "fill", "fill");
      line["bytes"] = fill.bytes;
      return line;
    }
    default:
      return nullptr;
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // no limit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid) {
  Trace& out = trace();
  const std::lock_guard lock(out.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 &&
         out.cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    const json line = line_of(*record);
    if (line.is_null()) continue;
    out.write(line);
    ++out.records;
  }
  std::size_t dropped = 0;
  out.cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
  out.dropped += dropped;
  std::free(buffer);
}

void finish() {
  Trace& out = trace();
  out.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::lock_guard lock(out.mutex);
  out.write({{"end", out.records}, {"dropped", out.dropped}});
}

/// Fills `cupti`; returns the problem, or "".
std::string open_cupti(Cupti& cupti) {
  // The record layout depends on the toolkit's major version: 130001 is 13.0.1.
  const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
  void* library = nullptr;
  std::string problems;
  for (const char* candidate : {name.c_str(), WELLSPRING_CUPTI_LIBRARY}) {
    library = dlopen(candidate, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    problems += (problems.empty() ? "" : "; ") + std::string(dlerror());
  }
  if (library == nullptr) return problems;
#define X(function)                                                                    \
  cupti.function = reinterpret_cast<decltype(&::function)>(dlsym(library, #function)); \
  if (cupti.function == nullptr) return name + " has no " #function;
  TRACE_FUNCTIONS(X)
#undef X
  return "";
}

std::string words_for(const Cupti& cupti, const char* call, CUptiResult status) {
  const char* words = nullptr;
  cupti.cuptiGetResultString(status, &words);
  return std::string(call) + ": " + (words == nullptr ? "error " + std::to_string(status) : words);
}

/// Starts tracing; returns the problem, or "".
std::string begin(Trace& out) {
  const std::string problem = open_cupti(out.cupti);
  if (!problem.empty()) return problem;
  std::uint32_t version = 0;
  CUptiResult status = out.cupti.cuptiGetVersion(&version);
  if (status != CUPTI_SUCCESS) return words_for(out.cupti, "cuptiGetVersion", status);
  out.write({{"cupti", version}, {"built_for", CUPTI_API_VERSION}});
  status = out.cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  if (status != CUPTI_SUCCESS)
    return words_for(out.cupti, "cuptiActivityRegisterCallbacks", status);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    status = out.cupti.cuptiActivityEnable(kind);
    if (status != CUPTI_SUCCESS) return words_for(out.cupti, "cuptiActivityEnable", status);
  }
  return "";
}

}  // namespace

/// Called by the driver after loading this library; 1 means success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("WELLSPRING_TRACE");
  if (path == nullptr) return 1;
  Trace& out = trace();
  out.file = std::fopen(path, "we");
  if (out.file == nullptr) {
    std::fprintf(stderr, "kernel_trace: cannot write %s\n", path);
    return 1;
  }
  const std::string problem = begin(out);
  if (problem.empty()) {
    std::atexit(finish);
  } else {
    out.write({{"unavailable", problem}});
  }
  return 1;
}
