#include "train/run_folder.h"

#include "core/version.h"
#include "train/report.h"

namespace wellspring {
namespace {

constexpr const char* kPreviewFile = "preview.png";
constexpr const char* kReportFile = "report.html";

}  // namespace

RunFolder::RunFolder(const RunConfig& config)
    : path_(config.folder()),
      lock_(path_, "wait for it or stop it, or choose another out=FOLDER"),
      checkpoints_(path_) {}

void RunFolder::open(const RunConfig& config, std::uint64_t step) {
  remove_stale_temporaries(path_);
  checkpoints_.clean();
  write_file(path_ / "config.resolved.yaml", config.to_yaml());
  metrics_.emplace(path_, step);
}

void RunFolder::write_preview(const RgbImage& picture) const {
  write_png(path_ / kPreviewFile, picture);
}

void RunFolder::write_report(const RunConfig& config, const PlanReport& plan,
                             FinishReport& finish) const {
  finish.folder = path_;
  finish.report = path_ / kReportFile;
  if (std::filesystem::exists(path_ / kPreviewFile)) finish.preview = path_ / kPreviewFile;
  ReportInput input;
  input.plan = plan;
  input.finish = finish;
  input.history = read_metrics(path_, finish.step);
  input.config_yaml = config.to_yaml();
  input.version = kVersion;
  if (!finish.preview.empty()) input.preview_png = read_bytes(finish.preview);
  input.preview_caption = "As the network saw it at step 0, augmentation included.";
  write_file(finish.report, report_html(input));
}

}  // namespace wellspring
