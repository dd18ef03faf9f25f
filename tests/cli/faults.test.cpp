// Exit code, message and folder of runs in which one system call fails or a signal arrives
// (tests/support/fault_injector.cpp). By default, only a sample of the faults is tried;
// WELLSPRING_FAULT_SWEEP=all tries all of them, which takes half an hour.
#include "core/io/safetensors.h"
#include "tests/cli/command.h"
#include "tests/support/image_fixtures.h"
#include "train/checkpoint/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <signal.h>
#include <sstream>
#include <string>
#include <vector>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFaultyRun = R"(name: small
device: cpu
threads: 1
data:
  size: 8
  sources:
    - {name: noise, generator: shapes}
    - {name: pictures, kind: files, path: pictures}
model: {name: cnn, widths: [4], blocks: [0], pool: [1], norm: none}
optimizer: {kind: sgd, lr: 0.01}
train: {batch: 4, steps: 20, log_every: 1, checkpoint_every: 5, keep_best: loss}
eval: {every: 5, samples: 8, sources: [{of: noise}]}
)";

bool full_sweep() {
  const char* const sweep = std::getenv("WELLSPRING_FAULT_SWEEP");
  return sweep != nullptr && std::string(sweep) == "all";
}

/// The n-th call of a kind fails (`lasting`: all later ones as well), or a signal arrives at that
/// call.
struct Fault {
  std::string call;
  long number = 0;
  int error = 0, signal = 0;
  bool lasting = false;
  std::string text() const {
    return fmt::format("{}:{}{}:{}{}", call, number, lasting ? "+" : "", signal != 0 ? "S" : "",
                       signal != 0 ? signal : error);
  }
};

/// The calls, out of `count`, to try: all of them, or `share` evenly spaced ones.
std::vector<long> sampled(long count, long share, bool all) {
  if (all) share = count;
  std::vector<long> numbers;
  for (long i = 0; i < std::min(share, count); ++i)
    numbers.push_back(1 + (2 * i + 1) * count / (2 * std::min(share, count)));
  return numbers;
}

/// The folder of one run, with a link to the shared pictures.
class RunFolder {
 public:
  explicit RunFolder(const fs::path& pictures) {
    spill(folder_ / "small.yaml", kFaultyRun);
    fs::create_directory_symlink(pictures, folder_ / "pictures");
  }
  fs::path run_folder() const { return folder_ / "runs/small"; }
  fs::path log() const { return log_ / "log"; }
  const TemporaryFolder& folder() const { return folder_; }

  Outcome train(const Fault& fault) const {
    return train_with(fault.text(), fault.signal != 0 ? run_folder() / "metrics.jsonl" : "");
  }
  Outcome train_with(const std::string& fault, const std::string& under = "") const {
    Process::Environment environment = {{"LD_PRELOAD", WELLSPRING_FAULT_INJECTOR},
                                        {"WELLSPRING_DISABLE_CUDA", "1"},
                                        {"WELLSPRING_FAULT", fault},
                                        {"WELLSPRING_FAULT_LOG", log().string()}};
    if (!under.empty()) environment.push_back({"WELLSPRING_FAULT_UNDER", under});
    return wellspring({"train", "small.yaml"}, folder_.path(), environment);
  }
  /// Resumes the run without faults and without measuring its ceiling.
  Outcome resume() const {
    return Process({WELLSPRING_TRAIN_WORKER, "small.yaml"}, folder_.path()).wait();
  }
  std::string weights() const {
    return slurp(run_folder() / "checkpoints/step-20/model.safetensors");
  }
  /// All paths below the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      names.push_back(entry.path().lexically_relative(folder_.path()).string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  TemporaryFolder folder_, log_;
};

class FaultInjection : public testing::Test {
 protected:
  FaultInjection() {
    write_image_folder(pictures_.path(), 2, 3, 8, 8);
    const RunFolder undisturbed(pictures_.path());
    EXPECT_EQ(undisturbed.train_with("count:0:0").exit_code, 0);
    weights_ = undisturbed.weights();
    config_ = slurp(undisturbed.run_folder() / "config.resolved.yaml");
    std::istringstream log(slurp(undisturbed.log()));
    for (std::string word, call; log >> word >> call;) log >> calls_[call];
  }

  /// Runs with the fault, checks the folder, and resumes without the fault.
  void try_fault(const Fault& fault) {
    SCOPED_TRACE(fault.text());
    const RunFolder run(pictures_.path());
    const Outcome outcome = run.train(fault);
    const std::string log = slurp(run.log());
    if (log.empty()) return;  // the run took another code path and did not make the call
    SCOPED_TRACE(log + "exit code " + std::to_string(outcome.exit_code) + ", " + outcome.err);
    ++tried_;
    expect_documented_end(fault, outcome);
    expect_whole(run, removes_its_temporaries(fault));
    const Outcome after = run.resume();
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_TRUE(run.weights() == weights_) << "the final weights differ";
    expect_whole(run, true);
  }

  /// False if the process is killed, if an allocation fails in a noexcept function, or if a folder
  /// cannot be listed or emptied. In these cases, the next run removes the temporary files.
  static bool removes_its_temporaries(const Fault& fault) {
    return fault.signal != SIGKILL && fault.call != "allocate" && fault.call != "unlink" &&
           !(fault.call == "open" && fault.lasting);
  }

  static void expect_documented_end(const Fault& fault, const Outcome& outcome) {
    if (fault.signal == SIGKILL) {
      EXPECT_EQ(outcome.signal, SIGKILL);
      return;
    }
    EXPECT_EQ(outcome.signal, 0) << "ended by a signal";
    const std::vector<int> codes = {0, fault.signal != 0 ? 75 : 1, 2, 3, 4};
    EXPECT_NE(std::find(codes.begin(), codes.end(), outcome.exit_code), codes.end());
    if (outcome.exit_code == 0 || fault.signal != 0) return;
    EXPECT_FALSE(outcome.err.empty()) << "there is no message";
    const std::string reason = fault.call == "allocate" ? "memory" : std::strerror(fault.error);
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << "the message gives no reason";
  }

  /// Expects that every checkpoint matches its digests and that every other file is complete.
  void expect_whole(const RunFolder& run, bool without_temporaries) const {
    for (const std::string& name : run.names()) {
      const bool known = name == "small.yaml" || name == "pictures" || name == "runs" ||
                         name == "runs/small" || name.starts_with("runs/small/");
      EXPECT_TRUE(known) << name << " is outside the run's folder";
      if (without_temporaries) {
        EXPECT_EQ(name.find("/.tmp"), std::string::npos) << name;
        EXPECT_FALSE(name.ends_with(".old")) << name;
      }
    }
    const fs::path folder = run.run_folder();
    if (!fs::is_directory(folder)) return;
    for (const std::uint64_t step : CheckpointStore(folder).steps()) {
      const fs::path checkpoint = CheckpointStore(folder).path_of(step);
      const CheckpointHeader header = read_checkpoint_header(checkpoint);
      EXPECT_EQ(header.step, step);
      for (const auto& [name, file] : header.files) {
        EXPECT_NO_THROW(check_digest(checkpoint / name, header)) << name;
        EXPECT_NO_THROW(SafetensorsFile(checkpoint / name).verify()) << name;
      }
    }
    const std::string config = slurp(folder / "config.resolved.yaml");
    EXPECT_TRUE(config.empty() || config == config_) << config;
    const std::string report = slurp(folder / "report.html");
    EXPECT_TRUE(report.empty() || report.ends_with("</html>\n"));
  }

  TemporaryFolder pictures_;
  std::string weights_, config_;
  std::map<std::string, long> calls_;  ///< calls of each kind in a run without faults
  int tried_ = 0;
};

struct Kind {
  const char* call;
  int error;
  long share;  ///< calls to try by default
};
// mmap is left out: only oneDNN calls it, for generated code, and oneDNN 2.6 ignores a failure.
constexpr Kind kKinds[] = {{"open", EMFILE, 4}, {"read", EIO, 2},     {"write", ENOSPC, 5},
                           {"sync", EIO, 3},    {"truncate", EIO, 1}, {"close", EIO, 2},
                           {"rename", EIO, 2},  {"link", ENOSPC, 1},  {"unlink", EIO, 1},
                           {"mkdir", ENOSPC, 2}};

TEST_F(FaultInjection, LeavesAWholeCheckpointAfterEveryFailingCall) {
  for (const Kind& kind : kKinds) {
    EXPECT_GT(calls_[kind.call], 0) << kind.call;
    for (const long number : sampled(calls_[kind.call], kind.share, full_sweep()))
      try_fault({kind.call, number, kind.error});
  }
  RecordProperty("faults", tried_);
}

TEST_F(FaultInjection, LastingFailuresLeaveAWholeCheckpoint) {
  for (const Kind& kind : {Kind{"write", ENOSPC, 2}, Kind{"sync", EIO, 1}, Kind{"open", EMFILE, 1}})
    for (const long number : sampled(calls_[kind.call], kind.share, full_sweep()))
      try_fault({kind.call, number, kind.error, 0, true});
  RecordProperty("faults", tried_);
}

TEST_F(FaultInjection, RetriesAFailedLineOfMetrics) {
  const RunFolder run(pictures_.path());
  const Outcome outcome =
      run.train_with(fmt::format("write:3:{}", ENOSPC), run.run_folder() / "metrics.jsonl");
  EXPECT_FALSE(slurp(run.log()).empty()) << "no fault occurred";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run.weights(), weights_);
}

TEST_F(FaultInjection, EndsTheRunIfACheckpointCannotBeSynced) {
  const RunFolder run(pictures_.path());
  const Outcome outcome =
      run.train_with(fmt::format("sync:1:{}", EIO), run.run_folder() / "checkpoints");
  EXPECT_FALSE(slurp(run.log()).empty()) << "no fault";
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find(std::strerror(EIO)), std::string::npos) << outcome.err;
}

TEST_F(FaultInjection, NamesTheBestCheckpointInAFileWithoutSymbolicLinks) {
  const RunFolder run(pictures_.path());
  const fs::path config = run.folder() / "small.yaml", best = "runs/small/checkpoints/best";
  std::string text = slurp(config);
  spill(config, text.replace(text.find("every: 5, samples"), 8, "every: 20"));
  const Outcome outcome =
      run.train_with(fmt::format("link:1:{}", EPERM), run.run_folder() / "checkpoints/.tmp-best");
  EXPECT_FALSE(slurp(run.log()).empty()) << "no fault";
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(slurp(run.folder() / best), "step-20\n");
  EXPECT_NE(outcome.out.find(best.string()), std::string::npos) << outcome.out;
  for (const std::vector<std::string>& reader :
       {std::vector<std::string>{"eval", best.string()},
        {"train", "small.yaml", "out=again", "init.from=" + best.string()},
        {"train", "small.yaml", "out=there", "--resume", best.string()}}) {
    const Outcome read = wellspring(reader, run.folder().path());
    EXPECT_EQ(read.exit_code, 0) << read.err;
  }
}

/// A run makes about 100,000 allocations, so even the full sweep tries only a sample of them. Half
/// of the sample is among the first 6000.
TEST_F(FaultInjection, FailingAllocationsLeaveAWholeCheckpoint) {
  const long count = calls_["allocate"], share = full_sweep() ? 300 : 3;
  ASSERT_GT(count, 0);
  for (const long begin : {count, std::min(count, 6000L)})
    for (const long number : sampled(begin, share, false)) try_fault({"allocate", number, ENOMEM});
  // Printing the message needs no memory.
  for (const long number : sampled(count, full_sweep() ? 30 : 1, false))
    try_fault({"allocate", number, ENOMEM, 0, true});
  RecordProperty("faults", tried_);
}

/// The signals arrive at writes of metrics, which precede the next step.
TEST_F(FaultInjection, SignalsAtAnyStepLeaveAResumableRun) {
  constexpr long kSteps = 20;
  for (const int signal : {SIGTERM, SIGINT, SIGKILL})
    for (const long number : sampled(kSteps, 2, full_sweep()))
      try_fault({"write", number, 0, signal});
  RecordProperty("signals", tried_);
}

}  // namespace
}  // namespace wellspring::test
