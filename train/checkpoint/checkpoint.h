// Checkpoints: folders step-N with the weights (model.safetensors), all other state that a resumed
// run needs (state.safetensors) and checkpoint.json with the digests of both. Written whole or not
// at all. Host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/checkpoint/checkpoint_header.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// What a model file says of itself, so that it can be used without the run it came from. It names
/// no place of the machine that made it.
struct ModelDescription {
  std::uint64_t step = 0;
  std::string config_yaml;      ///< RunConfig::portable_yaml
  std::vector<HeadSpec> heads;  ///< in the order of the outputs
  SampleLayout input;           ///< of one sample: what the network reads of it
};

/// What a checkpoint is made of. Everything that `state` lists as stored goes into it: the arrays
/// of `parameters` tensor by tensor, any other block as it lies in memory.
struct CheckpointContent {
  const RunConfig& config;
  const ParameterArena& parameters;
  const std::vector<HeadSpec>& heads;
  SampleLayout input;
  std::vector<StateBlock> state;  ///< MemoryPlan::state
  std::uint64_t step = 0;
  SampleCounts samples;
};

/// What a resumed run learns of where it goes on.
struct ResumeReport {
  std::uint64_t step = 0;
  std::uint64_t steps = 0;  ///< of the run that wrote it, which may have been meant to be shorter
  SampleCounts samples;
  std::vector<std::string> begun_anew;  ///< state blocks that were left as they were
};

/// rehearse: all files are written and removed again, so that what would fail does so early.
enum class CheckpointWriting : std::uint8_t { keep, rehearse };

/// The checkpoints of one run folder.
class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder);

  std::filesystem::path run_folder() const { return folder_.parent_path(); }
  /// Steps of complete checkpoints, ascending.
  std::vector<std::uint64_t> steps() const;
  std::filesystem::path path_of(std::uint64_t step) const;
  std::optional<std::filesystem::path> newest() const;

  /// Writes a checkpoint and removes later ones, and all but the newest `keep`. Error (runtime)
  /// where it cannot be written; older ones are then untouched.
  CheckpointReport write(const CheckpointContent& content, Stream& stream,
                         CheckpointWriting writing = CheckpointWriting::keep) const;
  /// Before a run goes on at `step`: removes what killed ones left unfinished or half removed, and
  /// of checkpoints up to there all but the newest `keep`.
  void clean(std::uint64_t step, std::int64_t keep) const;

 private:
  void remove_all_but(std::uint64_t step, std::int64_t keep) const;

  std::filesystem::path folder_;
};

/// Restores all state that is stored, to the bit, and what the parameters derive from it. `config`,
/// `parameters` and `state` are the resuming run's, see CheckpointContent;
/// it may be longer, see expect_same_run. A block named in
/// `may_begin_anew` is left as it is where its size differs. Errors: data for a checkpoint that is
/// damaged; config for one of another network, of a run that was configured otherwise or one whose
/// state has other blocks, with what differs.
ResumeReport resume_checkpoint(const std::filesystem::path& checkpoint, const RunConfig& config,
                               ParameterArena& parameters, const std::vector<StateBlock>& state,
                               const std::vector<std::string>& may_begin_anew, Stream& stream);

/// The checkpoint folder that `where` leads to: itself, or the newest of a run folder. Error (data)
/// where there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& where);
/// The model file that `where` leads to: a run folder (its newest checkpoint), a checkpoint folder
/// or a model.safetensors. Error (data) where there is none.
std::filesystem::path find_model_file(const std::filesystem::path& where);
/// Errors (data): no model file, or not one of ours.
ModelDescription describe_model(const std::filesystem::path& model_file);
/// Restores the weights alone; the network must be the same. Errors as resume_checkpoint.
void load_weights(const std::filesystem::path& model_file, ParameterArena& parameters,
                  Stream& stream);

/// What became of the tensors of a network that begins with another's weights.
struct TransferReport {
  std::vector<std::string> loaded;   ///< equal name and shape
  std::vector<std::string> reset;    ///< of the head: as a new network has them
  std::vector<std::string> missing;  ///< the network has them, the file does not: as new
  std::vector<std::string> unused;   ///< the file has them, the network does not
  std::string to_string() const;
};
/// Begins with another network's weights, wholly or but for the head. Heads that are kept need the
/// same name and loss, and classes or targets; others are reset. Error (config) where a tensor has
/// another shape, or nothing fits.
TransferReport transfer_weights(const std::filesystem::path& model_file, HeadInit head_init,
                                const std::vector<HeadSpec>& heads, ParameterArena& parameters,
                                Stream& stream);
/// The same without the weights themselves, of parameters that are planned.
TransferReport check_transfer(const std::filesystem::path& model_file, HeadInit head_init,
                              const std::vector<HeadSpec>& heads, const ParameterArena& parameters);

}  // namespace wellspring
