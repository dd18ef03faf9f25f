#include "train/run_failures.h"

#include <fmt/format.h>

#include <stdexcept>

namespace wellspring {

void fail_nonfinite(std::uint64_t step, const std::optional<std::filesystem::path>& newest) {
  fail(ErrorKind::runtime,
       {fmt::format("step {}: the loss or the gradient is not finite", step),
        "its update was skipped, and training cannot continue",
        fmt::format("lower optimizer.lr, lengthen optimizer.warmup or set train.clip; {}",
                    newest ? "the last good checkpoint is " + newest->string()
                           : "no checkpoint exists yet")});
}

void fail_damaged(std::uint64_t step, const Error& error, const std::string& kept) {
  fail(ErrorKind::data, {fmt::format("step {}: {}", step, error.what()), "", kept});
}

void end_damaged(RunContext& context, std::uint64_t step, const std::optional<Error>& damage,
                 const std::string& kept) {
  if (damage) fail_damaged(step, *damage, kept);
  context.ranks.barrier();  // throws the other rank's message
  throw std::logic_error("a rank has found damaged data and goes on");
}

void fail_checkpoint(const Error& error, std::uint64_t step,
                     const std::optional<std::filesystem::path>& newest) {
  fail(error.kind(),
       {fmt::format("step {}: cannot write the checkpoint: {}", step, error.what()), "",
        fmt::format("run the same command again; {}",
                    newest ? "the newest complete checkpoint is " + newest->string()
                           : "no complete checkpoint exists yet")});
}

}  // namespace wellspring
