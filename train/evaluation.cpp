#include "train/evaluation.h"

#include "generators/generator.h"

#include <algorithm>
#include <chrono>

namespace wellspring {

HeldOut::HeldOut(const RunConfig& config, Mixture mixture, const Learner& learner,
                 MemoryPlan& memory)
    : mixture_(std::move(mixture)) {
  for (int i = 0; i < mixture_.size(); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const SourceSpec& spec =
        config.data.sources[config.source_index(config.evaluation.sources[k].of)].spec;
    const Source& source = mixture_.source(i);
    heads_[k] = learner.head_for(spec.head, source.classes(), 1, source.name());
    head_names_.push_back(spec.head);
    samples_.push_back(source.size() > 0 ? source.size()
                                         : static_cast<std::uint64_t>(config.evaluation.samples));
    best_.push_back(spec.kind == SourceKind::generator
                        ? make_generator(spec.generator, static_cast<int>(config.data.size),
                                         spec.params, spec.place)
                              ->best_accuracy()
                        : std::nullopt);
  }
  if (empty()) return;
  SampleLayout layout = mixture_.layout();
  layout.latents = std::max(layout.latents, learner.layout().latents);
  batch_.plan(memory, "evaluation", config.train.batch, layout, learner.compute());
  sums_ = memory.reserve<ops::StepMetrics>("evaluation", "sums", 1);
  host_sums_ = memory.reserve<ops::StepMetrics>("evaluation", "sums", 1, MemorySpace::host);
  mixture_.plan(memory, config.train.batch, 1);
}

void HeldOut::load(Stream& stream) {
  if (!empty()) mixture_.load(stream);
}

EvaluationReport HeldOut::evaluate(Stream& stream, Learner& learner, std::uint64_t step) {
  const auto begin = std::chrono::steady_clock::now();
  EvaluationReport report;
  report.step = step;
  for (int i = 0; i < mixture_.size(); ++i)
    report.results.push_back(evaluate_source(stream, learner, i));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

EvaluationResult HeldOut::evaluate_source(Stream& stream, Learner& learner, int source) {
  const auto k = static_cast<std::size_t>(source);
  const BatchView batch = batch_.view();
  stream.fill_zero(sums_.data(), sums_.bytes(), "sums of the evaluation");
  for (std::uint64_t first = 0; first < samples_[k];
       first += static_cast<std::uint64_t>(batch.size)) {
    const auto count = static_cast<std::int64_t>(
        std::min(samples_[k] - first, static_cast<std::uint64_t>(batch.size)));
    mixture_.emit_range(stream, source, first, batch, count);
    learner.forward(stream, batch);
    learner.loss(stream, batch, mixture_.slots(), heads_, 0);
    ops::accumulate_evaluation(stream, count, mixture_.slots(), learner.losses(), learner.correct(),
                               sums_.data());
  }
  stream.copy(host_sums_.data(), sums_.data(), sums_.bytes(), CopyDirection::device_to_host,
              "sums of the evaluation");
  stream.synchronize();
  const ops::StepMetrics& sums = *host_sums_.data();
  EvaluationResult result;
  result.name = mixture_.source(source).name();
  result.head = head_names_[k];
  result.samples = sums.source_count[k];
  const double n = std::max<double>(1, sums.source_count[k]);
  result.loss = sums.source_loss[k] / n;
  result.accuracy = sums.source_correct[k] / n;
  result.best_accuracy = best_[k];
  return result;
}

}  // namespace wellspring
