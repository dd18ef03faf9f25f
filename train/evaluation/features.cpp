#include "train/evaluation/features.h"

#include "core/error.h"
#include "core/text/measured_text.h"
#include "core/text/plural.h"
#include "export/csv_file.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/files_read.h"
#include "train/evaluation/checkpoint_network.h"
#include "train/evaluation/nearest_neighbours.h"
#include "train/evaluation/network_pass.h"
#include "train/evaluation/prediction_file.h"
#include "train/step/source_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

namespace wellspring {
namespace {

/// The training sources, to be opened like held-out ones: in order and without augmentation.
std::vector<EvaluationSourceConfig> training_sources(const RunConfig& config) {
  std::vector<EvaluationSourceConfig> sources;
  for (const SourceConfig& trained : config.data.sources) {
    sources.emplace_back();
    sources.back().of = sources.back().name = trained.spec.name;
    sources.back().training_rows = true;
  }
  return sources;
}

void expect_sources(const std::vector<EvaluationSourceConfig>& held_out) {
  if (held_out.empty())
    fail(ErrorKind::config,
         {"no evaluation data", "eval.sources is empty", "add sources to eval.sources"});
}

/// The network of a checkpoint with its features, and the samples of eval.sources.
class FeaturePass {
 public:
  FeaturePass(const std::filesystem::path& checkpoint, const std::string& layer, RunConfig config,
              TrainObserver& observer)
      : config_(std::move(config)),
        watch_(observer.watch()),
        network_(checkpoint, config_, observer, layer) {
    MemoryPlan& memory = network_.context.memory;
    pass_.plan(memory, mixture().layout(), network_.task);
    mixture().plan(memory, network_.task.rows(), 1);
    network_.load(config_);
    mixture().load(network_.context.stream);
    truth_ = held_out_truth(config_, mixture());
  }

  Mixture& mixture() { return network_.mixture; }
  const SupervisedTask& task() const { return network_.task; }
  const RunConfig& config() const { return config_; }
  const std::vector<SourceTruth>& truth() const { return truth_; }

  /// Files: all rows. Generators: the first eval.samples samples, or the next ones for training.
  HeldOutRange range(int source) {
    if (const std::uint64_t rows = mixture().source(source).size(); rows > 0) return {0, rows};
    const auto samples = static_cast<std::uint64_t>(config_.evaluation.samples);
    const auto k = static_cast<std::size_t>(source);
    const std::uint64_t first = config_.evaluation.sources[k].training_rows ? samples : 0;
    return {first, first + samples};
  }

  /// Passes all samples of a source, in order.
  void run(int source, const std::function<void(const PredictedRows&)>& use) {
    const HeldOutRange samples = range(source);
    NetworkPass::Uses uses;
    uses.on_host = [&](const PredictedRows& rows) {
      require_finite_outputs(rows, mixture());
      use(rows);
    };
    if (watch_)
      uses.progress = [&](std::uint64_t done) {
        watch_("features of " + mixture().source(source).name(), done, samples.end - samples.first);
      };
    pass_.run(network_.context.stream, network_.task, mixture(), source, samples, uses);
  }

  /// The features of a row.
  std::span<const float> features(const PredictedRows& rows, std::int64_t row) const {
    return std::span(rows.outputs + row * rows.width + task().first_feature(),
                     static_cast<std::size_t>(task().feature_shape().elements()));
  }

  std::vector<std::string> notes() {
    std::vector<std::string> notes = mixture().notes();
    if (network_.model.foreign())
      notes.push_back(fmt::format("{}: {}", network_.model.path().string(), kForeignFile));
    return notes;
  }

 private:
  RunConfig config_;
  WorkWatch watch_;
  CheckpointNetwork network_;
  NetworkPass pass_;
  std::vector<SourceTruth> truth_;
};

void require_feature_path(const FeatureOptions& options, const RunConfig& config) {
  if (is_csv(options.out))
    fail(ErrorKind::config,
         {fmt::format("cannot write features to '{}'", options.out.string()),
          "features are arrays of many numbers", "use a name that ends in .npz, .h5 or .hdf5"});
  std::vector<std::filesystem::path> inputs = files_read(config);
  inputs.push_back(find_model_file(options.checkpoint));
  require_prediction_path(options.out, inputs);
}

/// Labelled features of the training samples.
struct Bank {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
};

/// The bank for a held-out source: all training sources with the same head and classes. Their
/// indices follow the `held_out` held-out sources.
Bank bank_for(FeaturePass& pass, int held_out, int source) {
  const auto& truth = pass.truth();
  const SourceTruth& wanted = truth[static_cast<std::size_t>(source)];
  Bank bank;
  for (int s = held_out; s < pass.mixture().size(); ++s) {
    const SourceTruth& other = truth[static_cast<std::size_t>(s)];
    if (other.head != wanted.head || other.classes != wanted.classes) continue;
    pass.run(s, [&](const PredictedRows& rows) {
      for (std::int64_t row = 0; row < rows.count; ++row) {
        const std::span<const float> values = pass.features(rows, row);
        bank.features.insert(bank.features.end(), values.begin(), values.end());
        bank.labels.push_back(rows.truth.label[row]);
      }
    });
  }
  return bank;
}

void expect_classes(const SourceTruth& truth, const RunConfig& config) {
  const auto head = std::ranges::find(config.heads, truth.head, &HeadConfig::name);
  const bool single = head == config.heads.end() || head->loss == LossKind::class_label ||
                      is_self_supervised(head->loss);
  if (single && truth.classes.size() > 1) return;
  fail(ErrorKind::config,
       {fmt::format("nearest neighbours need one class per sample, but source '{}' has none",
                    truth.name),
        single ? "it has fewer than two classes"
               : fmt::format("its labels are learned with loss {}", to_string(head->loss)),
        "leave --knn out, or evaluate on other sources"});
}

void expect_neighbours(const KnnOptions& options, const SourceTruth& truth, std::size_t bank) {
  if (static_cast<std::size_t>(options.neighbours) <= bank) return;
  fail(ErrorKind::config,
       {fmt::format("--knn {}: source '{}' has {} with the same classes to compare with",
                    options.neighbours, truth.name, counted(bank, "training sample")),
        "each neighbour is one of them", "use a smaller --knn, or more training samples"});
}

KnnResult classify(FeaturePass& pass, const KnnOptions& options, int held_out, int source) {
  const SourceTruth& truth = pass.truth()[static_cast<std::size_t>(source)];
  expect_classes(truth, pass.config());
  Bank bank = bank_for(pass, held_out, source);
  KnnResult result{truth.name, 0, bank.labels.size()};
  expect_neighbours(options, truth, bank.labels.size());
  NearestNeighbours neighbours({.width = static_cast<int>(pass.task().feature_shape().elements()),
                                .classes = static_cast<std::int32_t>(truth.classes.size()),
                                .neighbours = options.neighbours,
                                .temperature = options.temperature,
                                .threads = static_cast<int>(pass.config().threads)},
                               std::move(bank.features), std::move(bank.labels));
  std::uint64_t correct = 0;
  pass.run(source, [&](const PredictedRows& rows) {
    std::vector<float> values;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::span<const float> own = pass.features(rows, row);
      values.insert(values.end(), own.begin(), own.end());
    }
    const std::vector<std::int32_t> classes = neighbours.classify(values);
    for (std::size_t row = 0; row < classes.size(); ++row)
      correct += classes[row] == rows.truth.label[row] ? 1 : 0;
    result.samples += classes.size();
  });
  const auto samples = static_cast<double>(result.samples);
  result.accuracy = static_cast<double>(correct) / samples;
  result.error = share_error(result.accuracy, samples);
  return result;
}

}  // namespace

FeatureReport write_features(const FeatureOptions& options, RunConfig config,
                             TrainObserver& observer) {
  if (options.samples == FeatureSamples::training)
    config.evaluation.sources = training_sources(config);
  expect_sources(config.evaluation.sources);
  require_feature_path(options, config);
  FeaturePass pass(options.checkpoint, options.layer, std::move(config), observer);
  const std::vector<HeadSpec> no_heads;
  PredictedSamples samples{&pass.mixture(), {}, &no_heads, pass.truth()};
  samples.features = {{options.layer, pass.task().first_feature(), pass.task().feature_shape()}};
  FeatureReport report{0, pass.task().feature_shape(), pass.notes()};
  for (int s = 0; s < pass.mixture().size(); ++s) {
    const HeldOutRange range = pass.range(s);
    samples.counts.push_back(range.end - range.first);
    report.samples += samples.counts.back();
  }
  PredictionFile file(options.out, std::move(samples));
  for (int s = 0; s < pass.mixture().size(); ++s)
    pass.run(s, [&](const PredictedRows& rows) { file.append(rows); });
  file.finish();
  return report;
}

KnnReport evaluate_knn(const KnnOptions& options, RunConfig config, TrainObserver& observer) {
  expect_sources(config.evaluation.sources);
  const auto held_out = static_cast<int>(config.evaluation.sources.size());
  for (EvaluationSourceConfig& source : training_sources(config)) {
    source.name = "training samples of " + source.name;
    config.evaluation.sources.push_back(std::move(source));
  }
  FeaturePass pass(options.checkpoint, options.layer, std::move(config), observer);
  KnnReport report;
  report.notes = pass.notes();
  for (int s = 0; s < held_out; ++s) report.results.push_back(classify(pass, options, held_out, s));
  return report;
}

}  // namespace wellspring
