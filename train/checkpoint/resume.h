// Where a run begins. Called by the trainer and the command line; host only.
#pragma once

#include "train/checkpoint/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace wellspring {

struct ResumeChoice {
  enum class Kind : std::uint8_t {
    automatic,  ///< at the newest complete checkpoint of the run folder, else at step 0
    never,      ///< at step 0; Error (config) when the run folder holds checkpoints
    path,       ///< at this checkpoint, or the newest of this run folder
  };
  Kind kind = Kind::automatic;
  std::filesystem::path path;
  /// "auto", "never" or a path.
  static ResumeChoice parse(const std::string& text);
};

/// The checkpoint that a run begins at; nothing where it begins at step 0. `own`: those of its
/// folder, null where it has none. Errors: as ResumeChoice says, and data where the path leads to
/// no checkpoint.
std::optional<std::filesystem::path> checkpoint_to_resume(const ResumeChoice& choice,
                                                          const CheckpointStore* own);

}  // namespace wellspring
