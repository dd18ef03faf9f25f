#include "kernels/batch/communicator.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

namespace wellspring {

Share share_of(std::int64_t global_batch, int rank, int ranks) {
  WS_EXPECT(ranks >= 1 && rank >= 0 && rank < ranks);
  if (global_batch % ranks != 0 || global_batch < ranks) {
    const std::int64_t below = global_batch / ranks * ranks, above = below + ranks;
    fail(ErrorKind::config,
         {fmt::format("a batch of {} cannot be divided among {}", counted(global_batch, "row"),
                      counted(ranks, "rank")),
          "every rank processes the same number of rows",
          below > 0 ? fmt::format("set train.batch: {} or {}, or use another number of ranks",
                                  below, above)
                    : fmt::format("set train.batch: {}, or use fewer ranks", above)});
  }
  const std::int64_t rows = global_batch / ranks;
  return {global_batch, rank * rows, rows};
}

}  // namespace wellspring
