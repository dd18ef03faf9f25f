#include "kernels/ops/cuda/cublas_lt.h"

#include "core/error.h"
#include "kernels/ops/cuda/versions.h"
#include "kernels/runtime/cuda_check.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <string>

namespace wellspring::ops::cuda {
namespace {

/// Tries the name first (next to the program and on the loader's path), then the path known at
/// build time.
void* open_library(std::string& problems) {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  for (const std::string& candidate : {name, std::string(WELLSPRING_CUBLASLT_LIBRARY)}) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    problems += problems.empty() ? "" : "; ";
    problems += dlerror();
  }
  return nullptr;
}

CublasLt load() {
  const char* const advice =
      "install cuBLAS for the CUDA version this program was built with, or add its folder to "
      "LD_LIBRARY_PATH";
  std::string problems;
  void* library = open_library(problems);
  if (library == nullptr) {
    fail(ErrorKind::device, {"cuBLASLt cannot be opened", problems, advice});
  }
  CublasLt functions;
#define X(name)                                                                \
  functions.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (functions.name == nullptr) {                                             \
    fail(ErrorKind::device, {"cuBLASLt has no function " #name, "", advice});  \
  }
  WS_CUBLASLT_FUNCTIONS(X)
#undef X
  return functions;  // the library stays open for the life of the process
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt functions = load();
  return functions;
}

void check_cublas(cublasStatus_t status, std::string_view call, Device device) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::device,
       {fmt::format("cuBLASLt on {}: {} failed", device.to_string(), call),
        fmt::format("{}, cuBLASLt {}", cublas_lt().cublasLtGetStatusString(status),
                    cublas_lt().cublasLtGetVersion()),
        "`wellspring doctor` shows the versions of the driver, CUDA and cuBLAS"});
}

std::string cublas_lt_version() {
  try {
    const std::size_t v = cublas_lt().cublasLtGetVersion();  // same encoding as cuDNN's version
    return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  } catch (const Error& error) {
    return error.what();
  }
}

CublasLtHandle::CublasLtHandle(const Stream& stream) : device_(stream.device()) {
  const wellspring::cuda::DeviceScope scope(device_.index);
  check_cublas(cublas_lt().cublasLtCreate(&handle_), "cublasLtCreate", device_);
}

CublasLtHandle::~CublasLtHandle() {
  cublas_lt().cublasLtDestroy(handle_);
}

}  // namespace wellspring::ops::cuda
