#include "kernels/batch/communicator.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

class SingleRank final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(Stream& /*stream*/, float* /*values*/, std::int64_t /*count*/) override {}
  void all_reduce(std::span<double> /*values*/) override {}
  void broadcast(std::span<std::byte> /*bytes*/) override {}
  void barrier() override {}
};

}  // namespace

Communicator& single_rank() {
  static SingleRank rank;
  return rank;
}

Share share_of(std::int64_t global_batch, int rank, int ranks, std::int64_t unit) {
  WS_EXPECT(ranks >= 1 && rank >= 0 && rank < ranks);
  const std::int64_t step = ranks == 1 ? 1 : ranks * unit;
  if (global_batch % step != 0 || global_batch < step) {
    const std::int64_t below = global_batch / step * step, above = below + step;
    fail(ErrorKind::config,
         {fmt::format("a batch of {} cannot be divided among {}", counted(global_batch, "row"),
                      counted(ranks, "rank")),
          unit == 1 ? "every rank processes the same number of rows"
                    : fmt::format("every rank processes the same number of rows, a multiple of {} "
                                  "with this train.accumulate, data.mix and data.views",
                                  unit),
          below > 0 ? fmt::format("set train.batch: {} or {}, or use a different number of ranks",
                                  below, above)
                    : fmt::format("set train.batch: {}, or use fewer ranks", above)});
  }
  const std::int64_t rows = global_batch / ranks;
  return {global_batch, rank * rows, rows};
}

}  // namespace wellspring
