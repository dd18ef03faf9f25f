#include "cli/train_view.h"

#include "cli/program.h"
#include "cli/terminal.h"
#include "core/text.h"
#include "train/finished_run.h"
#include "train/heads.h"
#include "train/rates.h"

#include <fmt/format.h>

#include <cstdio>

namespace wellspring::cli {
namespace {

std::string rate(double samples_per_second) {
  return human_count(samples_per_second) + "/s";
}

std::string shares_text(const std::vector<SourceReport>& sources) {
  std::string text;
  if (sources.size() < 2) return text;
  for (const SourceReport& source : sources) {
    if (source.samples == 0) continue;
    text += fmt::format("  {} {}", source.name, percent(source.achieved_share));
  }
  return text;
}

std::string status_text(const StepReport& report) {
  std::string text = fmt::format("loss {:.3f}", report.loss);
  if (report.accuracy) text += fmt::format("  accuracy {}", percent(*report.accuracy));
  text += fmt::format("  lr {:.1e}  {}", report.learning_rate, rate(report.samples_per_second));
  return text + shares_text(report.sources);
}

void print_throughput(const FinishReport& report) {
  if (report.as_configured.windows == 0)
    return;  // too short to measure anything; no rate is better than a wrong one
  tell(stdout, "  {:<16} {}\n", "samples/s", rate_text(report.as_configured));
  for (const auto& [what, value] : ceiling_lines(report))
    tell(stdout, "  {:<16} {}\n", what, value);
}

void print_evaluation(const FinishReport& report) {
  if (!report.evaluation) return;
  for (const EvaluationResult& result : report.evaluation->results) {
    const std::string what = result.trained_on == 0 ? "never trained on" : "held out";
    tell(stdout, "  {:<16} {}\n", what, printable(evaluation_text(result)));
  }
}

void print_files(const FinishReport& report) {
  if (!report.preview.empty())
    tell(stdout, "  {:<16} {}\n", "preview", printable(report.preview.string()));
  if (!report.report.empty())
    tell(stdout, "  {:<16} {}\n", "report", printable(report.report.string()));
}

}  // namespace

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string evaluation_text(const EvaluationResult& result) {
  const std::string trained_on =
      result.trained_on > 0 ? fmt::format(", {} of them trained on", result.trained_on) : "";
  return fmt::format("{}: {}, loss {:.4f}, {} samples{}", result.name, scores_text(result.heads),
                     result.loss, result.samples, trained_on);
}

void TrainView::say(const std::string& line) {
  if (progress_) {
    progress_->say(line);
  } else {
    tell(stdout, "{}\n", printable(line));
  }
}

void TrainView::on_memory(const std::string& table) {
  tell(stdout, "{}\n", printable(table));
  std::fflush(stdout);  // seen, whatever becomes of the allocation
}

void TrainView::on_plan(const PlanReport& plan) {
  const auto line = [](const char* what, const std::string& value) {
    tell(stdout, "  {:<16} {}\n", what, printable(value));
  };
  tell(stdout, "{}\n", paint(Colour::bold, plan.name));
  line("device", fmt::format("{}, {}, graph {}", plan.device, plan.precision, plan.graph));
  line("model", fmt::format("{}, {} parameters", plan.model,
                            human_count(static_cast<double>(plan.parameters))));
  for (const PlanReport::Input& source : plan.sources) {
    line("source", fmt::format("{} ({}), weight {:g}, head {}", source.name, source.description,
                               source.weight, source.head));
  }
  line("run", fmt::format("{} steps of {} samples", plan.steps, plan.batch));
  line("folder", plan.folder.string());
  if (plan.first_step > 0) line("resumed", fmt::format("at step {}", plan.first_step));
  for (const std::string& note : plan.notes) line("note", note);
  line("activations", plan.activations);
  tell(stdout, "\n");
  std::fflush(stdout);
  Progress::Options options;
  options.title = "training";
  options.total = plan.steps;
  options.descriptor = STDOUT_FILENO;
  progress_.emplace(std::move(options));
}

void TrainView::on_graph(const GraphCensus& census) {
  say(fmt::format("step graph: {} kernels, {} fills, {} copies on the device, {} host transfers",
                  census.kernels, census.memsets, census.copies_on_device,
                  census.host_to_device + census.device_to_host + census.host_nodes));
}

void TrainView::on_step_metrics(const StepReport& report) {
  if (progress_) progress_->update(report.step, status_text(report));
  overflow_ = report.overflow;
  if (told_overflow_.samples == 0) say_overflow();
}

void TrainView::say_overflow() {
  if (overflow_.samples == told_overflow_.samples) return;
  told_overflow_ = overflow_;
  say(fmt::format(
      "{} items of {} samples did not fit into the rows of their sets and were left out so "
      "far; give the generator more items",
      overflow_.items, overflow_.samples));
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

void TrainView::finished_before(const FinishReport& report, const RunConfig& config) const {
  tell(stdout, "{}: {} after {} steps before; nothing was done\n", paint(Colour::bold, config.name),
       paint(Colour::green, "finished"), report.step);
  print_evaluation(report);
  print_files(report);
  const std::string train = printable(program_name() + " train " + arguments_);
  const std::string folder = printable(report.folder.string());
  tell(stdout, "\nWhat you can do:\n");
  tell(stdout, "  again, elsewhere  {} out={}-2\n", train, folder);
  if (may_be_longer(config)) {
    tell(stdout, "  longer            {} train.steps={}\n", train, 2 * report.step);
  } else {
    tell(stdout, "  longer            {} out={}-2 init.from={}\n", train, folder, folder);
    tell(stdout,
         "                    (its schedule ends with it; a run of constant rate and weights can "
         "be extended: optimizer.floor=1 optimizer.warmup=0)\n");
  }
  tell(stdout, "  anew, here        remove {} first\n", folder);
}

void TrainView::stopped_before_the_first_step() const {
  tell(stdout, "\n{} before a step was made; nothing is lost, and the same command begins there\n",
       paint(Colour::bold, "stopped by a signal"));
}

void TrainView::on_finish(const FinishReport& report) {
  progress_.reset();
  say_overflow();
  if (report.status == RunStatus::interrupted) {
    tell(stdout, "\n{} at step {}; the run continues from there with\n  {} train {}\n",
         paint(Colour::bold, "stopped by a signal"), report.step, printable(program_name()),
         printable(arguments_));
    return;
  }
  tell(stdout, "\n{} after {} steps in {}\n", paint(Colour::green, "finished"), report.step,
       human_duration(report.seconds));
  print_evaluation(report);
  print_throughput(report);
  print_files(report);
  const std::string program = printable(program_name());
  tell(stdout, "\nTry next:\n");
  if (report.checkpoint)
    tell(stdout, "  {} eval {}\n", program, printable(report.checkpoint->path.string()));
  if (!report.checkpoint) tell(stdout, "  {} describe shapes\n", program);
  tell(stdout, "  {} preview dead_leaves --count 36 --out leaves.png\n", program);
  tell(stdout, "  {} bench generators\n", program);
}

}  // namespace wellspring::cli
