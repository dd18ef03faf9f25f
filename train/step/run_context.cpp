#include "train/step/run_context.h"

#include "core/error.h"
#include "core/text/plural.h"

#include <fmt/format.h>

#include <span>

namespace wellspring {

Share RunContext::pass_share() const {
  if (passes == 1) return share;
  if (share.rows % (passes * kPassRows) != 0)
    fail(ErrorKind::config,
         {fmt::format("train.accumulate: {} in {}", counted(passes, "pass", "passes"),
                      counted(share.rows, "row of the batch", "rows of the batch")),
          fmt::format("each pass of each rank has the same number of rows, a multiple of {}",
                      kPassRows),
          fmt::format("set train.batch to a multiple of {}", passes * kPassRows * ranks.size())});
  return {share.global_batch / passes, share.first_row / passes, share.rows / passes};
}

bool RunContext::of_first(bool value) {
  ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::string RunContext::of_first(std::string text) {
  std::uint64_t length = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  ranks.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace wellspring
