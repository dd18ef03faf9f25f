#include "train/metrics/run_record.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "core/version.h"
#include "kernels/ops/cpu/instruction_set.h"

#include <array>
#include <ctime>
#include <unistd.h>

namespace wellspring {

std::string utc_text(std::time_t time) {
  std::tm parts{};
  std::array<char, 32> text{};
  if (::gmtime_r(&time, &parts) == nullptr) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string computing_instruction_set(const std::string& device, const std::string& precision,
                                      const std::string& plans, int ranks) {
  const bool on_cpu = device.starts_with("cpu");
  std::string text = on_cpu ? ops::cpu::instruction_set() : "cuda";
  if (on_cpu && precision == "bf16" && ops::cpu::has_amx()) text += " and amx";
  if (!on_cpu && !plans.empty()) text += ", library plans " + plans;
  return ranks == 1 ? text : text + ", " + counted(ranks, "rank");
}

RunRecord run_record(const PlanReport& plan, std::uint64_t step) {
  RunRecord record;
  record.step = step;
  record.time = utc_text(std::time(nullptr));
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) record.host = printable(host.data());
  record.version = kVersion;
  record.commit = kCommit;
  record.build = kBuildType;
  record.device = plan.device;
  record.precision = plan.precision;
  record.graph = plan.graph;
  record.model = plan.model;
  record.parameters = plan.parameters;
  record.batch = plan.batch;
  record.last_step = plan.steps;
  record.instruction_set =
      computing_instruction_set(plan.device, plan.precision, plan.plans, plan.ranks);
  return record;
}

}  // namespace wellspring
