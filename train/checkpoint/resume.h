// The starting point of a run. Called by the trainer and the command line; host only.
#pragma once

#include "train/checkpoint/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

struct ResumeChoice {
  enum class Kind : std::uint8_t {
    automatic,  ///< the newest complete checkpoint of the run folder, else step 0
    never,      ///< step 0; Error (config) if the run folder holds checkpoints
    path,       ///< this checkpoint, or the newest of this run folder
  };
  Kind kind = Kind::automatic;
  std::filesystem::path path;
  /// "auto", "never" or a path.
  static ResumeChoice parse(const std::string& text);
};

/// The checkpoint to resume from; nullopt: start at step 0. `own`: checkpoints of the run's folder,
/// null without a folder. Errors: as in ResumeChoice; data if the path leads to no checkpoint.
std::optional<std::filesystem::path> checkpoint_to_resume(const ResumeChoice& choice,
                                                          const CheckpointStore* own);

/// Notes of a run that goes on at `step` from `checkpoint`: which, incomplete checkpoints next to it,
/// and another instruction set than that of the steps before.
void add_resume_notes(std::vector<std::string>& notes, const std::filesystem::path& checkpoint,
                      std::uint64_t step, const Device& device);

}  // namespace wellspring
