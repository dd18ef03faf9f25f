#include "train/evaluation/evaluation.h"

#include "core/signals.h"
#include "generators/generator.h"
#include "sources/normalisation.h"
#include "sources/overlap.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation/area_under_curve.h"
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

/// Input and heads of the network: from the model file or, if it does not describe them, from a run
/// with this configuration. Error (config) if the held-out samples do not fit the input.
SupervisedTask::Input input_of(const ModelFile& model, const RunConfig& config,
                               const SampleLayout& held_out, TrainObserver& observer) {
  if (!model.description()) {
    const Mixture training = config.open_training(observer.watch());
    return {held_out, SupervisedTask::Input::of(config, training).heads};
  }
  if (!held_out.same_input(model.description()->input))
    fail(ErrorKind::config,
         {fmt::format(
              "{} was trained on samples of a different shape: {} in the model, {} held out",
              model.path().string(), to_string(model.description()->input), to_string(held_out)),
          "the network accepts only the shape that it was built for",
          "set data.size to match, or evaluate on other data"});
  return {held_out, model.description()->heads};
}

/// Scales held-out events and sets as the network was trained with.
void normalise_as(const ModelDescription& model, RunConfig& config, Mixture& held_out) {
  if (model.input.kind == SampleKind::image) return;
  adopt_normalisation(config.data, model.input, model.config_yaml, Adopt::defaults_and_auto);
  for (int i = 0; i < held_out.size(); ++i)
    held_out.source(i).normalise(
        config.held_out_from(static_cast<std::size_t>(i)).augmentations.normalisation);
}

}  // namespace

std::string seen_text(const EvaluationResult& result) {
  if (result.trained_on > 0)
    return fmt::format(", {} of them also in the training data", result.trained_on);
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
  trained_on_.resize(samples_.size(), 0);
  if (empty()) return;
  SampleLayout layout = mixture_.layout();
  layout.latents = std::max(layout.latents, task.layout().latents);
  batch_.plan(memory, "evaluation", config.train.batch, layout, task.compute());
  losses_.emplace(task.heads(),
                  feed_heads(task.heads(), config.heads, held_out_truth(config, mixture_)),
                  mixture_.size(), Share::whole(config.train.batch), task.compute(),
                  HeadLosses::Mode::evaluate, memory, "evaluation");
  const auto sums = static_cast<std::size_t>(losses_->layout().sums());
  sums_ = memory.reserve<double>("evaluation", "sums", sums);
  host_sums_ = memory.reserve<double>("evaluation", "sums", sums, MemorySpace::host);
  const std::uint64_t most = *std::max_element(samples_.begin(), samples_.end());
  for (std::size_t h = 0; h < task.heads().size(); ++h) {
    const HeadSpec& head = task.heads()[h];
    if (head.loss != LossKind::class_label || head.outputs() != 2) continue;
    rankings_.push_back(
        {h, memory.reserve<ops::ScoredSample>("evaluation", "scores", most),
         memory.reserve<ops::ScoredSample>("evaluation", "scores", most, MemorySpace::host)});
  }
  mixture_.plan(memory, config.train.batch, 1);
}

std::vector<std::string> Evaluator::compare(const Mixture& training, int threads,
                                            const WorkWatch& watch) {
  std::vector<std::string> found;
  for (const Overlap& overlap :
       find_overlaps(training, mixture_, threads, kMostComparedBytes, watch)) {
    auto& rows = trained_on_[static_cast<std::size_t>(overlap.held_out)];
    rows = std::max(rows, static_cast<std::uint64_t>(overlap.rows));
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
                                     const WorkWatch& watch) {
  const auto begin = std::chrono::steady_clock::now();
  EvaluationReport report;
  report.step = step;
  for (int i = 0; i < mixture_.size(); ++i)
    report.results.push_back(evaluate_source(stream, task, i, watch));
  report.seconds = seconds_since(begin);
  return report;
}

EvaluationResult Evaluator::evaluate_source(Stream& stream, SupervisedTask& task, int source,
                                            const WorkWatch& watch) {
  const auto k = static_cast<std::size_t>(source);
  const std::string what = "evaluating " + mixture_.source(source).name();
  const BatchView batch = batch_.view();
  const std::int32_t width = task.heads().back().begin + task.heads().back().outputs();
  stream.fill_zero(sums_.data(), sums_.bytes(), "evaluation sums");
  for (std::uint64_t first = 0; first < samples_[k];
       first += static_cast<std::uint64_t>(batch.size)) {
    stop_if_interrupted();
    const auto count = static_cast<std::int64_t>(
        std::min(samples_[k] - first, static_cast<std::uint64_t>(batch.size)));
    mixture_.emit_range(stream, source, first, batch, count);
    task.forward({stream, batch, mixture_.slots(), nullptr, PassMode::evaluate});
    losses_->enqueue(stream, batch, mixture_.slots(), task.outputs(), task.output_gradient());
    ops::accumulate_evaluation(stream, losses_->measures(), count, mixture_.slots(), sums_.data());
    for (const Ranking& ranking : rankings_)
      ops::collect_scores(stream, count, task.outputs(), width, task.heads()[ranking.head].begin,
                          batch.label, ranking.device.data() + first);
    if (watch) watch(what, first + static_cast<std::uint64_t>(count), samples_[k]);
  }
  for (const Ranking& ranking : rankings_)
    stream.copy(ranking.host.data(), ranking.device.data(), samples_[k] * sizeof(ops::ScoredSample),
                CopyDirection::device_to_host, "evaluation scores");
  stream.copy(host_sums_.data(), sums_.data(), sums_.bytes(), CopyDirection::device_to_host,
              "evaluation sums");
  stream.synchronize();
  EvaluationResult result;
  result.name = mixture_.source(source).name();
  result.head = head_names_[k];
  result.samples =
      static_cast<std::uint64_t>(samples_in(losses_->layout(), host_sums_.data(), source));
  result.heads = losses_->report(host_sums_.data(), source);
  for (const Ranking& ranking : rankings_)
    for (HeadReport& head : result.heads)
      if (head.head == task.heads()[ranking.head].name)
        if (const std::optional<double> area = area_under_curve({ranking.host.data(), samples_[k]}))
          head.scores.push_back({"area under the curve", *area});
  for (const HeadReport& head : result.heads) result.loss += head.loss;
  result.accuracy = accuracy_of(result.heads);
  note_best(result, known_[k].best);
  result.trained_on = trained_on_[k];
  result.distinct = known_[k].distinct;
  return result;
}

RunConfig config_of_checkpoint(const std::filesystem::path& where) {
  const std::filesystem::path file = find_model_file(where);
  RunConfig config = RunConfig::parse(ModelFile(file).described().config_yaml, file.string());
  // Model files contain no paths; take them from the run folder if the checkpoint is still in one.
  const std::filesystem::path beside =
      file.parent_path().parent_path().parent_path() / "config.resolved.yaml";
  if (std::filesystem::exists(beside)) {
    const RunConfig run = RunConfig::load(beside);
    config.out = run.out;
    config.data.root = run.data.root;
    config.init.from = run.init.from;
  }
  return config;
}

EvaluationReport evaluate_checkpoint(const std::filesystem::path& where, RunConfig config,
                                     TrainObserver& observer) {
  const ModelFile model(find_model_file(where));
  if (config.evaluation.sources.empty())
    fail(ErrorKind::config,
         {"no evaluation data", "eval.sources is empty", "add sources to eval.sources"});
  const Device device = Device::parse(config.device);
  Stream stream(device, static_cast<int>(config.threads));
  MemoryPlan memory(device);
  Mixture mixture = config.open_held_out(observer.watch());
  SupervisedTask::Input input = input_of(model, config, mixture.layout(), observer);
  if (model.description()) normalise_as(*model.description(), config, mixture);
  SupervisedTask task(config, stream, memory, config.compute_type(device), std::move(input));
  Evaluator held_out(config, std::move(mixture), task, memory);
  memory.commit(config.memory_limit());
  held_out.load(stream);
  load_weights(model, task.parameters(), stream);
  EvaluationReport report = held_out.evaluate(
      stream, task, model.description() ? model.description()->step : 0, observer.watch());
  if (model.foreign())
    report.notes.push_back(fmt::format("{}: {}", model.path().string(), kForeignFile));
  observer.on_evaluation(report);
  return report;
}

}  // namespace wellspring
