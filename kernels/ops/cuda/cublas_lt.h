// cuBLASLt, opened on first use, and a stream's handle. Called by cuda/dense.cpp; host only.
//
// The library takes 540 MB. A program linked with it would spend about 60 ms and 200 MB at every
// start, even for `wellspring --help`, so the library is opened by name instead.
#pragma once

#include "kernels/runtime/stream.h"

#include <cublasLt.h>

#include <string_view>

namespace wellspring::ops::cuda {

// Functions used here.
#define WS_CUBLASLT_FUNCTIONS(X)          \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetStatusString)              \
  X(cublasLtGetVersion)                   \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)

/// The opened library: pointers to its functions.
struct CublasLt {
#define X(name) decltype(&::name) name = nullptr;
  WS_CUBLASLT_FUNCTIONS(X)
#undef X
};

/// Opens the library on first use. Throws a device error that lists the searched paths if the
/// library is missing or too old.
const CublasLt& cublas_lt();

/// Throws a device error with cuBLASLt's message unless `status` is success.
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
