// Formulas: kernels/ops/attention_teams.h. A thread computes one head of one sample at a time and
// stores its scores. Weights and their gradients are rounded to bf16 for the products, as cuDNN
// does; sums and exponentials are f32. The values of a head are copied to dense matrices, because
// oneDNN's products of strided ones are slower and allocate memory in every call.
#include "kernels/ops/cpu/attention.h"

#include "kernels/ops/cpu/instruction_set.h"
#include "kernels/ops/cpu/onednn.h"
#include "kernels/random/math.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <omp.h>
#include <utility>
#include <vector>

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;

/// Scores of f32, weights and slopes of bf16 take 2 MiB, the second level of cache of a core.
constexpr int kMostTokens = 512;

memory::desc matrix(memory::dim rows, memory::dim columns, DType type = DType::bf16) {
  return {{rows, columns}, type_of(type), memory::format_tag::ab};
}
/// The transpose of a stored matrix.
memory::desc transposed(memory::dim rows, memory::dim columns) {
  return {{columns, rows}, type_of(DType::bf16), memory::format_tag::ba};
}

/// The products of one head.
struct HeadProducts {
  HeadProducts(const AttentionSpec& s, const std::shared_ptr<OneDnn>& library) {
    const memory::dim n = s.tokens, width = s.head_width;
    const memory::desc tokens = matrix(n, width), weights = matrix(n, n);
    scores = {library, tokens, transposed(n, width), matrix(n, n, DType::f32)};
    sums = {library, weights, tokens, tokens};
    transposed_sums = {library, transposed(n, n), tokens, tokens};
  }
  bool allocates() const {
    return scores.allocates() || sums.allocates() || transposed_sums.allocates();
  }
  std::size_t scratch_bytes() const {
    return std::max(
        {scores.scratch_bytes(), sums.scratch_bytes(), transposed_sums.scratch_bytes()});
  }

  MatrixProduct scores;           ///< q k^T, dp = dy v^T
  MatrixProduct sums;             ///< y = p v, dq = ds k
  MatrixProduct transposed_sums;  ///< dv = p^T dy, dk = ds^T q
};

/// weights = softmax(scale scores) of one row; returns the log-sum-exp. GCC vectorises these loops
/// only if they store the bits of a bf16.
float softmax(const float* scores, int n, float scale, bf16* weights, float* exponentials) {
  float largest = -math::kInfinity, total = 0;
#pragma omp simd reduction(max : largest)
  for (int j = 0; j < n; ++j) largest = std::max(largest, scores[j]);
  largest *= scale;
#pragma omp simd reduction(+ : total)
  for (int j = 0; j < n; ++j) {
    exponentials[j] = math::exp(scale * scores[j] - largest);
    total += exponentials[j];
  }
  const float share = 1 / total;
#pragma omp simd
  for (int j = 0; j < n; ++j) weights[j].bits = bf16::round(exponentials[j] * share);
  return largest + math::log(total);
}

class ProductAttention final : public Attention {
 public:
  ProductAttention(const AttentionSpec& spec, const Stream& stream)
      : spec_(spec),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(spec.head_width)))) {
    const ThreadScope alone(1);
    std::size_t scratch = 0;
    for (int thread = 0; thread < stream.threads(); ++thread) {
      products_.emplace_back(spec, std::make_shared<OneDnn>(stream));
      scratch = products_.back().scratch_bytes();
    }
    WorkspaceLayout layout;
    scores_ = layout.take(scores() * sizeof(float));
    slopes_ = layout.take(scores() * sizeof(float));
    weights_ = layout.take(scores() * sizeof(bf16));
    const std::size_t tokens = static_cast<std::size_t>(spec.tokens) *
                               static_cast<std::size_t>(spec.head_width) * sizeof(bf16);
    for (std::size_t& offset : tokens_) offset = layout.take(tokens);
    scratch_ = layout.take(scratch);
    bytes_per_thread_ = layout.bytes();
  }

  /// True if oneDNN would allocate in every call.
  bool allocates() const { return products_.front().allocates(); }
  std::size_t workspace_bytes() const override { return bytes_per_thread_ * products_.size(); }
  std::size_t saved_bytes() const override {
    return static_cast<std::size_t>(heads() * spec_.tokens) * sizeof(float);
  }

  void forward(Stream& stream, const void* qkv, const std::int32_t* /*count*/, void* y, void* saved,
               Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes());
    stream.run(NodeKind::kernel, "attention forward", [=, this] {
      for_heads(workspace, [&](HeadProducts& products, const Head& head, Workspace own) {
        forward_head(products, head, static_cast<const bf16*>(qkv), static_cast<bf16*>(y),
                     static_cast<float*>(saved), own);
      });
    });
  }

  void backward(Stream& stream, const void* qkv, const std::int32_t* /*count*/, const void* y,
                const void* dy, const void* saved, void* dqkv, Workspace workspace) override {
    WS_EXPECT(workspace.bytes >= workspace_bytes());
    stream.run(NodeKind::kernel, "attention backward", [=, this] {
      for_heads(workspace, [&](HeadProducts& products, const Head& head, Workspace own) {
        backward_head(products, head, static_cast<const bf16*>(qkv), static_cast<const bf16*>(y),
                      static_cast<const bf16*>(dy), static_cast<const float*>(saved),
                      static_cast<bf16*>(dqkv), own);
      });
    });
  }

 private:
  /// Offsets of a head's first values.
  struct Head {
    std::int64_t query, key, value;  ///< in qkv
    std::int64_t output;             ///< in y
    std::int64_t rows;               ///< in arrays [batch, heads, tokens]
  };

  std::int64_t heads() const { return spec_.batch * spec_.heads; }
  std::int64_t features() const { return std::int64_t{spec_.heads} * spec_.head_width; }
  std::size_t scores() const {
    return static_cast<std::size_t>(spec_.tokens) * static_cast<std::size_t>(spec_.tokens);
  }

  Head head_at(std::int64_t index) const {
    const std::int64_t sample = index / spec_.heads, first = index % spec_.heads * spec_.head_width,
                       query = sample * spec_.tokens * 3 * features() + first;
    return {query, query + features(), query + 2 * features(),
            sample * spec_.tokens * features() + first, index * spec_.tokens};
  }

  template <class Body>
  void for_heads(Workspace workspace, const Body& body) {
    const std::int64_t count = heads();
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(products_.size()))
    for (std::int64_t index = 0; index < count; ++index) {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      body(products_[thread], head_at(index),
           Workspace{at(workspace, thread * bytes_per_thread_), bytes_per_thread_});
    }
  }

  /// Copies a head's values of all tokens, which begin `stride` apart, to matrix `which`.
  bf16* gather(const bf16* from, std::int64_t stride, std::size_t which, Workspace own) const {
    auto* const to = static_cast<bf16*>(at(own, tokens_[which]));
    for (int i = 0; i < spec_.tokens; ++i)
      std::copy_n(from + i * stride, spec_.head_width, to + i * spec_.head_width);
    return to;
  }
  void scatter(const bf16* from, bf16* to, std::int64_t stride) const {
    for (int i = 0; i < spec_.tokens; ++i)
      std::copy_n(from + i * spec_.head_width, spec_.head_width, to + i * stride);
  }

  void forward_head(HeadProducts& products, const Head& head, const bf16* qkv, bf16* y,
                    float* log_sum, Workspace own) const {
    const int n = spec_.tokens;
    auto *score = static_cast<float*>(at(own, scores_)),
         *exponentials = static_cast<float*>(at(own, slopes_));
    auto* weights = static_cast<bf16*>(at(own, weights_));
    void* const scratch = at(own, scratch_);
    const std::int64_t stride = 3 * features();
    products.scores.run(gather(qkv + head.query, stride, 0, own),
                        gather(qkv + head.key, stride, 1, own), score, scratch);
    for (int i = 0; i < n; ++i)
      log_sum[head.rows + i] = softmax(score + i * n, n, scale_, weights + i * n, exponentials);
    auto* const result = static_cast<bf16*>(at(own, tokens_[0]));
    products.sums.run(weights, gather(qkv + head.value, stride, 1, own), result, scratch);
    scatter(result, y + head.output, features());
  }

  void backward_head(HeadProducts& products, const Head& head, const bf16* qkv, const bf16* y,
                     const bf16* dy, const float* log_sum, bf16* dqkv, Workspace own) const {
    const int n = spec_.tokens, width = spec_.head_width;
    auto *score = static_cast<float*>(at(own, scores_)),
         *slope = static_cast<float*>(at(own, slopes_));
    auto* weights = static_cast<bf16*>(at(own, weights_));
    void* const scratch = at(own, scratch_);
    const std::int64_t stride = 3 * features();
    const bf16 *query = gather(qkv + head.query, stride, 0, own),
               *key = gather(qkv + head.key, stride, 1, own),
               *value = gather(qkv + head.value, stride, 2, own),
               *gradient = gather(dy + head.output, features(), 3, own);
    auto* const result = static_cast<bf16*>(at(own, tokens_[4]));
    products.scores.run(query, key, score, scratch);
    for (int i = 0; i < n; ++i) {
      float* const row = score + i * n;
      bf16* const to = weights + i * n;
      const float log = log_sum[head.rows + i], scale = scale_;
#pragma omp simd
      for (int j = 0; j < n; ++j) {
        row[j] = math::exp(scale * row[j] - log);
        to[j].bits = bf16::round(row[j]);
      }
    }
    products.transposed_sums.run(weights, gradient, result, scratch);
    scatter(result, dqkv + head.value, stride);
    products.scores.run(gradient, value, slope, scratch);
    for (int i = 0; i < n; ++i) {
      const std::int64_t token = head.output + i * features();
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int k = 0; k < width; ++k)
        sum += static_cast<float>(dy[token + k]) * static_cast<float>(y[token + k]);
      const float *row = score + i * n, *from = slope + i * n;
      bf16* const to = weights + i * n;
      const float scale = scale_;
#pragma omp simd
      for (int j = 0; j < n; ++j) to[j].bits = bf16::round(scale * row[j] * (from[j] - sum));
    }
    products.sums.run(weights, key, result, scratch);
    scatter(result, dqkv + head.query, stride);
    products.transposed_sums.run(weights, query, result, scratch);
    scatter(result, dqkv + head.key, stride);
  }

  AttentionSpec spec_;
  float scale_;
  std::vector<HeadProducts> products_;  ///< per thread
  // Offsets in a thread's workspace.
  std::size_t scores_ = 0, slopes_ = 0, weights_ = 0, scratch_ = 0;
  std::array<std::size_t, 5> tokens_{};  ///< matrices [tokens, head_width]
  std::size_t bytes_per_thread_ = 0;
};

}  // namespace

std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream) {
  if (!has_amx() || spec.compute != DType::bf16 || spec.masked || spec.tokens > kMostTokens)
    return nullptr;
  auto planned = with_onednn_errors(
      spec.to_string(), [&] { return std::make_unique<ProductAttention>(spec, stream); });
  return planned->allocates() ? nullptr : std::move(planned);
}

}  // namespace wellspring::ops::cpu
