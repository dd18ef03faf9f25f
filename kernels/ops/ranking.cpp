#include "kernels/ops/ranking.h"

#include "kernels/runtime/launch.h"

namespace wellspring::ops {

void collect_scores(Stream& stream, std::int64_t rows, const float* outputs, std::int32_t width,
                    std::int32_t begin, const std::int32_t* labels, ScoredSample* out) {
  map(stream, "collect_scores", rows, CollectScores{outputs, width, begin, labels, out});
}

}  // namespace wellspring::ops
