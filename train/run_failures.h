// Errors that end a run, with the checkpoint to continue from. Called by the trainer; host only.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace wellspring {

/// Error (runtime): the loss or the gradient of `step` is not finite.
[[noreturn]] void fail_nonfinite(std::uint64_t step,
                                 const std::optional<std::filesystem::path>& newest);
/// Error (of the same kind): the checkpoint of `step` cannot be written because of `error`.
[[noreturn]] void fail_checkpoint(const Error& error, std::uint64_t step,
                                  const std::optional<std::filesystem::path>& newest);

}  // namespace wellspring
