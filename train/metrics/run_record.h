// Where, when and by what a run was trained: for metrics.jsonl and whoever shows it. Host only.
#pragma once

#include "train/metrics/observer.h"

#include <cstdint>
#include <ctime>
#include <string>

namespace wellspring {

/// Of one process, which trains a run from a step on.
struct RunRecord {
  std::uint64_t step = 0;       ///< steps that were made before
  std::string time;             ///< when it began: "2026-11-22T09:45:34Z"
  std::string host;             ///< the machine's name
  std::string version, commit;  ///< of this program; commit "" where its build did not know it
  std::string build;            ///< "Release"
  std::string device;           ///< this and what follows as in PlanReport
  std::string precision, graph, model;
  std::int64_t parameters = 0;
  std::int64_t batch = 0;
  std::uint64_t last_step = 0;  ///< of the whole run
};

/// Here and now, after `step` steps.
RunRecord run_record(const PlanReport& plan, std::uint64_t step);

/// ISO 8601, in UTC.
std::string utc_text(std::time_t time);

}  // namespace wellspring
