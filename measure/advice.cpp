// Remedies of `diagnose`, with their expected gain and memory.
#include "core/text/plural.h"
#include "core/text/text.h"
#include "measure/diagnosis_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace wellspring {
namespace {

/// Packing is advised for at least this many files with a smaller mean size, because each has to be
/// found and opened.
constexpr std::uint64_t kManyFiles = 1000, kSmallFile = std::uint64_t{1} << 20;

struct Remedy {
  double gain = 1;  ///< rate over the configured one
  std::string text;
};

/// Rows of all streamed sources.
std::string streamed_bytes(const DiagnosisReport& report) {
  double bytes = 0;
  for (const PlanReport::Input& source : report.sources)
    if (source.streamed) bytes += source.bytes;
  return human_bytes(static_cast<std::uint64_t>(bytes));
}

std::string file_bytes(const DiagnosisReport& report) {
  return report.files ? human_bytes(report.files->bytes) : "their size";
}

std::vector<std::string> decoding_remedies(const DiagnosisReport& report) {
  const std::string bytes = streamed_bytes(report);
  return {"keep decoded rows in host memory: cache: decoded (" + bytes + " of host memory)",
          "decode once: wellspring pack CONFIG --format hdf5 --pixels u8 (" + bytes +
              " of storage, no memory)"};
}

std::vector<std::string> reading_remedies(const DiagnosisReport& report) {
  const bool encoded = std::ranges::any_of(report.sources, &PlanReport::Input::encoded);
  if (!encoded)
    return {"keep the rows in host memory: cache: decoded (" + streamed_bytes(report) +
            " of host memory)"};
  std::vector<std::string> remedies = {"keep the files in host memory: cache: encoded (" +
                                       file_bytes(report) + " of host memory)"};
  const FileCount files = report.files.value_or(FileCount{});
  if (files.count >= kManyFiles && files.bytes < kSmallFile * files.count)
    remedies.push_back(
        fmt::format("pack {} into shards, which are read in one go: wellspring pack "
                    "CONFIG --layout webdataset ({} of storage, no memory)",
                    counted(files.count, "file"), file_bytes(report)));
  return remedies;
}

std::vector<std::string> remedies_of(const DiagnosisReport& report, const std::string& stage) {
  if (report.sources.empty())
    return {
        "load with more worker processes or threads, load further ahead, or cache what this "
        "stage makes"};
  const auto has = [&](const char* word) { return stage.find(word) != std::string::npos; };
  if (has("copying"))
    return {"keep the rows on the device: storage: resident (" + streamed_bytes(report) +
            " of device memory)"};
  if (has("decoding")) return decoding_remedies(report);
  if (has("reading")) return reading_remedies(report);
  if (has("generation"))
    return {
        "make the samples on a faster device, or with cheaper parameters (wellspring bench "
        "generators)"};
  if (has("augmentation")) return {"use fewer augmentations"};
  return {"use smaller rows (data.size, data.channels)"};
}

bool has_file_stage(const std::string& stage) {
  return std::ranges::any_of(stages_of(stage), [](const std::string& one) {
    return one == "copying" || one == "decoding" || one == "reading files";
  });
}

/// Rows that are made on the device are neither read, decoded nor copied. The rung above these
/// stages bounds the gain. nullopt: none of them is a confirmed cause.
std::optional<Remedy> generated(const DiagnosisReport& report) {
  if (report.sources.empty() ||
      std::ranges::none_of(report.diagnosis.causes, [](const Cause& cause) {
        return cause.confirmed && has_file_stage(cause.stage);
      }))
    return std::nullopt;
  const RungResult& configured = report.ladder.configured();
  const RungResult* above = &configured;
  for (const RungResult& rung : report.ladder.rungs) {
    if (rung.apart || has_file_stage(rung.stage)) break;
    above = &rung;
  }
  if (above == &configured) return std::nullopt;
  const double gain = above->samples_per_second() / configured.samples_per_second();
  return Remedy{
      gain, fmt::format("generate the samples on the device, if a generator can replace the files "
                        "(device memory for a batch, {}; no storage): wellspring list generators; "
                        "expect up to {:.2f} times the rate, {} samples/s, less the time of "
                        "generation (wellspring bench generators)",
                        human_bytes(static_cast<std::uint64_t>(configured.bytes)), gain,
                        human_count(above->samples_per_second()))};
}

/// The best setting of a sweep, unless it is the configuration.
std::optional<Remedy> swept(const Ladder& sweep) {
  const RungResult &best = best_of_sweep(sweep), &configured = sweep.rungs.front();
  if (&best == &configured) return std::nullopt;
  std::string memory;
  if (best.memory > 0 && best.memory != configured.memory)
    memory = fmt::format(", {} of device memory instead of {}",
                         human_bytes(static_cast<std::uint64_t>(best.memory)),
                         human_bytes(static_cast<std::uint64_t>(configured.memory)));
  const bool batch = best.samples != configured.samples;
  const double gain = best.samples_per_second() / configured.samples_per_second();
  return Remedy{gain, fmt::format("{}: {:.2f} times the rate in the sweep{}{}", best.name, gain,
                                  memory, batch ? "; it needs another learning rate" : "")};
}

}  // namespace

std::vector<std::string> advice(const DiagnosisReport& report) {
  std::vector<Remedy> remedies;
  const RungResult& configured = report.ladder.configured();
  for (const Cause& cause : report.diagnosis.causes) {
    if (!cause.confirmed) continue;
    for (const std::string& remedy : remedies_of(report, cause.stage))
      remedies.push_back(
          {cause.gain, fmt::format("{}: {}; expect up to {:.2f} times the rate, {} samples/s",
                                   cause.stage, remedy, cause.gain,
                                   human_count(configured.samples_per_second() * cause.gain))});
  }
  if (auto remedy = generated(report)) remedies.push_back(std::move(*remedy));
  for (const Counterfactual& tried : report.tried)
    if (tried.helps())
      remedies.push_back(
          {tried.gain, fmt::format("{}: {:.2f} times the rate, measured", tried.what, tried.gain)});
  if (report.cold && report.cold->rung) {
    const double gain = configured.rate / report.cold->rung->rate;
    if (gain >= 1 + kModerately)
      remedies.push_back(
          {gain,
           fmt::format("storage: copy the files to faster storage of this machine ({} there, no "
                       "memory); while they are not in the page cache, expect up to {:.2f} "
                       "times the rate",
                       file_bytes(report), gain)});
  }
  if (report.sweep)
    if (auto best = swept(*report.sweep)) remedies.push_back(std::move(*best));
  std::ranges::stable_sort(remedies, std::ranges::greater{}, &Remedy::gain);
  std::vector<std::string> lines;
  for (Remedy& remedy : remedies) lines.push_back(std::move(remedy.text));
  return lines;
}

const RungResult& best_of_sweep(const Ladder& sweep) {
  const RungResult& configured = sweep.rungs.front();
  const RungResult* best = &configured;
  for (const RungResult& rung : sweep.rungs)
    if (rung.interval && configured.interval &&
        rung.interval->low * rung.samples > configured.interval->high * configured.samples &&
        rung.samples_per_second() > best->samples_per_second())
      best = &rung;
  return *best;
}

}  // namespace wellspring
