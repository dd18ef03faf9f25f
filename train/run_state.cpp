#include "train/run_state.h"

#include "core/config/config_values.h"
#include "core/error.h"
#include "core/measure/trace.h"
#include "core/text/plural.h"
#include "train/checkpoint/data_identity.h"
#include "train/checkpoint/same_run.h"
#include "train/run_failures.h"
#include "train/step/rank_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

/// State blocks whose size depends on log_every, which may change on resume.
const std::vector<std::string> kRingBlocks = {"metrics/ring", "metrics/sums of the ring"};

/// The settings that must be identical on all ranks.
std::string shared_settings(const RunConfig& config) {
  constexpr std::array<std::string_view, 5> kOwn = {"device", "threads", "memory", "out",
                                                    "data.root"};
  std::vector<ConfigEntry> entries = config.entries();
  std::erase_if(entries, [&](const ConfigEntry& entry) {
    return std::ranges::find(kOwn, entry.path_text()) != kOwn.end();
  });
  return config_yaml(entries);
}

void require_same_config(RunContext& context, const RunConfig& config) {
  const std::string own = shared_settings(config), first = context.of_first(own);
  if (own == first) return;
  fail(ErrorKind::config,
       {fmt::format("rank {} has a different configuration from rank 0: {}", context.ranks.rank(),
                    fmt::join(config_differences(first, own), "; ")),
        "all ranks train one network on one sequence of samples",
        "start all ranks with the same configuration and the same files"});
}

}  // namespace

RunState::Start RunState::begin(const ResumeChoice& choice, const CheckpointStore* own,
                                std::vector<std::string>& notes) {
  require_same_config(context_, config_);
  task_.parameters().initialise(context_.stream, config_.seed);
  data_ = data_identity(mixture_);
  std::string from;
  if (context_.is_first())
    if (const auto checkpoint = checkpoint_to_resume(choice, own)) from = checkpoint->string();
  from = context_.of_first(from);
  Start start;
  if (!from.empty()) {
    start = resume(from, own, notes);
  } else if (!config_.init.from.empty()) {
    const TransferReport transfer = transfer_weights(
        config_.init, task_.heads(), task_.layout().shape(), task_.parameters(), context_.stream);
    notes.push_back(fmt::format("weights from {}: {}", config_.init.from, transfer.to_string()));
  }
  context_.ranks.barrier();  // rank 0 removes checkpoints only after all ranks have read theirs
  return start;
}

RunState::Start RunState::resume(const fs::path& checkpoint, const CheckpointStore* own,
                                 std::vector<std::string>& notes) {
  const TraceSpan span(stages::kRestart);
  const ResumeReport resumed =
      resume_checkpoint(checkpoint, config_, task_.parameters(), context_.memory.state(),
                        kRingBlocks, context_.stream);
  keep_parts_of_first(context_, step_);
  require_same_data(resumed.data, data_, checkpoint);
  const auto steps = static_cast<std::uint64_t>(config_.train.steps);
  if (resumed.steps != steps && !mixture_.same_assignment(resumed.steps, resumed.step))
    refuse_longer_run(checkpoint, resumed.steps, steps,
                      "the assignment of batch slots to sources depends on the number of steps");
  best_.resume(resumed.progress, resumed.step, own, notes);
  if (resumed.steps != steps)
    notes.push_back(fmt::format("extended from {} to {}", counted(resumed.steps, "step"), steps));
  add_resume_notes(notes, checkpoint, resumed.step, config_.compute_type(context_.device()),
                   context_);
  return {resumed.step, resumed.progress.training_seconds};
}

void RunState::require_finite(const std::optional<fs::path>& newest) {
  StepState state;
  context_.stream.copy(&state, step_.state().data(), sizeof state, CopyDirection::device_to_host,
                       "step state");
  context_.stream.synchronize();
  std::vector<std::uint32_t> flags(static_cast<std::size_t>(context_.ranks.size()), 0);
  flags[static_cast<std::size_t>(context_.ranks.rank())] = state.nonfinite;
  sum_over_ranks(context_.ranks, [&](auto f) {
    for (std::uint32_t& flag : flags) f(flag);
  });
  std::erase(flags, 0u);
  if (!flags.empty()) fail_nonfinite(*std::ranges::min_element(flags) - 1, newest);
}

CheckpointReport RunState::write(std::uint64_t step, const RunProgress& progress,
                                 CheckpointWriting writing) {
  const TraceSpan span(stages::kCapture, static_cast<std::int64_t>(step));
  const bool keep = writing == CheckpointWriting::keep;
  const CheckpointStore store(config_.folder());
  CheckpointReport report{step, store.path_of(step), 0, 0};
  if (keep) collect_parts(context_, step_);
  if (context_.is_first()) {
    try {
      report = store.write({config_, task_.parameters(), task_.heads(), task_.layout(),
                            context_.memory.state(), step, data_, progress},
                           context_.stream, writing);
    } catch (const Error& error) {
      fail_checkpoint(error, step, store.newest());
    }
  }
  if (keep) context_.ranks.barrier();
  return report;
}

void RunState::share_running_statistics() {
  if (context_.ranks.size() == 1) return;
  const ParameterArena& parameters = task_.parameters();
  std::int64_t begin = parameters.changing();
  for (const ParameterTensor& tensor : parameters.tensors())
    if (tensor.kind == TensorKind::buffer) begin = std::min(begin, tensor.offset);
  // Buffers are the last part of what a step changes.
  const ArenaArray buffers{"", parameters.master() + begin, parameters.changing() - begin};
  if (buffers.length == 0) return;
  std::vector<float> values = ParameterArena::download(context_.stream, buffers);
  context_.ranks.broadcast(std::as_writable_bytes(std::span(values)));
  ParameterArena::upload(context_.stream, values, buffers);
}

}  // namespace wellspring
