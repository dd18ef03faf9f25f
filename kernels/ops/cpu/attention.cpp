// Formulas: kernels/ops/attention_teams.h. A thread computes one head of one sample at a time and
// stores its scores. Weights and their gradients are rounded to bf16 for the products, as cuDNN
// does; sums and exponentials are f32.
#include "kernels/ops/cpu/attention.h"

#include "kernels/ops/cpu/instruction_set.h"
#include "kernels/ops/cpu/onednn.h"
#include "kernels/random/math.h"

#include <algorithm>
#include <cmath>
#include <omp.h>
#include <vector>

namespace wellspring::ops::cpu {
namespace {

using dnnl::memory;

/// Scores of f32, weights and slopes of bf16 take 2 MiB, the second level of cache of a core.
constexpr int kMostTokens = 512;

memory::desc matrix(memory::dim rows, memory::dim columns, memory::dim stride,
                    DType type = DType::bf16) {
  return {{rows, columns}, type_of(type), memory::dims{stride, 1}};
}
/// The transpose of a matrix that is stored with this stride.
memory::desc transposed(memory::dim rows, memory::dim columns, memory::dim stride) {
  return {{columns, rows}, type_of(DType::bf16), memory::dims{1, stride}};
}

/// The products of one head. q, k and v are interleaved in qkv.
struct HeadProducts {
  HeadProducts(const AttentionSpec& s, const std::shared_ptr<OneDnn>& library) {
    const memory::dim n = s.tokens, width = s.head_width, features = s.heads * width;
    const memory::desc token = matrix(n, width, 3 * features),
                       token_transposed = transposed(n, width, 3 * features),
                       output = matrix(n, width, features), weights = matrix(n, n, n),
                       scores_desc = matrix(n, n, n, DType::f32);
    scores = {library, token, token_transposed, scores_desc};
    sums = {library, weights, token, output};
    weight_gradient = {library, output, token_transposed, scores_desc};
    value_gradient = {library, transposed(n, n, n), output, token};
    query_gradient = {library, weights, token, token};
    key_gradient = {library, transposed(n, n, n), token, token};
  }
  std::size_t scratch_bytes() const {
    return std::max({scores.scratch_bytes(), sums.scratch_bytes(), weight_gradient.scratch_bytes(),
                     value_gradient.scratch_bytes(), query_gradient.scratch_bytes(),
                     key_gradient.scratch_bytes()});
  }

  MatrixProduct scores;           ///< q k^T
  MatrixProduct sums;             ///< y = p v
  MatrixProduct weight_gradient;  ///< dp = dy v^T
  MatrixProduct value_gradient;   ///< dv = p^T dy
  MatrixProduct query_gradient;   ///< dq = ds k
  MatrixProduct key_gradient;     ///< dk = ds^T q
};

/// weights = softmax(scale scores) of one row; returns the log-sum-exp. These loops store the bits
/// of a bf16, because GCC does not vectorise the assignment of a bf16 here.
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
    scratch_ = layout.take(scratch);
    bytes_per_thread_ = layout.bytes();
  }

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

  void forward_head(HeadProducts& products, const Head& head, const bf16* qkv, bf16* y,
                    float* log_sum, Workspace own) const {
    const int n = spec_.tokens;
    auto *score = static_cast<float*>(at(own, scores_)),
         *exponentials = static_cast<float*>(at(own, slopes_));
    auto* weights = static_cast<bf16*>(at(own, weights_));
    void* const scratch = at(own, scratch_);
    products.scores.run(qkv + head.query, qkv + head.key, score, scratch);
    for (int i = 0; i < n; ++i)
      log_sum[head.rows + i] = softmax(score + i * n, n, scale_, weights + i * n, exponentials);
    products.sums.run(weights, qkv + head.value, y + head.output, scratch);
  }

  void backward_head(HeadProducts& products, const Head& head, const bf16* qkv, const bf16* y,
                     const bf16* dy, const float* log_sum, bf16* dqkv, Workspace own) const {
    const int n = spec_.tokens, width = spec_.head_width;
    auto *score = static_cast<float*>(at(own, scores_)),
         *slope = static_cast<float*>(at(own, slopes_));
    auto* weights = static_cast<bf16*>(at(own, weights_));
    void* const scratch = at(own, scratch_);
    products.scores.run(qkv + head.query, qkv + head.key, score, scratch);
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
    products.value_gradient.run(weights, dy + head.output, dqkv + head.value, scratch);
    products.weight_gradient.run(dy + head.output, qkv + head.value, slope, scratch);
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
    products.query_gradient.run(weights, qkv + head.key, dqkv + head.query, scratch);
    products.key_gradient.run(weights, qkv + head.query, dqkv + head.key, scratch);
  }

  AttentionSpec spec_;
  float scale_;
  std::vector<HeadProducts> products_;  ///< per thread
  // Offsets in a thread's workspace.
  std::size_t scores_ = 0, slopes_ = 0, weights_ = 0, scratch_ = 0;
  std::size_t bytes_per_thread_ = 0;
};

}  // namespace

std::unique_ptr<Attention> plan_attention(const AttentionSpec& spec, const Stream& stream) {
  if (!has_amx() || spec.compute != DType::bf16 || spec.masked || spec.tokens > kMostTokens)
    return nullptr;
  return with_onednn_errors(spec.to_string(),
                            [&] { return std::make_unique<ProductAttention>(spec, stream); });
}

}  // namespace wellspring::ops::cpu
