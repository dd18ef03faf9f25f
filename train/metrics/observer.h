// What a training run tells its owner while it goes: plain reports, no printing. Host only.
#pragma once

#include "core/measure/ceiling.h"
#include "core/measure/processor_load.h"
#include "core/measure/spread.h"
#include "core/work_watch.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/step_graph.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wellspring {

/// What the run is about to do, once memory is committed and before the first step.
struct PlanReport {
  std::string name;
  std::filesystem::path folder;
  std::string device;     ///< "cpu", "cuda:0", with the chip's name
  std::string precision;  ///< "f32", "bf16"
  std::string graph;      ///< "off", "on", "check"
  std::string model;
  std::int64_t parameters = 0;  ///< trainable values
  std::int64_t batch = 0;
  std::uint64_t steps = 0;
  std::uint64_t first_step = 0;  ///< not 0 after a resume
  std::string activations;       ///< "31 tensors of 12.5 MiB in 6 blocks of 4.1 MiB"
  std::string memory_table;
  struct Input {
    std::string name, description, head;
    double weight = 0;  ///< at the first step
  };
  std::vector<Input> sources;
  std::vector<std::string> notes;  ///< "loaded 12 tensors, reset 2 (head.weight, head.bias)"
};

/// How good a head is on some samples, in one number.
struct Score {
  std::string what;  ///< "accuracy", "rmse of x", "mae of x"
  double value = 0;
  std::string unit = {};             ///< "" for shares and where dimensionless
  std::optional<double> error = {};  ///< of an accuracy: its standard error, see share_error
  std::optional<double> best = {};   ///< the best that any predictor can reach, where it is known
};

/// One head on some samples of one source.
struct HeadReport {
  std::string head;
  double loss = 0;  ///< weighted, mean over the samples
  std::vector<Score> scores;
};

/// One source within a window of steps.
struct SourceReport {
  std::string name;
  std::uint64_t samples = 0;
  double wanted_share = 0;  ///< of the window's samples, from the configured weights
  double achieved_share = 0;
  double loss = 0;                 ///< of all its heads, mean over its samples; 0 without samples
  std::optional<double> accuracy;  ///< of its first head that has one
  std::vector<HeadReport> heads = {};
};

/// The steps since the last report.
struct StepReport {
  std::uint64_t step = 0;          ///< steps done, this window included
  std::uint64_t steps = 0;         ///< of the whole run
  std::uint64_t window = 0;        ///< steps in the window
  double loss = 0;                 ///< mean over the window
  std::optional<double> accuracy;  ///< over all sources that have one
  float gradient_norm = 0;         ///< of the last step, before clipping
  float learning_rate = 0;         ///< of the last step
  double samples_per_second = 0;
  bool clean = true;  ///< false when the window held an evaluation or a checkpoint
  std::vector<SourceReport> sources;
  SetOverflow overflow = {};  ///< items of sets that were left out since the run began
};

/// One held-out source.
struct EvaluationResult {
  std::string name;
  std::string head;
  std::uint64_t samples = 0;
  std::uint64_t trained_on = 0;  ///< of them at least; 0: none was found among the training data
  std::uint64_t distinct = 0;    ///< how many different ones there are, which training draws from,
                                 ///< too; 0: no end of them
  double loss = 0;               ///< of all its heads, mean over its samples
  std::optional<double> accuracy;  ///< of its first head that has one
  /// What no classifier can exceed, where the generator knows it in closed form.
  std::optional<double> best_accuracy;
  std::vector<HeadReport> heads = {};
};

struct EvaluationReport {
  std::uint64_t step = 0;
  double seconds = 0;
  std::vector<EvaluationResult> results;
};

struct CheckpointReport {
  std::uint64_t step = 0;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// A rate and what it is a rate of; never one without the other.
struct Throughput {
  std::string what;                       ///< "as configured", "resident (repeat)"
  double samples_per_second = 0;          ///< median over windows
  double spread = 0;                      ///< 1.4826 x median absolute deviation
  std::uint64_t windows = 0;              ///< 0: nothing was measured, and there is no rate
  std::optional<Interval> interval = {};  ///< of the median: see median_interval
};

/// How fast a run's steps are, and how fast they could be.
struct MeasuredRates {
  Throughput as_configured;
  Throughput resident;  ///< the ceiling: the same step without its data part
  CeilingShare share;
  ProcessorLoad load;          ///< meanwhile
  double ceiling_seconds = 0;  ///< that measuring the ceiling took
  std::string no_ceiling;      ///< why there is none: "the run is too short for it"
};

enum class RunStatus : std::uint8_t {
  finished,
  interrupted,  ///< a signal came; the run is checkpointed and can be resumed
};

struct FinishReport : MeasuredRates {
  RunStatus status = RunStatus::finished;
  std::uint64_t step = 0;
  double seconds = 0;                          ///< wall time of this process in run()
  double training_seconds = 0;                 ///< without evaluation, checkpoints and the ceiling
  std::optional<EvaluationReport> evaluation;  ///< the last one
  std::optional<CheckpointReport> checkpoint;  ///< the last one
  std::filesystem::path folder, report, preview;  ///< empty where there is none
};

/// Called on the thread that trains, between steps. Must not throw to stop a run: raise the
/// interrupt flag instead.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// The memory plan, as a table, once it is known to fit and before any of it is allocated: what
  /// is seen of a run that the system kills all the same.
  virtual void on_memory(const std::string& /*table*/) {}
  /// Data are read, or samples evaluated: what, how much of it is done, and of how much. Often.
  virtual void on_work(const std::string& /*what*/, std::uint64_t /*done*/,
                       std::uint64_t /*total*/) {}
  virtual void on_plan(const PlanReport&) {}
  virtual void on_graph(const GraphCensus&) {}
  virtual void on_step_metrics(const StepReport&) {}
  virtual void on_evaluation(const EvaluationReport&) {}
  virtual void on_checkpoint(const CheckpointReport&) {}
  virtual void on_finish(const FinishReport&) {}

  /// Of work that tells on_work.
  WorkWatch watch() {
    return [this](const std::string& what, std::uint64_t done, std::uint64_t total) {
      on_work(what, done, total);
    };
  }
};

}  // namespace wellspring
