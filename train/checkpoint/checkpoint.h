// Checkpoints: folders named step-N with the weights (model.safetensors), all other state that a
// resumed run needs (state.safetensors) and checkpoint.json with the digests of both. A checkpoint
// is written completely or not at all. Host only.
#pragma once

#include "kernels/runtime/memory_plan.h"
#include "kernels/runtime/stream.h"
#include "train/checkpoint/checkpoint_header.h"
#include "train/checkpoint/model_file.h"
#include "train/config/run_config.h"
#include "train/metrics/observer.h"
#include "train/step/supervised_task.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// The content of a checkpoint: all blocks that `state` lists as stored. The arrays of `parameters`
/// are written as named tensors, other blocks as raw bytes.
struct CheckpointContent {
  const RunConfig& config;
  const ParameterArena& parameters;
  const std::vector<HeadSpec>& heads;
  SampleLayout input;
  std::vector<StateBlock> state;  ///< MemoryPlan::state
  std::uint64_t step = 0;
  DataIdentity data;
  RunProgress progress;
};

/// The result of resuming.
struct ResumeReport {
  std::uint64_t step = 0;
  std::uint64_t steps = 0;  ///< planned length of the run that wrote it
  DataIdentity data;
  RunProgress progress;
  std::vector<std::string> begun_anew;  ///< names of blocks that keep their initial state
};

/// rehearse: writes all files and removes them again, so that failures surface early.
enum class CheckpointWriting : std::uint8_t { keep, rehearse };

/// The checkpoints of one run folder, and the link `best` (see replace_link) to one of them.
class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder);

  std::filesystem::path run_folder() const { return folder_.parent_path(); }
  /// Steps of complete checkpoints, ascending.
  std::vector<std::uint64_t> steps() const;
  /// Checkpoint folders without a header, in order.
  std::vector<std::filesystem::path> incomplete() const;
  std::filesystem::path path_of(std::uint64_t step) const;
  std::optional<std::filesystem::path> newest() const;

  /// The link to the best checkpoint.
  std::filesystem::path best() const;

  /// Writes a checkpoint and marks the best one. Then removes later checkpoints, and earlier ones
  /// except the newest `keep` and the best. Error (runtime) if it cannot be written; older
  /// checkpoints are then left unchanged.
  CheckpointReport write(const CheckpointContent& content, Stream& stream,
                         CheckpointWriting writing = CheckpointWriting::keep) const;
  /// Prepares a run that continues at `step`. Marks its best checkpoint, so that it is kept.
  /// Removes the incomplete checkpoints of killed processes and all complete ones up to `step`
  /// except the newest `keep` and the best.
  void clean(std::uint64_t step, const std::optional<BestReport>& best, std::int64_t keep) const;

 private:
  void mark_best(const std::optional<BestReport>& best) const;
  void remove_all_but(std::uint64_t step, std::int64_t keep) const;

  std::filesystem::path folder_;
};

/// Restores all stored state bit for bit, and the values derived from the parameters. `config`,
/// `parameters` and `state` belong to the resuming run (see CheckpointContent), which may be longer
/// than the stored one (see expect_same_run). A block listed in `may_begin_anew` is left unchanged
/// if its size differs. Errors: data for a damaged checkpoint; config, with the differences, for a
/// different network, configuration or set of state blocks.
ResumeReport resume_checkpoint(const std::filesystem::path& checkpoint, const RunConfig& config,
                               ParameterArena& parameters, const std::vector<StateBlock>& state,
                               const std::vector<std::string>& may_begin_anew, Stream& stream);

/// The checkpoint folder at `where`: `where` itself, the target of a link `best`, or the newest
/// checkpoint of a run folder.
/// Error (data) if none exists.
std::filesystem::path find_checkpoint(const std::filesystem::path& where);
/// The model file of the checkpoint at `where` (see find_checkpoint), or `where` itself if it is a
/// safetensors file. Error (data) if none exists.
std::filesystem::path find_model_file(const std::filesystem::path& where);
/// Restores only the weights; the networks must be identical. Errors as in resume_checkpoint.
void load_weights(const ModelFile& model, ParameterArena& parameters, Stream& stream);

/// How each tensor of a network was initialised from another network's weights.
struct TransferReport {
  bool foreign = false;                 ///< the file has no digest
  std::vector<std::string> loaded;      ///< same name and shape
  std::vector<std::string> types;       ///< converted types (all but F32)
  std::vector<std::string> resized;     ///< adapted to another shape; lists both shapes
  std::vector<std::string> reset;       ///< head tensors or whole heads, newly initialised
  std::vector<std::string> missing;     ///< not in the file: newly initialised
  std::vector<std::string> unexpected;  ///< in the file, but not in the network
  std::string to_string() const;
};
/// Initialises a network with the weights of init.from. A head is kept only if its name, its loss,
/// and its classes or targets are the same; if the file does not list its heads, the output layer
/// must have the same shape. With InitShapes::adapt, other heads are re-initialised and tensors are
/// adapted (see adapted_tensor.h). Error (config) if any other shape differs, if no tensor fits, or
/// if a head to keep differs. `input`: shape of the network's samples.
TransferReport transfer_weights(const InitConfig& init, const std::vector<HeadSpec>& heads,
                                SampleShape input, ParameterArena& parameters, Stream& stream);
/// Performs the same checks on planned parameters that have no memory yet; writes no weights.
TransferReport check_transfer(const InitConfig& init, const std::vector<HeadSpec>& heads,
                              SampleShape input, const ParameterArena& parameters);

}  // namespace wellspring
