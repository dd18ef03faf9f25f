// Records where, when and with which program a run was trained, for metrics.jsonl and the report.
// Host only.
#pragma once

#include "train/metrics/observer.h"

#include <cstdint>
#include <ctime>
#include <string>

namespace wellspring {

/// A process that trains a run from `step` onwards.
struct RunRecord {
  std::uint64_t step = 0;       ///< the first step of the process
  std::string time;             ///< start time: "2026-11-22T09:45:34Z"
  std::string host;             ///< host name
  std::string version, commit;  ///< program version; commit "" if unknown to the build
  std::string build;            ///< "Release"
  std::string device;           ///< this and the next five members as in PlanReport
  std::string precision, graph, model;
  std::int64_t parameters = 0;
  std::int64_t batch = 0;
  std::uint64_t last_step = 0;  ///< planned for the run
  std::string instruction_set;  ///< "avx512"; "avx512 and amx, 2 ranks"; "cuda, library plans
                                ///< 0123456789abcdef"; "" in records written by old versions
};

/// The record of this process, which starts at `step`.
RunRecord run_record(const PlanReport& plan, std::uint64_t step);

/// RunRecord::instruction_set of this process on `device`: "cpu" or "cuda:0", with or without the
/// device name. `precision`: "f32" or "bf16". `plans`: see plans_digest. With several ranks, their
/// number is appended.
std::string computing_instruction_set(const std::string& device, const std::string& precision,
                                      const std::string& plans, int ranks);

/// ISO 8601, in UTC.
std::string utc_text(std::time_t time);

}  // namespace wellspring
