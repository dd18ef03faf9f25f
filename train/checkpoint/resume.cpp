#include "train/checkpoint/resume.h"

#include "core/error.h"

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
    fail(ErrorKind::config, {fmt::format("{} holds checkpoints", own->run_folder().string()),
                             "a new run would mix its checkpoints with them",
                             "choose another out=FOLDER, remove the folder, or resume"});
  return newest;
}

}  // namespace wellspring
