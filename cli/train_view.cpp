#include "cli/train_view.h"

#include "cli/program.h"
#include "cli/result_view.h"
#include "cli/terminal.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "train/finished_run.h"
#include "train/metrics/rates.h"
#include "train/metrics/run_times.h"
#include "train/run_length.h"
#include "train/step/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace wellspring::cli {
namespace {

constexpr std::size_t kIndent = 4;  ///< columns; continuation lines of a message

std::string rate(double samples_per_second) {
  return human_count(samples_per_second) + "/s";
}

ProgressStatus status_of(const StepReport& report) {
  ProgressStatus status;
  status.needed = fmt::format("loss {:.3f}  {}", report.loss, rate(report.samples_per_second));
  if (report.accuracy) status.more.push_back("accuracy " + percent(*report.accuracy));
  status.more.push_back(fmt::format("lr {:.1e}", report.learning_rate));
  if (report.sources.size() < 2) return status;
  for (const SourceReport& source : report.sources)
    if (source.samples > 0)
      status.more.push_back(source.name + " " + percent(source.achieved_share));
  return status;
}

/// Prints a line of the plan or the results: its name, then its text in a separate column.
void print_line(const std::string& what, const std::string& text) {
  constexpr std::size_t kColumn = 19;
  std::string line = fmt::format("  {:<16} ", what);
  if (line.size() > kColumn) line += "\n" + std::string(kColumn, ' ');
  tell(stdout, "{}\n", fit(printable(line + text), STDOUT_FILENO, kColumn));
}

void print_throughput(const FinishReport& report, std::int64_t log_every) {
  if (report.throughput.windows > 0) {
    print_line("samples/s", rate_text(report.throughput));
    print_line("by wall clock", wall_clock_text(report));
    return;
  }
  print_line("samples/s",
             fmt::format("not measured: needs a window of {} (train.log_every) without evaluation "
                         "or checkpoint, after the first window",
                         counted(log_every, "step")));
}

void print_times(const FinishReport& report) {
  print_line("time", time_text(report.time));
  print_line("data", report.input.text);
}

void print_evaluation(const FinishReport& report) {
  if (!report.evaluation) return;
  for (const EvaluationResult& result : report.evaluation->results)
    tell(stdout, "{}\n",
         fit("  held out, " + printable(evaluation_text(result)), STDOUT_FILENO, kIndent));
}

void print_files(const FinishReport& report) {
  if (report.best) print_line("best", report.best->to_string());
  if (!report.best_checkpoint.empty()) print_line("", report.best_checkpoint.string());
  if (!report.preview.empty()) print_line("preview", report.preview.string());
  if (!report.report.empty()) print_line("report", report.report.string());
}

}  // namespace

std::string command_with(const std::string& name, const std::string& file,
                         const std::vector<std::string>& overrides,
                         const std::vector<std::string>& settings) {
  const auto key = [](const std::string& setting) { return setting.substr(0, setting.find('=')); };
  std::string text = shell_word(program_name()) + " " + name + " " + shell_word(file);
  for (const std::string& given : overrides)
    if (std::ranges::find(settings, key(given), key) == settings.end())
      text += " " + shell_word(given);
  for (const std::string& setting : settings) text += " " + shell_word(setting);
  return text;
}

void TrainView::say(const std::string& line) {
  work_.end();
  if (progress_) {
    progress_->say(fit(line, STDOUT_FILENO, kIndent));
  } else {
    tell(stdout, "{}\n", fit(printable(line), STDOUT_FILENO, kIndent));
  }
}

void TrainView::on_work(const std::string& what, std::uint64_t done, std::uint64_t total) {
  if (progress_) progress_->withdraw();
  work_.show(what, done, total);
}

void TrainView::on_memory(const std::string& table) {
  memory_table_ = table;
}

void TrainView::on_plan(const PlanReport& plan) {
  work_.end();
  tell(stdout, "{}\n{}\n", printable(memory_table_), paint(Colour::bold, plan.name));
  const auto& line = print_line;
  line("device", fmt::format("{}, {}, graph {}", plan.device, plan.precision, plan.graph));
  const auto values = [](std::int64_t n) { return human_count(static_cast<double>(n)); };
  line("model", fmt::format("{}, {} parameters", plan.model, values(plan.parameters)) +
                    (plan.frozen == 0 ? ""
                                      : fmt::format(": {} trained, {} frozen",
                                                    values(plan.parameters - plan.frozen),
                                                    values(plan.frozen))));
  for (const PlanReport::Input& source : plan.sources) {
    line("source", fmt::format("{} ({}), weight {:g}, head {}", source.name, source.description,
                               source.weight, source.head));
  }
  const double limit = config_.train.max_seconds();
  line("run", counted(plan.steps, "step") + " of " + counted(plan.batch, "sample") +
                  (std::isfinite(limit) ? ", at most " + human_duration(limit) : ""));
  config_.train.steps = static_cast<std::int64_t>(plan.steps);
  line("folder", plan.folder.string());
  if (plan.first_step > 0) line("resumed", fmt::format("at step {}", plan.first_step));
  for (const std::string& note : plan.notes) line("note", note);
  line("activations", plan.activations);
  tell(stdout, "\n");
  std::fflush(stdout);
  Progress::Options options;
  options.title = "training";
  options.total = plan.steps;
  options.first = plan.first_step;
  options.descriptor = STDOUT_FILENO;
  progress_.emplace(std::move(options));
}

void TrainView::on_graph(const GraphCensus& census, std::uint64_t steps) {
  // The marks of --trace are host functions.
  const std::string calls =
      census.host_nodes > 0 ? ", " + counted(census.host_nodes, "host call") : "";
  const std::string graph = steps == 1 ? "step graph" : fmt::format("graph of {} steps", steps);
  say(fmt::format("{}: {}, {}, {} on the device, {}{}", graph, counted(census.kernels, "kernel"),
                  counted(census.memsets, "fill"),
                  counted(census.copies_on_device, "copy", "copies"),
                  counted(census.host_to_device + census.device_to_host, "host transfer"), calls));
}

void TrainView::on_step_metrics(const StepReport& report) {
  work_.end();
  if (progress_) progress_->update(report.step, status_of(report));
  overflow_ = report.overflow;
  if (told_overflow_.samples == 0) say_overflow();
}

void TrainView::say_overflow() {
  if (overflow_.samples == told_overflow_.samples) return;
  told_overflow_ = overflow_;
  say(
      fmt::format("so far, {} of {} did not fit into their sets and were left out; increase the "
                  "source's number of items",
                  counted(overflow_.items, "item"), counted(overflow_.samples, "sample")));
}

void TrainView::on_evaluation(const EvaluationReport& report) {
  for (const EvaluationResult& result : report.results) {
    say(fmt::format("evaluation at step {}, {}", report.step, evaluation_text(result)));
  }
}

void TrainView::on_checkpoint(const CheckpointReport& report) {
  say(fmt::format("checkpoint {} ({}, {})", report.path.string(), human_bytes(report.bytes),
                  human_duration(report.seconds)));
}

void TrainView::suggest(const char* what, const std::string& text) const {
  tell(stdout, "  {:<17} {}\n", what, printable(text));
}

std::string TrainView::command_for_steps(std::uint64_t steps) const {
  const std::string length = fmt::format("train.steps={}", steps);
  return config_.train.epochs > 0 ? command("train", {length, "train.epochs=0"})
                                  : command("train", {length});
}

void TrainView::finished_before(const FinishReport& report) {
  config_.train.steps = static_cast<std::int64_t>(report.step);
  tell(stdout, "{}: {} ({}); nothing to do\n", paint(Colour::bold, config_.name),
       paint(Colour::green, "already finished"), counted(report.step, "step"));
  print_evaluation(report);
  print_files(report);
  const std::string folder = report.folder.string(), elsewhere = "out=" + folder + "-2";
  tell(stdout, "\nOptions:\n");
  suggest("run again", command("train", {elsewhere}));
  if (may_be_longer(config_)) {
    suggest("train longer", command_for_steps(2 * report.step));
  } else {
    suggest("train longer", command("train", {"out=" + folder + "-longer", "init.from=" + folder}));
    constexpr std::size_t kColumn = 20;
    tell(stdout, "{}\n",
         fit(std::string(kColumn, ' ') +
                 "(starts a new run from these weights, because the first steps of a longer run "
                 "would have different learning rates or source weights; a run can be extended if "
                 "both are constant: optimizer.schedule=constant optimizer.warmup=0)",
             STDOUT_FILENO, kColumn));
  }
  tell(stdout, "  {:<17} remove {} first\n", "run again here", printable(folder));
}

void TrainView::stopped_before_the_first_step() {
  work_.end();
  tell(stdout, "\n{} before the first step; nothing is lost: repeat the command to start\n",
       paint(Colour::bold, "stopped by a signal"));
}

void TrainView::on_finish(const FinishReport& report) {
  work_.end();
  progress_.reset();
  say_overflow();
  if (report.status == RunStatus::interrupted) {
    tell(stdout, "\n{} at step {}; to continue the run:\n  {}\n",
         paint(Colour::bold, "stopped by a signal"), report.step, printable(command("train", {})));
    return;
  }
  if (report.status == RunStatus::finished)
    tell(stdout, "\n{} after {} in {}\n", paint(Colour::green, "finished"),
         counted(report.step, "step"), human_duration(report.time.total));
  else
    tell(stdout, "\n{} at step {} of {}, after {}\n", paint(Colour::bold, to_string(report.status)),
         report.step, config_.train.steps,
         report.status == RunStatus::out_of_time
             ? human_duration(report.limited_seconds) + " of training"
             : human_duration(report.time.total));
  print_evaluation(report);
  print_throughput(report, config_.train.log_every);
  print_times(report);
  print_files(report);
  report.status == RunStatus::finished ? suggest_next(report) : suggest_higher_limit(report);
}

void TrainView::suggest_higher_limit(const FinishReport& report) const {
  const ops::ScheduleSpec rates = learning_rate_schedule(config_);
  if (ops::learning_rate_at(rates, report.step) != ops::learning_rate_at(rates, rates.total))
    print_line("note", fmt::format("the learning-rate schedule of {} had not ended",
                                   counted(config_.train.steps, "step")));
  tell(stdout, "\nTry next:\n");
  suggest("a higher limit",
          command("train", {higher_limit(config_, report.status, report.limited_seconds)}));
}

void TrainView::suggest_next(const FinishReport& report) const {
  tell(stdout, "\nTry next:\n");
  if (report.checkpoint && !config_.evaluation.sources.empty())
    suggest("evaluate again",
            shell_word(program_name()) + " eval " + shell_word(report.checkpoint->path.string()));
  suggest("draw the samples", fmt::format("{} --step {}", command("preview", {}), report.step / 2));
  const std::string seed = fmt::format("{}", config_.seed + 1);
  suggest("another seed",
          command("train", {"seed=" + seed, "out=" + report.folder.string() + "-seed" + seed}));
  if (may_be_longer(config_)) suggest("train longer", command_for_steps(2 * report.step));
  if (config_.train.graph != GraphMode::check)
    suggest("cost of the data", command("bench train", {}));
}

}  // namespace wellspring::cli
