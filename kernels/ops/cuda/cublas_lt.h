// cuBLASLt, opened when it is first needed, and the handle that a stream keeps. Called by
// cuda/dense.cpp; host only.
//
// The library is 540 MB, and mapping and relocating it takes about 60 ms and 200 MB at every start
// of a program that is linked with it, `wellspring --help` included. So it is opened by name
// instead.
#pragma once

#include "kernels/runtime/stream.h"

#include <cublasLt.h>

#include <string_view>

namespace wellspring::ops::cuda {

// The functions of the library that are used here.
#define WS_CUBLASLT_FUNCTIONS(X)          \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetStatusString)              \
  X(cublasLtGetVersion)                   \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)

/// The opened library: its functions under their own names.
struct CublasLt {
#define X(name) decltype(&::name) name = nullptr;
  WS_CUBLASLT_FUNCTIONS(X)
#undef X
};

/// Opens the library the first time. Errors: device when it is not there or too old, with where it
/// was looked for.
const CublasLt& cublas_lt();

/// Throws Error(device) with cuBLASLt's words unless `status` is success.
void check_cublas(cublasStatus_t status, std::string_view call, Device device);

/// A stream's handle; see Stream::library.
class CublasLtHandle {
 public:
  explicit CublasLtHandle(const Stream& stream);
  ~CublasLtHandle();
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;

  cublasLtHandle_t get() const { return handle_; }
  Device device() const { return device_; }

 private:
  Device device_;
  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace wellspring::ops::cuda
