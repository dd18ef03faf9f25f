#include "kernels/ops/cuda/cublas_lt.h"

#include "core/error.h"
#include "kernels/ops/cuda/dense.h"
#include "kernels/ops/cuda/pointers.h"
#include "kernels/ops/cuda/versions.h"
#include "tests/support/error_testing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace wellspring::ops::cuda {
namespace {

// The library opens without a GPU or driver. It must export all functions that dense layers use.
TEST(CublasLt, OpensWithoutDevice) {
  const CublasLt& library = cublas_lt();
  EXPECT_EQ(library.cublasLtGetVersion() / 10000, static_cast<std::size_t>(CUBLAS_VER_MAJOR));
  EXPECT_TRUE(cublas_lt_version().starts_with(std::to_string(CUBLAS_VER_MAJOR) + "."));
  EXPECT_EQ(&library, &cublas_lt()) << "the library must be opened only once";
}

TEST(CublasLt, RequiresTheDocumentedAlignmentOfWorkspaces) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_NO_THROW(require_aligned("workspace", {nullptr, at(512)}, kWorkspaceAlignment));
  EXPECT_THROW(require_aligned("workspace", {at(16)}, kWorkspaceAlignment), std::logic_error);
  EXPECT_THROW(require_aligned("operand", {at(8)}), std::logic_error);
}

TEST(CublasLt, ReportsTheFailedCallItsDeviceAndAdvice) {
  EXPECT_NO_THROW(check_cublas(CUBLAS_STATUS_SUCCESS, "cublasLtMatmul", Device::cuda(1)));
  const std::string message = wellspring::test::message_of(ErrorKind::device, [] {
    check_cublas(CUBLAS_STATUS_ALLOC_FAILED, "cublasLtMatmul", Device::cuda(1));
  });
  wellspring::test::expect_parts(message, {"cublasLtMatmul failed", "cuda:1", "doctor"});
}

// cuBLASLt documents no f32 bias for a bf16 result, so the program never requests one.
TEST(CublasLt, AddsOnlyABiasOfTheResultsType) {
  DenseSpec spec;
  for (const DType compute : {DType::f32, DType::bf16}) {
    spec.compute = compute;
    for (const Activation activation : {Activation::none, Activation::relu}) {
      spec.activation = activation;
      spec.bias = true;
      spec.output = DType::f32;
      EXPECT_TRUE(epilogue_fits(spec)) << spec.to_string();
      spec.output = DType::bf16;
      EXPECT_FALSE(epilogue_fits(spec)) << spec.to_string();
      spec.bias = false;
      EXPECT_TRUE(epilogue_fits(spec)) << spec.to_string();
    }
  }
}

}  // namespace
}  // namespace wellspring::ops::cuda
