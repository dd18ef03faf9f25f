// Errors that end a run, with the checkpoint to continue from. Called by the trainer; host only.
#pragma once

#include "core/error.h"
#include "train/step/run_context.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

/// Error (runtime): the loss or the gradient of `step` is not finite.
[[noreturn]] void fail_nonfinite(std::uint64_t step,
                                 const std::optional<std::filesystem::path>& newest);
/// Error (data): a rank cannot read its data for `step`. `kept`: advice, with the saved progress.
[[noreturn]] void fail_damaged(std::uint64_t step, const Error& error, const std::string& kept);
/// Ends all ranks between two steps, with the message of a rank that has found damage. `damage`:
/// the damage that this rank has found.
[[noreturn]] void end_damaged(RunContext& context, std::uint64_t step,
                              const std::optional<Error>& damage, const std::string& kept);
/// Error of the same kind as `error`, which has prevented the checkpoint of `step`.
[[noreturn]] void fail_checkpoint(const Error& error, std::uint64_t step,
                                  const std::optional<std::filesystem::path>& newest);

}  // namespace wellspring
