#include "train/evaluation/evaluation.h"

#include "generators/generator.h"
#include "sources/overlap.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/files_read.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/metrics/rates.h"
#include "train/step/source_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace wellspring {
namespace {

/// Adds the best possible values, where known, to the scores. The best accuracy applies only to the
/// head that the source's labels belong to.
void note_best(EvaluationResult& result, const std::vector<BestResult>& known) {
  for (const BestResult& best : known) {
    for (HeadReport& head : result.heads)
      for (Score& score : head.scores)
        if (score.what == best.metric && (best.metric != "accuracy" || head.head == result.head))
          score.best = best.value;
    if (best.metric == "accuracy" && result.accuracy) result.best_accuracy = best.value;
  }
}

}  // namespace

std::string seen_text(const EvaluationResult& result) {
  if (result.trained_on > 0)
    return fmt::format(", {} of them also in the training data", *result.trained_on);
  if (result.distinct == 0) return "";
  return fmt::format(", drawn from the same {} distinct samples as the training data",
                     result.distinct);
}

Evaluator::Evaluator(const RunConfig& config, Mixture mixture, const SupervisedTask& task,
                     MemoryPlan& memory)
    : mixture_(std::move(mixture)) {
  for (int i = 0; i < mixture_.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const SourceSpec& spec = config.held_out_from(k).spec;
    const Source& source = mixture_.source(i);
    head_names_.push_back(spec.head);
    samples_.push_back(source.size() > 0 ? source.size()
                                         : static_cast<std::uint64_t>(config.evaluation.samples));
    known_.push_back(spec.kind == SourceKind::generator
                         ? make_generator(spec.generator, static_cast<int>(config.data.size),
                                          spec.params, spec.place)
                               ->info()
                         : SampleInfo());
  }
  trained_on_.resize(samples_.size());
  const auto signals = signal_classes(config.evaluation.signal, task.heads());
  if (empty()) return;
  truth_ = held_out_truth(config, mixture_);
  feeds_ = feed_heads(task.heads(), config.heads, truth_);
  SampleLayout layout = mixture_.layout();
  layout.latents = std::max(layout.latents, task.layout().latents);
  pass_.plan(memory, config.train.batch, layout, task);
  losses_.emplace(task.heads(), feeds_, mixture_.size(), Share::whole(config.train.batch),
                  task.compute(), HeadLosses::Mode::evaluate, memory, "evaluation");
  const auto sums = static_cast<std::size_t>(losses_->layout().sums());
  sums_ = memory.reserve<double>("evaluation", "sums", sums);
  host_sums_ = memory.reserve<double>("evaluation", "sums", sums, MemorySpace::host);
  plan_scores(task.heads(), signals, memory);
  mixture_.plan(memory, config.train.batch, 1);
}

void Evaluator::plan_scores(const std::vector<HeadSpec>& heads,
                            const std::vector<std::size_t>& signals, MemoryPlan& memory) {
  classifiers_.resize(heads.size());
  regressions_.resize(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::uint64_t most = 0;
    for (std::size_t s = 0; s < samples_.size(); ++s)
      if (is_fed(h, s)) most = std::max(most, samples_[s]);
    if (most == 0) continue;
    if (heads[h].loss == LossKind::regression)
      regressions_[h].emplace(heads[h]);
    else if (!heads[h].is_dense())
      classifiers_[h].emplace(heads[h], most, memory, signals[h]);
  }
}

std::vector<std::string> Evaluator::notes() const {
  std::vector<std::string> notes;
  for (const auto& classifier : classifiers_)
    if (classifier && !classifier->note().empty()) notes.push_back(classifier->note());
  return notes;
}

std::vector<std::string> Evaluator::compare(const Mixture& training, int threads,
                                            const WorkWatch& watch) {
  std::vector<std::string> found = notes();
  trained_on_.assign(samples_.size(), 0);
  for (const Overlap& overlap :
       find_overlaps(training, mixture_, threads, kMostComparedBytes, watch)) {
    auto& rows = trained_on_[static_cast<std::size_t>(overlap.held_out)];
    rows = std::max(*rows, static_cast<std::uint64_t>(overlap.rows));
    if (overlap.rows > 0) found.push_back(to_string(overlap, training, mixture_));
  }
  return found;
}

void Evaluator::load(Stream& stream) {
  if (empty()) return;
  mixture_.load(stream);
  losses_->load(stream);
}

EvaluationReport Evaluator::evaluate(Stream& stream, SupervisedTask& task, std::uint64_t step,
                                     const WorkWatch& watch,
                                     const std::function<void(const PredictedRows&)>& use) {
  const auto begin = std::chrono::steady_clock::now();
  EvaluationReport report;
  report.step = step;
  for (int i = 0; i < mixture_.size(); ++i)
    report.results.push_back(evaluate_source(stream, task, i, watch, use));
  report.seconds = seconds_since(begin);
  return report;
}

EvaluationResult Evaluator::evaluate_source(Stream& stream, SupervisedTask& task, int source,
                                            const WorkWatch& watch,
                                            const std::function<void(const PredictedRows&)>& use) {
  const auto k = static_cast<std::size_t>(source);
  stream.fill_zero(sums_.data(), sums_.bytes(), "evaluation sums");
  for (std::size_t h = 0; h < feeds_.size(); ++h) {
    if (classifiers_[h]) classifiers_[h]->clear();
    if (regressions_[h]) regressions_[h]->clear();
  }
  NetworkPass::Uses uses;
  uses.on_device = [&](const BatchView& batch, std::int64_t count) {
    losses_->enqueue(stream, batch, mixture_.slots(), task.outputs(), task.output_gradient());
    ops::accumulate_evaluation(stream, losses_->measures(), count, mixture_.slots(), sums_.data());
  };
  uses.on_host = [&](const PredictedRows& rows) {
    for (std::size_t h = 0; h < feeds_.size(); ++h) {
      if (!is_fed(h, k)) continue;
      if (classifiers_[h]) classifiers_[h]->add(rows);
      if (regressions_[h]) regressions_[h]->add(rows, feeds_[h]);
    }
    if (use) use(rows);
  };
  if (watch)
    uses.progress = [&, what = "evaluating " + mixture_.source(source).name()](std::uint64_t done) {
      watch(what, done, samples_[k]);
    };
  pass_.run(stream, task, mixture_, source, samples_[k], uses);
  stream.copy(host_sums_.data(), sums_.data(), sums_.bytes(), CopyDirection::device_to_host,
              "evaluation sums");
  stream.synchronize();
  EvaluationResult result;
  result.name = mixture_.source(source).name();
  result.head = head_names_[k];
  result.samples =
      static_cast<std::uint64_t>(samples_in(losses_->layout(), host_sums_.data(), source));
  result.heads = losses_->report(host_sums_.data(), source);
  for (HeadReport& report : result.heads) {
    const auto h = static_cast<std::size_t>(
        std::ranges::find(task.heads(), report.head, &HeadSpec::name) - task.heads().begin());
    if (classifiers_[h]) classifiers_[h]->write(report);
    if (regressions_[h]) regressions_[h]->write(report);
    result.loss += report.loss;
  }
  result.accuracy = accuracy_of(result.heads);
  note_best(result, known_[k].best);
  result.trained_on = trained_on_[k];
  result.distinct = known_[k].distinct;
  return result;
}

EvaluationReport evaluate_checkpoint(const std::filesystem::path& where, RunConfig config,
                                     TrainObserver& observer,
                                     const std::filesystem::path& predictions) {
  if (!predictions.empty()) {
    std::vector<std::filesystem::path> inputs = files_read(config);
    inputs.push_back(find_model_file(where));
    require_prediction_path(predictions, inputs);
  }
  if (config.evaluation.sources.empty())
    fail(ErrorKind::config,
         {"no evaluation data", "eval.sources is empty", "add sources to eval.sources"});
  CheckpointNetwork network(where, config, observer);
  Evaluator held_out(config, std::move(network.mixture), network.task, network.memory);
  network.load(config);
  held_out.load(network.stream);
  std::optional<PredictionFile> file;
  const PredictedSamples samples = held_out.samples(network.task);
  if (!predictions.empty()) file.emplace(predictions, samples);
  const auto use = [&](const PredictedRows& rows) {
    require_finite_outputs(rows, *samples.mixture);
    if (file) file->append(rows);
  };
  EvaluationReport report =
      held_out.evaluate(network.stream, network.task, network.step(), observer.watch(), use);
  if (file) file->finish();
  report.notes = held_out.notes();
  if (network.model.foreign())
    report.notes.push_back(fmt::format("{}: {}", network.model.path().string(), kForeignFile));
  observer.on_evaluation(report);
  return report;
}

}  // namespace wellspring
