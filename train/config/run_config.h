// The configuration of a training run: the input of `wellspring train` and the content of
// `config.resolved.yaml`. Called by the command line, the trainer and tests; host only.
#pragma once

#include "core/config/config.h"
#include "core/config/config_values.h"
#include "core/config/params.h"
#include "kernels/runtime/dtype.h"
#include "kernels/runtime/step_graph.h"
#include "sources/data_config.h"
#include "sources/mixture.h"
#include "train/config/evaluation_config.h"
#include "train/config/head_config.h"
#include "train/config/optimizer_config.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace wellspring {

struct ModelConfig {
  std::string name;
  std::vector<ParamSetting> params;
  ConfigLocation place;
};

enum class Precision : std::uint8_t { automatic, f32, bf16 };

/// Weights to evaluate and export, if the run keeps an average.
enum class WeightChoice : std::uint8_t { average, trained };

/// How cuDNN's plan for a convolution is chosen on a GPU.
enum class ConvolutionPlans : std::uint8_t {
  fastest,  ///< train/network/fastest_plans.h
  first,    ///< cuDNN's first suggestion
};

/// If a step has several passes, the rows of each are a multiple of this number, so that every pass
/// begins at an aligned address (16 bytes) in every column of the batch.
inline constexpr std::int64_t kPassRows = 8;

struct TrainConfig {
  std::int64_t batch = 128;
  std::int64_t accumulate =
      1;  ///< passes through the network per step, each with its part of the batch
  std::int64_t recompute_blocks = 0;  ///< see NetworkSpec
  std::int64_t steps = 0;             ///< with `epochs`: 0 until settle_epochs
  std::int64_t epochs = 0;            ///< 0: `steps` is given
  std::string max_time;               ///< "90 m"; "": no limit
  double max_seconds() const;         ///< infinity without a limit
  double clip = 1;
  double ema = 0;                                ///< decay of the average per step; 0: no average
  WeightChoice weights = WeightChoice::average;  ///< to evaluate and export
  /// True if evaluation and model files use the average.
  bool exports_average() const { return ema > 0 && weights == WeightChoice::average; }
  std::int64_t log_every = 20;
  std::int64_t checkpoint_every = 0;  ///< steps; 0: by time
  std::int64_t keep = 2;
  std::string keep_best;      ///< a held-out figure, see train/keep_best.h; "": none
  std::int64_t patience = 0;  ///< evaluations without a better figure; 0: no early stopping
  GraphMode graph = GraphMode::on;
  bool sync_batch_norm = false;
  ConvolutionPlans convolutions = ConvolutionPlans::fastest;
  bool store_headers = false;         ///< checkpoints contain the text of header generators
  std::int32_t steps_per_launch = 1;  ///< an upper limit; see train/step_launcher.h
};

enum class HeadInit : std::uint8_t { keep, reset };
/// Treatment of initial weights with a different shape.
enum class InitShapes : std::uint8_t { exact, adapt };

/// Initial weights from another run.
struct InitConfig {
  std::string from;  ///< run folder, checkpoint folder or safetensors file; "": from scratch
  HeadInit head = HeadInit::reset;
  InitShapes shapes = InitShapes::exact;
};

struct RunConfig {
  std::string name;
  std::uint64_t seed = 1;
  std::string device = "auto";
  std::int64_t threads = 0;
  Precision precision = Precision::automatic;
  std::string out;    ///< run folder
  double memory = 0;  ///< limit of device memory in GiB; 0: all free memory
  DataConfig data;
  EvaluationConfig evaluation;
  ModelConfig model;
  std::vector<HeadConfig> heads;
  OptimizerConfig optimizer;
  TrainConfig train;
  InitConfig init;
  NodeRanks node;  ///< ranks on this machine; not a configuration key

  /// Reads and checks a whole configuration, including generator and model parameters. Opens no
  /// data and no device. Errors (config), with their location.
  static RunConfig load(const std::filesystem::path& file,
                        std::span<const std::string> overrides = {});
  static RunConfig parse(const std::string& text, const std::string& name,
                         std::span<const std::string> overrides = {},
                         ConfigOrigin origin = ConfigOrigin::user);
  static RunConfig read(const ConfigDocument& document, const std::string& default_name);

  /// All effective values, in the order of the file.
  std::vector<ConfigEntry> entries() const;
  /// The entries as YAML; reads back to the same configuration.
  std::string to_yaml() const;
  /// The same without paths of this machine (run folder, data root, initial weights). Stored in
  /// model files, so that identical runs write identical files.
  std::string portable_yaml() const;
  /// The part that determines the weights at a given step; it must be the same in a resumed run.
  std::string identity_yaml() const;

  std::filesystem::path folder() const { return out; }
  /// `memory` in bytes, for MemoryPlan.
  std::size_t memory_limit() const { return static_cast<std::size_t>(memory * 0x1p30); }
  /// `path` relative to data.root, unless it is absolute.
  std::filesystem::path resolve(const std::string& path) const;
  /// Generators of the sources, in order; header generators with their paths.
  std::vector<std::string> generators() const;
  /// The compute type on `device`: f32 or bf16.
  DType compute_type(const Device& device) const;
  /// A rank's rows are a multiple of this number, so that all passes have the same size, every
  /// sample has a partner to mix with, and all views of a sample stay together.
  std::int64_t rank_rows_unit() const;
  /// The training source that `evaluation.sources[k]` is held out from.
  const SourceConfig& held_out_from(std::size_t k) const;
  /// Error (config) if training could reach the ids of held-out generated samples.
  void check_sample_ids(const ConfigLocation& place = {}) const;
  /// The dense labels that the sources must provide: none unless a head learns them.
  DenseLabels dense_labels() const;
  /// Opens the training sources. Errors (data) for missing or malformed files. The caller calls
  /// `plan` and `load`. `dense`: also provide the dense labels of sources that have them.
  Mixture open_training(const WorkWatch& watch = {}, DenseLabels dense = DenseLabels::none) const;
  /// Opens the held-out sources, in the order of `evaluation.sources`.
  Mixture open_held_out(const WorkWatch& watch = {}, DenseLabels dense = DenseLabels::none) const;
};

/// All configuration keys in the order of the file, for `describe` and docs.
std::vector<ConfigSection> config_sections();

}  // namespace wellspring
