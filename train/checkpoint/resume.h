// The starting point of a run. Called by the trainer and the command line; host only.
#pragma once

#include "train/checkpoint/checkpoint.h"
#include "train/step/run_context.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

struct ResumeChoice {
  enum class Kind : std::uint8_t {
    automatic,  ///< the newest complete checkpoint of the run folder, otherwise step 0
    never,      ///< step 0; Error (config) if the run folder holds checkpoints
    path,       ///< the checkpoint at `path`, or the newest one in the run folder there
  };
  Kind kind = Kind::automatic;
  std::filesystem::path path;
  /// "auto", "never" or a path.
  static ResumeChoice parse(const std::string& text);
};

/// The checkpoint to resume from; nullopt: start at step 0. `own`: checkpoints of the run's folder,
/// null if it has none. Errors: as in ResumeChoice; data if the path has no checkpoint.
std::optional<std::filesystem::path> checkpoint_to_resume(const ResumeChoice& choice,
                                                          const CheckpointStore* own);

/// Adds notes on a run resumed at `step` from `checkpoint`: the checkpoint, incomplete checkpoints
/// next to it, and a change of instruction set, library plans or number of ranks.
void add_resume_notes(std::vector<std::string>& notes, const std::filesystem::path& checkpoint,
                      std::uint64_t step, DType compute, const RunContext& context);

}  // namespace wellspring
