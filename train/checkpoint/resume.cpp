#include "train/checkpoint/resume.h"

#include "core/error.h"
#include "train/metrics/metrics_log.h"
#include "train/network/fastest_plans.h"

#include <fmt/format.h>

namespace wellspring {

ResumeChoice ResumeChoice::parse(const std::string& text) {
  if (text == "auto") return {Kind::automatic, {}};
  if (text == "never") return {Kind::never, {}};
  return {Kind::path, text};
}

std::optional<std::filesystem::path> checkpoint_to_resume(const ResumeChoice& choice,
                                                          const CheckpointStore* own) {
  if (choice.kind == ResumeChoice::Kind::path) return find_checkpoint(choice.path);
  if (own == nullptr) return std::nullopt;
  const std::optional<std::filesystem::path> newest = own->newest();
  if (newest && choice.kind == ResumeChoice::Kind::never)
    fail(ErrorKind::config,
         {fmt::format("{} already holds checkpoints", own->run_folder().string()),
          "a new run would mix its checkpoints with them",
          "choose another out=FOLDER, remove the folder, or resume"});
  return newest;
}

void add_resume_notes(std::vector<std::string>& notes, const std::filesystem::path& checkpoint,
                      std::uint64_t step, DType compute, const RunContext& context) {
  notes.push_back(fmt::format("resumed at step {} from {}", step, checkpoint.string()));
  const CheckpointStore store(checkpoint.parent_path().parent_path());
  for (const std::filesystem::path& folder : store.incomplete())
    notes.push_back(fmt::format("{} is incomplete and was not used", folder.string()));
  const std::string before = instruction_set_before(store.run_folder(), step);
  const std::string now =
      computing_instruction_set(context.device().to_string(), to_string(compute),
                                plans_digest(context.stream), context.ranks.size());
  if (!before.empty() && before != now)
    notes.push_back(fmt::format(
        "the steps before {} were computed with {}, and later steps use {}: the weights "
        "may deviate in their last bits from an uninterrupted run",
        step, before, now));
}

}  // namespace wellspring
