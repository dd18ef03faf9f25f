#include "kernels/ops/cuda/dense.h"

#include "core/error.h"
#include "kernels/ops/bias_activation.h"
#include "kernels/ops/column_sum.h"
#include "kernels/ops/cuda/cublas_lt.h"
#include "kernels/ops/cuda/pointers.h"
#include "kernels/ops/plan_log.h"
#include "kernels/runtime/cuda_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

// cuBLASLt is column-major: it reads a row-major [rows, columns] array as its transpose, a (columns
// x rows) matrix with leading dimension `columns`. Let X, W, Y be the arrays x [rows, in], w [out,
// in], y [rows, out] when read that way (in x rows, in x out, out x rows):
//
//   forward           y  = x w^T     Y  = W^T X      m = out, n = rows, k = in
//   backward data     dx = dy w      dX = W dY       m = in,  n = rows, k = out
//   backward weights  dw = dy^T x    dW = X dY^T     m = in,  n = out,  k = rows
//
// No array is transposed in memory, and the bias runs along m of the forward product, as cuBLASLt's
// epilogue requires.

namespace wellspring::ops::cuda {
namespace {

/// Maximum scratch of an algorithm, bytes. cuBLAS itself uses 32 MiB on Hopper (cuBLAS
/// documentation, cublasSetWorkspace).
constexpr std::uint64_t kWorkspaceLimit = std::uint64_t{32} << 20;

enum class Transposed : std::uint8_t { no, yes };

/// D (m x n) = op(A) op(B); all matrices are column-major and packed.
struct ProductSpec {
  std::int64_t m = 1, n = 1, k = 1;
  Transposed a = Transposed::no, b = Transposed::no;
  DType input = DType::f32, output = DType::f32;
  bool bias = false;  ///< bias along m, in the output's type
  Activation activation = Activation::none;
};

cudaDataType cuda_type(DType dtype) {
  return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/// One matrix product with its chosen algorithm.
class Product {
 public:
  /// Empty if cuBLASLt has no algorithm for the spec, which only the epilogue can cause.
  static std::optional<Product> plan(const ProductSpec& spec,
                                     const std::shared_ptr<CublasLtHandle>& handle) {
    Product product(spec, handle);
    if (!product.choose_algorithm()) return std::nullopt;
    return product;
  }

  std::size_t workspace_bytes() const { return workspace_bytes_; }

  /// The attributes of the chosen algorithm, and the library's version, for the digest of a run's
  /// plans. An attribute that the library does not report is "?".
  std::string algorithm() const {
    std::string text = fmt::format("cuBLASLt {}", cublas_lt().cublasLtGetVersion());
    const auto add = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute,
                         std::size_t bytes) {
      std::uint32_t value = 0;
      std::size_t written = 0;
      const cublasStatus_t status = cublas_lt().cublasLtMatmulAlgoConfigGetAttribute(
          &algorithm_, attribute, &value, bytes, &written);
      text += status == CUBLAS_STATUS_SUCCESS ? fmt::format(", {} {}", name, value)
                                              : fmt::format(", {} ?", name);
    };
    add("algorithm", CUBLASLT_ALGO_CONFIG_ID, sizeof(std::int32_t));
    add("tile", CUBLASLT_ALGO_CONFIG_TILE_ID, sizeof(std::uint32_t));
    add("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, sizeof(std::uint32_t));
    add("split", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, sizeof(std::int32_t));
    add("reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, sizeof(std::uint32_t));
    add("swizzling", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, sizeof(std::uint32_t));
    add("option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, sizeof(std::uint32_t));
    add("inner shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, sizeof(std::uint16_t));
    add("cluster shape", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, sizeof(std::uint16_t));
    return text;
  }

  void run(Stream& stream, const void* a, const void* b, void* d, const float* bias,
           Workspace workspace) {
    WS_EXPECT(workspace.bytes >= workspace_bytes_);
    const wellspring::cuda::DeviceScope scope(handle_->device().index);
    if (bias_) describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const float one = 1, zero = 0;
    check_cublas(
        cublas_lt().cublasLtMatmul(handle_->get(), operation_.get(), &one, a, a_.get(), b, b_.get(),
                                   &zero, d, d_.get(), d, d_.get(), &algorithm_, workspace.data,
                                   workspace_bytes_, static_cast<cudaStream_t>(stream.native())),
        "cublasLtMatmul", handle_->device());
  }

 private:
  struct Release {
    void operator()(cublasLtMatmulDesc_t p) const { cublas_lt().cublasLtMatmulDescDestroy(p); }
    void operator()(cublasLtMatrixLayout_t p) const { cublas_lt().cublasLtMatrixLayoutDestroy(p); }
    void operator()(cublasLtMatmulPreference_t p) const {
      cublas_lt().cublasLtMatmulPreferenceDestroy(p);
    }
  };
  template <class Pointer>
  using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Release>;

  Product(const ProductSpec& spec, std::shared_ptr<CublasLtHandle> handle)
      : handle_(std::move(handle)),
        bias_(spec.bias),
        has_epilogue_(epilogue(spec) != CUBLASLT_EPILOGUE_DEFAULT) {
    cublasLtMatmulDesc_t operation = nullptr;
    check(cublas_lt().cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    operation_.reset(operation);
    describe(CUBLASLT_MATMUL_DESC_TRANSA, transpose(spec.a));
    describe(CUBLASLT_MATMUL_DESC_TRANSB, transpose(spec.b));
    describe(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(spec));
    if (spec.bias) {
      // The bias has the type of the result, which is the default of the attribute BIAS_DATA_TYPE.
      // The choice of algorithms depends on the pointer's alignment; run() sets the actual pointer.
      describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(kPointerAlignment));
    }
    a_ = spec.a == Transposed::yes ? layout(spec.input, spec.k, spec.m)
                                   : layout(spec.input, spec.m, spec.k);
    b_ = spec.b == Transposed::yes ? layout(spec.input, spec.n, spec.k)
                                   : layout(spec.input, spec.k, spec.n);
    d_ = layout(spec.output, spec.m, spec.n);
  }

  void check(cublasStatus_t status, std::string_view call) const {
    check_cublas(status, call, handle_->device());
  }

  template <class Value>
  void describe(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublas_lt().cublasLtMatmulDescSetAttribute(operation_.get(), attribute, &value,
                                                     sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }

  static cublasOperation_t transpose(Transposed transposed) {
    return transposed == Transposed::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  }

  static cublasLtEpilogue_t epilogue(const ProductSpec& spec) {
    const bool relu = spec.activation == Activation::relu;
    if (spec.bias) return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
  }

  /// A packed column-major matrix.
  Owned<cublasLtMatrixLayout_t> layout(DType dtype, std::int64_t rows, std::int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    check(cublas_lt().cublasLtMatrixLayoutCreate(&made, cuda_type(dtype),
                                                 static_cast<std::uint64_t>(rows),
                                                 static_cast<std::uint64_t>(columns), rows),
          "cublasLtMatrixLayoutCreate");
    return Owned<cublasLtMatrixLayout_t>(made);
  }

  /// Takes the first choice of cuBLASLt's heuristics. Partial sums over k, if any, are kept as f32
  /// in the workspace and added in a fixed order.
  bool choose_algorithm() {
    cublasLtMatmulPreference_t made = nullptr;
    check(cublas_lt().cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    const Owned<cublasLtMatmulPreference_t> preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check(cublas_lt().cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value,
                                                             sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceLimit);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (const auto alignment :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(alignment, static_cast<std::uint32_t>(kPointerAlignment));
    }
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    const cublasStatus_t status = cublas_lt().cublasLtMatmulAlgoGetHeuristic(
        handle_->get(), operation_.get(), a_.get(), b_.get(), d_.get(), d_.get(), preference.get(),
        1, &result, &found);
    // The documentation does not say which of the two errors an unknown epilogue causes.
    const bool refused = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                         (status == CUBLAS_STATUS_INVALID_VALUE && has_epilogue_) ||
                         (status == CUBLAS_STATUS_SUCCESS && found == 0);
    if (refused) return false;
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    check(result.state, "cublasLtMatmulAlgoGetHeuristic");
    algorithm_ = result.algo;
    workspace_bytes_ = result.workspaceSize;
    return true;
  }

  std::shared_ptr<CublasLtHandle> handle_;
  bool bias_;
  bool has_epilogue_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> a_, b_, d_;
  cublasLtMatmulAlgo_t algorithm_ = {};
  std::size_t workspace_bytes_ = 0;
};

class CublasDense final : public Dense {
 public:
  CublasDense(const DenseSpec& spec, const Stream& stream) : spec_(spec) {
    const auto handle = stream.library<CublasLtHandle>();
    const wellspring::cuda::DeviceScope scope(stream.device().index);
    plan_forward(handle);
    if (spec_.input_gradient) {
      backward_data_ = plan({.m = spec_.in,
                             .n = spec_.rows,
                             .k = spec_.out,
                             .input = spec_.compute,
                             .output = spec_.compute},
                            handle);
    }
    backward_weights_ = plan({.m = spec_.in,
                              .n = spec_.out,
                              .k = spec_.rows,
                              .b = Transposed::yes,
                              .input = spec_.compute,
                              .output = spec_.compute},
                             handle);
    auto& chosen = stream.library<PlanLog>()->algorithms;
    const auto record = [&](const char* pass, const std::optional<Product>& product) {
      if (product) chosen[fmt::format("{}, {}", spec_.to_string(), pass)] = product->algorithm();
    };
    record("forward", forward_);
    record("backward data", backward_data_);
    record("backward weights", backward_weights_);
  }

  std::size_t workspace_bytes() const override {
    std::size_t bytes = std::max(forward_->workspace_bytes(), backward_weights_->workspace_bytes());
    if (backward_data_) bytes = std::max(bytes, backward_data_->workspace_bytes());
    // The bias gradient is summed after the weight gradient on the same stream, so the two share
    // the workspace.
    return std::max(bytes, column_sum_partials(gradient_columns()) * sizeof(float));
  }

  void forward(Stream& stream, const void* x, const void* w, const float* bias, void* y,
               Workspace workspace) override {
    require_aligned("dense layer", {x, w, spec_.bias ? bias : nullptr, y});
    require_workspace(workspace);
    forward_->run(stream, w, x, y, bias, workspace);
    if (separate_epilogue_) {
      bias_activation(stream, {spec_.rows, spec_.out, spec_.output, spec_.activation},
                      spec_.bias ? bias : nullptr, y);
    }
  }

  void backward_data(Stream& stream, const void* dy, const void* w, void* dx,
                     Workspace workspace) override {
    if (!backward_data_) {
      throw std::logic_error(spec_.to_string() + ": planned without an input gradient");
    }
    require_aligned("dense layer gradient", {dy, w, dx});
    require_workspace(workspace);
    backward_data_->run(stream, w, dy, dx, nullptr, workspace);
  }

  void backward_weights(Stream& stream, const void* x, const void* dy, void* dw, float* dbias,
                        Workspace workspace) override {
    require_aligned("dense layer gradient", {x, dy, dw});
    require_workspace(workspace);
    backward_weights_->run(stream, x, dy, dw, nullptr, workspace);
    if (dbias != nullptr) {
      column_sum(stream, gradient_columns(), dy, static_cast<float*>(workspace.data), dbias);
    }
  }

 private:
  static void require_workspace(const Workspace& workspace) {
    require_aligned("workspace of a dense layer", {workspace.data}, kWorkspaceAlignment);
  }
  ColumnSumSpec gradient_columns() const { return {spec_.rows, spec_.out, spec_.compute}; }

  std::optional<Product> plan(const ProductSpec& product,
                              const std::shared_ptr<CublasLtHandle>& handle) const {
    auto planned = Product::plan(product, handle);
    if (!planned) {
      fail(ErrorKind::device,
           {fmt::format("cuBLASLt cannot run {} on {}", spec_.to_string(),
                        handle->device().to_string()),
            "it has no algorithm for the product of these types and sizes",
            "change the width of the layer or its compute type, or run on the CPU"});
    }
    return planned;
  }

  /// Plans bias and activation inside the product if cuBLASLt supports them, otherwise after it.
  void plan_forward(const std::shared_ptr<CublasLtHandle>& handle) {
    ProductSpec product = {.m = spec_.out,
                           .n = spec_.rows,
                           .k = spec_.in,
                           .a = Transposed::yes,
                           .input = spec_.compute,
                           .output = spec_.output,
                           .bias = spec_.bias,
                           .activation = spec_.activation};
    if (epilogue_fits(spec_)) forward_ = Product::plan(product, handle);
    if (forward_) return;
    separate_epilogue_ = true;
    product.bias = false;
    product.activation = Activation::none;
    forward_ = plan(product, handle);
  }

  DenseSpec spec_;
  bool separate_epilogue_ = false;
  std::optional<Product> forward_, backward_data_, backward_weights_;
};

}  // namespace

bool epilogue_fits(const DenseSpec& spec) {
  return !spec.bias || spec.output == DType::f32;
}

std::unique_ptr<Dense> plan_dense(const DenseSpec& spec, const Stream& stream) {
  return std::make_unique<CublasDense>(spec, stream);
}

}  // namespace wellspring::ops::cuda
