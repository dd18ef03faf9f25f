#include "train/evaluation/evaluation.h"

#include "core/measure/trace.h"
#include "core/signals.h"
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
#include <span>

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

/// The samples that one rank evaluates: consecutive ones, and at most one more than on any other
/// rank.
HeldOutRange part_of(std::uint64_t samples, const Communicator& ranks) {
  const auto rank = static_cast<std::uint64_t>(ranks.rank());
  const auto size = static_cast<std::uint64_t>(ranks.size());
  return {samples * rank / size, samples * (rank + 1) / size};
}

}  // namespace

std::string seen_text(const EvaluationResult& result) {
  if (result.trained_on > 0)
    return fmt::format(", {} of them also in the training data", *result.trained_on);
  if (result.distinct == 0) return "";
  return fmt::format(", drawn from the same {} distinct samples as the training data",
                     result.distinct);
}

Mixture open_evaluated(const RunConfig& config, const std::vector<HeadSpec>& heads,
                       const WorkWatch& watch) {
  if (!has_held_out_loss(heads)) return Mixture(config.seed);
  return config.open_held_out(watch, config.dense_labels());
}

Evaluator::Evaluator(const RunConfig& config, Mixture mixture, SupervisedTask& task,
                     RunContext& context)
    : context_(context), task_(task), mixture_(std::move(mixture)) {
  for (int i = 0; i < mixture_.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const SourceSpec& spec = config.held_out_from(k).spec;
    const Source& source = mixture_.source(i);
    head_names_.push_back(spec.head);
    samples_.push_back(source.size() > 0 ? source.size()
                                         : static_cast<std::uint64_t>(config.evaluation.samples));
    known_.push_back(
        spec.kind == SourceKind::generator
            ? make_generator(spec.generator, config.data.size, spec.params, spec.place)->info()
            : SampleInfo());
  }
  trained_on_.resize(samples_.size());
  const auto signals = signal_classes(config.evaluation.signal, task.heads());
  if (empty()) return;
  truth_ = held_out_truth(config, mixture_);
  feeds_ = feed_heads(task.heads(), config.heads, truth_);
  SampleLayout layout = mixture_.layout();
  layout.latents = std::max(layout.latents, task.layout().latents);
  MemoryPlan& memory = context.memory;
  pass_.plan(memory, layout, task);
  losses_.emplace(task.heads(), feeds_, mixture_.size(), context.pass_share(), task.compute(),
                  HeadLosses::Mode::evaluate, memory, "evaluation");
  const auto sums = static_cast<std::size_t>(losses_->layout().sums());
  sums_ = memory.reserve<double>("evaluation", "sums", sums);
  host_sums_ = memory.reserve<double>("evaluation", "sums", sums, MemorySpace::host);
  plan_scores(signals);
  mixture_.plan(memory, task.rows(), 1);
}

void Evaluator::plan_scores(const std::vector<std::size_t>& signals) {
  const std::vector<HeadSpec>& heads = task_.heads();
  classifiers_.resize(heads.size());
  regressions_.resize(heads.size());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::uint64_t most = 0;
    for (std::size_t s = 0; s < samples_.size(); ++s)
      if (is_fed(h, s)) most = std::max(most, samples_[s]);
    if (most == 0) continue;
    if (heads[h].loss == LossKind::regression)
      regressions_[h].emplace(heads[h]);
    else if (!heads[h].is_dense() && !heads[h].is_item() && !heads[h].is_self_supervised())
      classifiers_[h].emplace(heads[h], most, context_.memory, signals[h]);
  }
}

std::vector<std::string> Evaluator::notes() const {
  std::vector<std::string> notes;
  for (const auto& classifier : classifiers_)
    if (classifier && !classifier->note().empty()) notes.push_back(classifier->note());
  return notes;
}

std::vector<std::string> Evaluator::compare(const Mixture& training, const WorkWatch& watch) {
  std::vector<std::string> found = notes();
  // Generated held-out samples have ids of their own; files stay unknown unless they are compared.
  for (int i = 0; i < mixture_.size(); ++i)
    if (mixture_.source(i).rows() == nullptr) trained_on_[static_cast<std::size_t>(i)] = 0;
  for (const Overlap& overlap :
       find_overlaps(training, mixture_, context_.stream.threads(), kMostComparedBytes, watch)) {
    auto& rows = trained_on_[static_cast<std::size_t>(overlap.held_out)];
    rows = std::max(rows.value_or(0), static_cast<std::uint64_t>(overlap.rows));
    if (overlap.rows > 0) found.push_back(to_string(overlap, training, mixture_));
  }
  return found;
}

void Evaluator::load() {
  if (empty()) return;
  mixture_.load(context_.stream);
  losses_->load(context_.stream);
}

EvaluationReport Evaluator::evaluate(std::uint64_t step, const WorkWatch& watch,
                                     const std::function<void(const PredictedRows&)>& use) {
  const TraceSpan span(stages::kEvaluate, static_cast<std::int64_t>(step));
  const auto begin = std::chrono::steady_clock::now();
  EvaluationReport report;
  report.step = step;
  for (int i = 0; i < mixture_.size(); ++i)
    report.results.push_back(evaluate_source(i, watch, use));
  report.seconds = seconds_since(begin);
  return report;
}

EvaluationResult Evaluator::evaluate_source(int source, const WorkWatch& watch,
                                            const std::function<void(const PredictedRows&)>& use) {
  const std::uint64_t all = samples_[static_cast<std::size_t>(source)];
  const HeldOutRange own = part_of(all, context_.ranks);
  int interrupted = 0;  // number of interrupted ranks
  try {
    pass_samples(source, own, watch, use);
  } catch (const Interrupted&) {
    interrupted = 1;  // tells the other ranks, which wait for the sums
  }
  context_.stream.copy(host_sums_.data(), sums_.data(), sums_.bytes(),
                       CopyDirection::device_to_host, "evaluation sums");
  context_.stream.synchronize();
  sum_over_ranks(context_.ranks, [&](auto f) {
    f(interrupted);
    for (double& sum : std::span(host_sums_.data(), host_sums_.size())) f(sum);
  });
  if (interrupted > 0) throw Interrupted{};
  for (auto& classifier : classifiers_)
    if (classifier) classifier->add_ranks(context_.ranks, own);
  for (auto& regression : regressions_)
    if (regression) regression->add_ranks(context_.ranks);
  return summarise(source);
}

/// Passes samples through the network, and adds up their losses and scores.
void Evaluator::pass_samples(int source, HeldOutRange samples, const WorkWatch& watch,
                             const std::function<void(const PredictedRows&)>& use) {
  const auto k = static_cast<std::size_t>(source);
  Stream& stream = context_.stream;
  stream.fill_zero(sums_.data(), sums_.bytes(), "evaluation sums");
  for (std::size_t h = 0; h < feeds_.size(); ++h) {
    if (classifiers_[h]) classifiers_[h]->clear();
    if (regressions_[h]) regressions_[h]->clear();
  }
  NetworkPass::Uses uses;
  uses.on_device = [&](const BatchView& batch, std::int64_t count) {
    losses_->enqueue(stream, batch, mixture_.slots(), task_.outputs(), task_.output_gradient());
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
      watch(what, done, samples.end - samples.first);
    };
  pass_.run(stream, task_, mixture_, source, samples, uses);
}

std::optional<DensePredictions> Evaluator::predict_pixels(std::int64_t most) {
  const std::vector<HeadSpec>& heads = task_.heads();
  for (std::size_t h = 0; h < heads.size(); ++h)
    for (int s = 0; s < mixture_.size(); ++s)
      if (heads[h].is_dense() && is_fed(h, static_cast<std::size_t>(s)))
        return predict_pixels(heads[h], s, most);
  return std::nullopt;
}

DensePredictions Evaluator::predict_pixels(const HeadSpec& head, int source, std::int64_t most) {
  DensePredictions found{source, head.name, mixture_.layout(), 0, {}, {}, {}, {}};
  const std::size_t classes = head.classes.size();
  NetworkPass::Uses uses;
  uses.on_device = [&](const BatchView& batch, std::int64_t count) {
    found.count = count;
    found.truth.resize(static_cast<std::size_t>(count * head.positions));
    context_.stream.copy(found.truth.data(), batch.plane, found.truth.size() * sizeof(float),
                         CopyDirection::device_to_host, "dense labels of a picture");
    visit_float(batch.dtype, [&]<class T>(T) {
      std::vector<T> x(static_cast<std::size_t>(count * batch.layout.elements()));
      context_.stream.copy(x.data(), batch.x, x.size() * sizeof(T), CopyDirection::device_to_host,
                           "samples of a picture");
      context_.stream.synchronize();
      for (const T value : x) found.x.push_back(static_cast<float>(value));
    });
  };
  uses.on_host = [&](const PredictedRows& rows) {
    found.label.assign(rows.truth.label, rows.truth.label + rows.count);
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::span own(rows.outputs + row * rows.width + head.begin,
                          static_cast<std::size_t>(head.outputs()));
      for (std::size_t at = 0; at < own.size(); at += classes)
        found.predicted.push_back(static_cast<float>(index_of_largest(own.subspan(at, classes))));
    }
  };
  const auto available = static_cast<std::int64_t>(samples_[static_cast<std::size_t>(source)]);
  const auto count = std::min({most, available, context_.share.rows});
  pass_.run(context_.stream, task_, mixture_, source, {0, static_cast<std::uint64_t>(count)}, uses);
  return found;
}

EvaluationResult Evaluator::summarise(int source) {
  const auto k = static_cast<std::size_t>(source);
  EvaluationResult result;
  result.name = mixture_.source(source).name();
  result.head = head_names_[k];
  result.samples =
      static_cast<std::uint64_t>(samples_in(losses_->layout(), host_sums_.data(), source));
  result.heads = losses_->report(host_sums_.data(), source);
  for (HeadReport& report : result.heads) {
    const auto h = static_cast<std::size_t>(
        std::ranges::find(task_.heads(), report.head, &HeadSpec::name) - task_.heads().begin());
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
  if (!has_held_out_loss(network.task.heads()))
    fail(ErrorKind::config, {fmt::format("{}: it was trained without labels", where.string()),
                             "a self-supervised loss is not evaluated on held-out samples, which "
                             "have one view and no mask",
                             "add --knn 20, or train a linear probe: docs/self-supervised.md"});
  Evaluator held_out(config, std::move(network.mixture), network.task, network.context);
  network.load(config);
  held_out.load();
  std::optional<PredictionFile> file;
  const PredictedSamples samples = held_out.samples();
  if (!predictions.empty()) file.emplace(predictions, samples);
  const auto use = [&](const PredictedRows& rows) {
    require_finite_outputs(rows, *samples.mixture);
    if (file) file->append(rows);
  };
  EvaluationReport report = held_out.evaluate(network.step(), observer.watch(), use);
  if (file) file->finish();
  report.notes = held_out.notes();
  if (network.model.foreign())
    report.notes.push_back(fmt::format("{}: {}", network.model.path().string(), kForeignFile));
  observer.on_evaluation(report);
  return report;
}

}  // namespace wellspring
