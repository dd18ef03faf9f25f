#include "train/network/fastest_plans.h"

#include "core/io/bytes.h"
#include "core/io/sha256.h"
#include "core/text/plural.h"
#include "generators/table_cache.h"
#include "kernels/ops/conv_tuning.h"
#include "kernels/ops/plan_log.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>

namespace wellspring {
namespace {

/// Version of the way in which plans are chosen. Increase it if different plans are timed, or if
/// the timing changes.
constexpr int kVersion = 1;

std::vector<std::byte> bytes_of_text(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// The cache that belongs to a stream, and what was timed.
struct PlanCache {
  explicit PlanCache(const Stream&) {}
  TableCache cache;
  std::map<std::string, std::string> chosen;  ///< by question
  int timed = 0;
  double seconds = 0;

  std::string choose(const std::string& question, const std::function<std::string()>& time_plans) {
    const auto measure = [&] {
      using Clock = std::chrono::steady_clock;
      const auto begin = Clock::now();
      const std::string fastest = time_plans();
      seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      ++timed;
      return bytes_of_text(fastest);
    };
    const std::vector<std::byte> answer = cache.get({"cudnn", kVersion, "plan", question}, measure);
    return chosen[question] = {reinterpret_cast<const char*>(answer.data()), answer.size()};
  }
};

}  // namespace

void use_fastest_plans(const Stream& stream) {
  if (stream.device().is_cpu()) return;
  // The stream keeps both objects, so the plain pointer stays valid.
  PlanCache* const plans = stream.library<PlanCache>().get();
  stream.library<ops::ConvTuning>()->choice = [plans](const std::string& question,
                                                      const auto& time_plans) {
    return plans->choose(question, time_plans);
  };
}

std::string plans_digest(const Stream& stream) {
  const auto plans = stream.library<PlanCache>();
  const auto log = stream.library<ops::PlanLog>();
  if (plans->chosen.empty() && log->algorithms.empty()) return {};
  Sha256 hash;
  for (const auto* choices : {&plans->chosen, &log->algorithms})
    for (const auto& [question, plan] : *choices)
      hash.update(bytes_of(question + "\n" + plan + "\n"));
  return hash.hex().substr(0, 16);
}

std::vector<std::string> plan_notes(const Stream& stream) {
  const auto plans = stream.library<PlanCache>();
  std::vector<std::string> notes = plans->cache.notes();
  if (plans->timed > 0) {
    notes.push_back(fmt::format(
        "timed cuDNN's plans for {} in {:.1f} s; {}",
        counted(plans->timed, "convolution pass", "convolution passes"), plans->seconds,
        plans->cache.folder().empty()
            ? "no folder for caches is set, so the next run times them again"
            : fmt::format("{} keeps the choice for later runs", plans->cache.folder().string())));
  }
  return notes;
}

}  // namespace wellspring
