#include "train/run_folder.h"

#include "core/error.h"
#include "core/io/atomic_folder.h"
#include "core/version.h"
#include "train/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <map>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.resolved.yaml";

/// Files that users keep next to a run: batch-system logs, scripts, configurations.
bool may_lie_beside(const fs::directory_entry& entry) {
  constexpr std::array<std::string_view, 7> kEndings = {".log", ".out",  ".err", ".txt",
                                                        ".sh",  ".yaml", ".yml"};
  std::error_code unknown;  // treated as foreign
  if (!entry.is_regular_file(unknown)) return false;
  const fs::path name = entry.path().filename();
  return name.string().starts_with('.') ||
         std::ranges::count(kEndings, name.extension().string()) > 0;
}

/// Refuses a folder with foreign files, because a run writes a dozen files and removes those from
/// earlier processes.
void expect_no_foreign_files(const fs::path& folder) {
  std::error_code error;  // an unreadable folder is refused when it is written to
  const bool root = fs::equivalent(folder, "/", error);
  const bool ours = fs::exists(folder / kConfigFile, error) || CheckpointStore(folder).newest();
  if (!root && (ours || !fs::is_directory(folder, error))) return;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (root || !may_lie_beside(*entry)) names.push_back(entry->path().filename().string());
  if (names.empty()) return;
  std::ranges::sort(names);
  const std::size_t all = names.size();
  names.resize(std::min<std::size_t>(all, 3));
  fail(ErrorKind::config,
       {fmt::format("{}: contains other files: {}{}", folder.string(), fmt::join(names, ", "),
                    all > names.size() ? fmt::format(" and {} more", all - names.size()) : ""),
        "a run writes checkpoints, metrics and reports there, and removes its older ones",
        "choose a folder for this run alone: out=FOLDER"});
}

constexpr std::string_view kLaterPreview = "preview-", kPicture = ".png";

std::string preview_name(std::uint64_t step) {
  return step == 0 ? kPreviewFile : fmt::format("{}{}{}", kLaterPreview, step, kPicture);
}

/// Pictures of batches in a run folder, by step.
std::map<std::uint64_t, fs::path> previews(const fs::path& folder) {
  std::map<std::uint64_t, fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::uint64_t step = 0;
    if (name.starts_with(kLaterPreview))
      std::from_chars(name.data() + kLaterPreview.size(), name.data() + name.size(), step);
    if (name == preview_name(step)) found[step] = entry.path();
  }
  return found;
}

}  // namespace

RunFolder::RunFolder(const RunConfig& config)
    : path_((expect_no_foreign_files(config.folder()), config.folder())),
      lock_(path_, "wait for it or stop it, or choose another out=FOLDER"),
      descriptor_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      checkpoints_(path_) {}

RunFolder::~RunFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunFolder::expect_in_place() const {
  struct stat ours {};
  struct stat there {};
  if (::fstat(descriptor_, &ours) != 0) return;  // it could not be opened
  if (::stat(path_.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
      ours.st_ino == there.st_ino)
    return;
  std::error_code error;  // without /proc the new location is unknown
  const fs::path now = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor_), error);
  fail(ErrorKind::runtime,
       {fmt::format("{}: the run folder was moved or replaced during the run", path_.string()),
        error || ours.st_nlink == 0 ? "" : fmt::format("it is {} now", now.string()),
        "move it back, then run the same command again"});
}

void RunFolder::open(const RunConfig& config, const PlanReport& plan, std::uint64_t step,
                     const std::optional<BestReport>& best) {
  remove_stale_temporaries(path_);
  // This report is from an earlier process. Its presence would mark the run as finished.
  std::filesystem::remove(path_ / kReportFile);
  checkpoints_.clean(step, best, config.train.keep);
  write_file(path_ / kConfigFile, config.to_yaml());
  for (const auto& [made_at, file] : previews(path_))
    if (made_at >= step) std::filesystem::remove(file);
  metrics_.emplace(path_, step);
  metrics_->write(run_record(plan, step));
}

void RunFolder::sync_metrics() {
  expect_in_place();
  if (metrics_) metrics_->sync();
}

void RunFolder::write_preview(std::uint64_t step, const RgbImage& picture) const {
  expect_in_place();
  write_png(path_ / preview_name(step), picture);
}

void RunFolder::write_predictions(const RgbImage& picture) const {
  expect_in_place();
  write_png(path_ / kPredictionsFile, picture);
}

void RunFolder::write_report(const RunConfig& config, const PlanReport& plan,
                             FinishReport& finish) {
  expect_in_place();
  metrics_->write(finish);
  metrics_->sync();
  finish.folder = path_;
  if (!finish.checkpoint)
    finish.checkpoint = CheckpointReport{finish.step, checkpoints_.path_of(finish.step), 0, 0};
  if (std::filesystem::exists(checkpoints_.best())) finish.best_checkpoint = checkpoints_.best();
  finish.report = path_ / kReportFile;
  if (std::filesystem::exists(path_ / kPreviewFile)) finish.preview = path_ / kPreviewFile;
  ReportInput input;
  input.plan = plan;
  input.finish = finish;
  input.history = read_metrics(path_, finish.step);
  input.config_yaml = config.to_yaml();
  input.version = kVersion;
  for (const auto& [made_at, file] : previews(path_))
    if (made_at < finish.step)
      input.pictures.push_back(
          {read_bytes(file),
           fmt::format("Network input at step {}, including augmentation.", made_at)});
  if (std::filesystem::exists(path_ / kPredictionsFile))
    input.pictures.push_back({read_bytes(path_ / kPredictionsFile),
                              "Held-out samples at the last evaluation: each one first with its "
                              "dense labels, then with the predicted classes."});
  write_file(finish.report, report_html(input));
}

}  // namespace wellspring
