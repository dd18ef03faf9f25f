// Reports of a training run to its caller: plain structs, no printing. Used by the trainer and the
// command line; host only.
#pragma once

#include "core/measure/input_bound.h"
#include "core/measure/processor_load.h"
#include "core/measure/spread.h"
#include "core/work_watch.h"
#include "kernels/batch/batch.h"
#include "kernels/runtime/step_graph.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wellspring {

/// The plan of a run, complete once memory is committed, before the first step.
struct PlanReport {
  std::string name;
  std::filesystem::path folder;
  std::string device;     ///< "cpu", "cuda:0", with the device name
  std::string precision;  ///< "f32", "bf16"
  std::string graph;      ///< "off", "on", "check"
  std::string plans;      ///< plans_digest of convolutions
  std::string model;
  std::int64_t parameters = 0;  ///< number of values, including frozen ones
  std::int64_t frozen = 0;
  std::int64_t batch = 0;   ///< samples per step on all ranks
  double sample_bytes = 0;  ///< values of a sample that the network reads
  int ranks = 1;
  std::uint64_t steps = 0;
  std::uint64_t first_step = 0;  ///< not 0 after a resume
  std::string activations;       ///< "31 tensors of 12.5 MiB in 6 blocks of 4.1 MiB"
  std::string memory_table;
  double memory = 0;  ///< bytes of the device's memory in it
  struct Input {
    std::string name, description, head;
    double weight = 0;      ///< at the first step
    bool streamed = false;  ///< rows are read during the run
    bool encoded = false;   ///< and decoded
    double bytes = 0;       ///< size of all rows; 0: a generator
    bool computed = false;  ///< generated or augmented, in the step
  };
  std::vector<Input> sources;
  std::vector<std::string> notes;  ///< "loaded 12 tensors, reset 2 (head.weight, head.bias)"
};

/// A head's score on a set of samples.
struct Score {
  std::string what;  ///< "accuracy", "rmse of x", "mae of x"
  double value = 0;
  std::string unit = {};             ///< "" for fractions and dimensionless targets
  std::optional<double> error = {};  ///< standard error of an accuracy, see share_error
  std::optional<double> best = {};   ///< best value that any predictor can reach, if known
  bool detail = false;               ///< left out of one-line summaries
  std::string signal = {};           ///< class that counts as signal; "": does not matter
};

/// One class of a classifier against the others. A value is missing if it is 0 / 0.
struct ClassReport {
  std::string name;
  double samples = 0;  ///< sum of their weights
  std::optional<double> precision = {}, recall = {}, f1 = {};
  std::optional<double> area = {};  ///< area under the ROC curve
};

/// Samples whose largest probability is in one interval.
struct CalibrationBin {
  double share = 0;       ///< share of all samples
  double confidence = 0;  ///< mean of the largest probability
  double accuracy = 0;
};

/// A classifier on samples of one source; docs/results.md has the formulas.
struct ClassifierReport {
  std::vector<ClassReport> classes = {};
  /// [class, predicted class], sums of weights; empty for multi_label and for many classes.
  std::vector<double> confusion = {};
  std::vector<CalibrationBin> calibration = {};           ///< without empty bins
  std::vector<std::pair<double, double>> roc_curve = {};  ///< two classes: RocCurve::points
};

/// A head's results on samples of one source.
struct HeadReport {
  std::string head;
  double loss = 0;  ///< weighted mean over the samples
  std::vector<Score> scores;
  std::optional<ClassifierReport> classifier = {};  ///< held-out samples only
};

/// A source's results in a window of steps.
struct SourceReport {
  std::string name;
  std::uint64_t samples = 0;
  double wanted_share = 0;  ///< fraction of the samples according to the configured weights
  double achieved_share = 0;
  double loss = 0;                 ///< sum over its heads, mean over its samples
  std::optional<double> accuracy;  ///< from its first head that has one
  std::vector<HeadReport> heads = {};
};

/// A window of steps since the last report.
struct StepReport {
  std::uint64_t step = 0;          ///< completed steps, including this window
  std::uint64_t steps = 0;         ///< planned for the run
  std::uint64_t window = 0;        ///< steps in the window
  double loss = 0;                 ///< mean over the window
  std::optional<double> accuracy;  ///< over all sources that have one
  float gradient_norm = 0;         ///< last step, before clipping
  float learning_rate = 0;         ///< last step
  double samples_per_second = 0;
  bool clean = true;  ///< false if the window contains an evaluation or a checkpoint
  std::vector<SourceReport> sources;
  SetOverflow overflow = {};  ///< set items omitted since the run began
  /// Share of the time in which steps of rank 0 waited for streamed rows; nullopt: none, or unknown.
  std::optional<double> wait = {};
};

/// The results of one held-out source.
struct EvaluationResult {
  std::string name;
  std::string head;
  std::uint64_t samples = 0;
  /// Samples known to be in the training data; 0: none found, nullopt: not compared.
  std::optional<std::uint64_t> trained_on;
  /// Number of distinct samples that the source and training draw from; 0: unbounded or unknown.
  std::uint64_t distinct = 0;
  double loss = 0;                 ///< sum over heads, mean over samples
  std::optional<double> accuracy;  ///< from its first head that has one
  /// Upper bound for any classifier, if the generator knows it in closed form.
  std::optional<double> best_accuracy;
  std::vector<HeadReport> heads = {};
};

struct EvaluationReport {
  std::uint64_t step = 0;
  double seconds = 0;
  std::vector<EvaluationResult> results;
  std::vector<std::string> notes = {};  ///< for example that another program wrote the file
};

struct CheckpointReport {
  std::uint64_t step = 0;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// The training rate of a run.
struct Throughput {
  double samples_per_second = 0;          ///< median over windows
  std::uint64_t windows = 0;              ///< 0: the rate was not measured
  std::optional<Interval> interval = {};  ///< confidence interval of the median, see
                                          ///< median_interval
};

/// The verdict on the cost of data, from a run's waits for rows.
struct InputVerdict {
  InputBound bound = InputBound::inconclusive;
  double wait = 0;                        ///< share of the time of steps: median over windows
  std::optional<Interval> interval = {};  ///< 95 % interval of the median
  std::string text = {};                  ///< "HIGHLY input-bound: steps waited for ..."
};

/// The time of a process by its use, in seconds by the host's clock.
struct RunTime {
  double total = 0;     ///< from the start to the end of Trainer::run
  double training = 0;  ///< steps; the rest is the next four, and time before the report
  double start = 0, evaluations = 0, checkpoints = 0, pictures = 0;
  /// Part of the training: summing up and writing metrics. On a GPU, steps run at the same time.
  double metrics = 0;
  /// Part of the training: by how much the first steps took longer than later ones.
  double first_steps = 0;
  /// Rate by the host's clock over the rate by marks on the stream, see core/measure/clocks.h.
  double clocks = 1;
};

/// The best held-out figure of a run so far, see train.keep_best.
struct BestReport {
  std::string figure;  ///< "shapes.accuracy"
  double value = 0;
  std::uint64_t step = 0;

  std::string to_string() const;  ///< "shapes.accuracy 0.981 at step 80"
  friend bool operator==(const BestReport&, const BestReport&) = default;
};

/// Every run that is not finished is checkpointed and can be resumed.
enum class RunStatus : std::uint8_t {
  finished,
  interrupted,       ///< by a signal
  out_of_time,       ///< train.max_time
  out_of_patience,   ///< train.patience
  already_finished,  ///< by an earlier process; this one did nothing
};
/// "finished", "stopped by train.max_time".
std::string to_string(RunStatus status);

struct FinishReport {
  RunStatus status = RunStatus::finished;
  std::uint64_t step = 0;
  RunTime time;                                   ///< this process
  InputVerdict input;                             ///< this process
  double limited_seconds = 0;                     ///< RunProgress::training_seconds
  Throughput throughput;                          ///< median over clean windows
  ProcessorLoad load;                             ///< during run()
  std::optional<EvaluationReport> evaluation;     ///< the last one, if any
  std::optional<CheckpointReport> checkpoint;     ///< the last one, if any
  std::optional<BestReport> best;                 ///< with train.keep_best
  std::filesystem::path best_checkpoint;          ///< empty if the folder has none
  std::filesystem::path folder, report, preview;  ///< empty if not written
};

/// Callbacks on the training thread, between steps. To stop a run, raise the interrupt flag; do not
/// throw.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Receives the memory plan as a table, checked but not yet allocated, so that it is visible even
  /// if the system kills the run.
  virtual void on_memory(const std::string& /*table*/) {}
  /// Progress of reading data or evaluating: name, completed and total work. Called often.
  virtual void on_work(const std::string& /*what*/, std::uint64_t /*done*/,
                       std::uint64_t /*total*/) {}
  virtual void on_plan(const PlanReport&) {}
  /// A recorded graph of one step, or of `steps` steps that are launched together.
  virtual void on_graph(const GraphCensus&, std::uint64_t /*steps*/) {}
  virtual void on_step_metrics(const StepReport&) {}
  virtual void on_evaluation(const EvaluationReport&) {}
  virtual void on_checkpoint(const CheckpointReport&) {}
  virtual void on_finish(const FinishReport&) {}

  /// Asked before each step, on rank 0. After true, the trainer writes a checkpoint of the steps so
  /// far, unless it exists, and goes on.
  virtual bool wants_checkpoint() { return false; }

  /// A watch that forwards to on_work.
  WorkWatch watch() {
    return [this](const std::string& what, std::uint64_t done, std::uint64_t total) {
      on_work(what, done, total);
    };
  }
};

}  // namespace wellspring
