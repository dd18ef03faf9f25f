#include "kernels/ops/embedding_loss.h"

#include "core/expect.h"
#include "kernels/ops/embedding_teams.h"
#include "kernels/runtime/launch.h"

namespace wellspring::ops {
namespace {

constexpr TeamShape kTeam = {kEmbeddingTeam, kEmbeddingScratch};

/// Takes consecutive parts of the workspace.
class Parts {
 public:
  explicit Parts(float* begin) : next_(begin) {}
  float* take(std::int64_t count) {
    float* const part = next_;
    next_ += count;
    return part;
  }

 private:
  float* next_;
};

template <class T>
void contrast(Stream& stream, const Embeddings& of, const float* outputs, const EmbeddingLoss& loss,
              float* workspace, const LossResult& out) {
  Parts parts(workspace);
  const std::int64_t values = of.rows * of.width;
  float *const z = parts.take(values), *const transposed = parts.take(values),
               *const gradients = parts.take(values),
               *const similarities = parts.take(of.rows * of.rows),
               *const inverse_norm = parts.take(of.rows), *const statistic = parts.take(of.rows);
  league(stream, "normalise embeddings", of.rows, kTeam,
         NormaliseEmbeddings{{}, of, outputs, z, transposed, inverse_norm});
  league(stream, "compare embeddings", of.rows, kTeam,
         CompareEmbeddings{{}, of, loss, z, transposed, similarities, statistic});
  league(stream, "contrast embeddings", of.rows, kTeam,
         ContrastEmbeddings<T>{{},
                               of,
                               loss,
                               z,
                               inverse_norm,
                               statistic,
                               similarities,
                               gradients,
                               out.loss,
                               static_cast<T*>(out.gradient)});
}

template <class T>
void regularise(Stream& stream, const Embeddings& of, const float* outputs,
                const EmbeddingLoss& loss, float* workspace, const LossResult& out) {
  Parts parts(workspace);
  const std::int64_t values = of.rows * of.width, columns = std::int64_t{of.views} * of.width;
  float* const gradients = parts.take(values);
  const CentredColumns centred = {parts.take(values), parts.take(values), parts.take(columns),
                                  parts.take(columns * of.width), parts.take(columns)};
  league(stream, "centre embeddings", columns, kTeam, CentreEmbeddings{{}, of, outputs, centred});
  league(stream, "covariance of embeddings", columns, kTeam,
         CovarianceOfEmbeddings{{}, of, loss, centred});
  league(stream, "regularise embeddings", of.rows, kTeam,
         RegulariseEmbeddings<T>{
             {}, of, loss, outputs, centred, gradients, out.loss, static_cast<T*>(out.gradient)});
}

}  // namespace

std::size_t embedding_workspace(const EmbeddingLoss& loss, std::int64_t rows, std::int32_t width) {
  const std::int64_t columns = std::int64_t{loss.views} * width;
  const std::int64_t rest =
      loss.kind == EmbeddingLossKind::vicreg ? columns * (width + 2) : rows * (rows + 2);
  return static_cast<std::size_t>(3 * rows * width + rest);
}

void embedding_loss(Stream& stream, const HeadSlice& head, const float* outputs,
                    const EmbeddingLoss& loss, float* workspace, const LossResult& out) {
  WS_EXPECT(loss.views >= 2 && head.launched() % loss.views == 0 &&
            head.launched() >= 2 * loss.views && head.mean_over() == head.launched());
  const Embeddings of = {head.launched(), head.outputs, loss.views,
                         head.width,      head.begin,   head.weight[0]};
  visit_float(head.gradient, [&]<class T>(T) {
    if (loss.kind == EmbeddingLossKind::vicreg)
      regularise<T>(stream, of, outputs, loss, workspace, out);
    else
      contrast<T>(stream, of, outputs, loss, workspace, out);
  });
}

}  // namespace wellspring::ops
