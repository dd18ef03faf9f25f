// Whether a run may go on from a checkpoint. Called by train/checkpoint/checkpoint and the trainer; host only.
#pragma once

#include "train/checkpoint/checkpoint_header.h"
#include "train/config/run_config.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace wellspring {

/// Compares a run with the one that wrote the checkpoint. It may be longer where all its steps so
/// far had the same learning rates. Returns the other's length in steps. Error (config), with what
/// differs, where the run cannot go on from there.
std::uint64_t expect_same_run(const std::filesystem::path& checkpoint,
                              const CheckpointHeader& header, const RunConfig& config);
/// Error (config): the samples of the steps so far would have been others in a longer run.
[[noreturn]] void refuse_longer_run(const std::filesystem::path& checkpoint, std::uint64_t before,
                                    std::uint64_t now, const std::string& why);

}  // namespace wellspring
