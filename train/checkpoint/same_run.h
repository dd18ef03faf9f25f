// Checks whether a run may resume from a checkpoint. Called by train/checkpoint/checkpoint and the
// trainer; host only.
#pragma once

#include "train/checkpoint/checkpoint_header.h"
#include "train/config/run_config.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

/// Compares a run with the one that wrote the checkpoint, and returns the latter's planned steps.
/// The run may be longer if the learning rates of all steps so far are unchanged. Error (config),
/// with the differences, if the run cannot resume from the checkpoint.
std::uint64_t expect_same_run(const std::filesystem::path& checkpoint,
                              const CheckpointHeader& header, const RunConfig& config);
/// train.steps of a stored identity; nullopt if it has none.
std::optional<std::uint64_t> planned_steps(const std::string& identity);
/// Error (config): a longer run would have used different samples or learning rates in the steps so
/// far.
[[noreturn]] void refuse_longer_run(const std::filesystem::path& checkpoint, std::uint64_t before,
                                    std::uint64_t now, const std::string& why);

}  // namespace wellspring
