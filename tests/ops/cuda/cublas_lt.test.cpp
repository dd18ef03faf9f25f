#include "kernels/ops/cuda/cublas_lt.h"

#include "core/error.h"
#include "kernels/ops/cuda/versions.h"

#include <gtest/gtest.h>

#include <string>

namespace wellspring::ops::cuda {
namespace {

// Opening the library needs no GPU and no driver: every function that dense layers call is there.
TEST(CublasLt, OpensWithoutDevice) {
  const CublasLt& library = cublas_lt();
  EXPECT_EQ(library.cublasLtGetVersion() / 10000, static_cast<std::size_t>(CUBLAS_VER_MAJOR));
  EXPECT_TRUE(cublas_lt_version().starts_with(std::to_string(CUBLAS_VER_MAJOR) + "."));
  EXPECT_EQ(&library, &cublas_lt()) << "opened once";
}

TEST(CublasLt, ErrorsSayWhatFailedWhereAndWhy) {
  EXPECT_NO_THROW(check_cublas(CUBLAS_STATUS_SUCCESS, "cublasLtMatmul", Device::cuda(1)));
  try {
    check_cublas(CUBLAS_STATUS_ALLOC_FAILED, "cublasLtMatmul", Device::cuda(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    const std::string text = error.what();
    EXPECT_NE(text.find("cublasLtMatmul failed"), std::string::npos) << text;
    EXPECT_NE(text.find("cuda:1"), std::string::npos) << text;
    EXPECT_NE(text.find("doctor"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace wellspring::ops::cuda
