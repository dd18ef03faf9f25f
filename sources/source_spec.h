// Configuration of one source of a mixture, and the function that makes the source. Called by
// sources/data_config.h and training; host only.
//
//     sources:
//       - {name: shapes, kind: generator, generator: shapes, weight: 0.6, params: {classes: 8}}
//       - {name: cifar, kind: files, path: data, split: train, weight: 0.4, limit_per_class: 500}
#pragma once

#include "core/config/params.h"
#include "core/work_watch.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation_config.h"
#include "sources/datasets/cached_rows.h"
#include "sources/datasets/row_view.h"
#include "sources/source.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

enum class SourceKind : std::uint8_t { generator, files };

/// Storage of a data set's rows.
enum class Storage : std::uint8_t {
  automatic,  ///< resident if the rows fit into the budget, otherwise streamed
  resident,   ///< on the device, for the whole run
  streamed,   ///< read and decoded every time, a few batches ahead
};

struct SourceSpec {
  std::string name;
  SourceKind kind = SourceKind::generator;
  double weight = 1;  ///< share of the batch, relative to the others'; a schedule replaces it
  std::string head;   ///< name of its head in the network; "": its own, named after the source
  float loss_weight = 1;
  std::int64_t seed = -1;    ///< seed of samples, order and augmentation; -1: see source_seed
  std::int64_t repeats = 1;  ///< copies of each sample, each with its own augmentation

  // kind: generator
  std::string generator;
  std::vector<ParamSetting> params;  ///< for the generator or format, checked against its table

  // kind: files
  std::string path;
  std::string format;  ///< "": detected from the path
  std::string rows;    ///< see RowRange; "": all
  RowOrder rows_by = RowOrder::hash;
  std::int64_t limit_per_class = 0;  ///< 0: all
  Storage storage = Storage::automatic;
  double budget = 0;             ///< GiB for resident rows; 0: the run's budget
  std::vector<CacheTier> cache;  ///< tiers of streamed rows, see cache_config.h
  std::int64_t ahead = 4;        ///< batches
  std::int64_t threads = 0;
  bool shuffle = true;
  bool labelled = true;  ///< false: see DatasetRequest::labelled; not a key of the configuration

  ConfigLocation place;  ///< location of the entry in the configuration
};

/// One row for every key of a source's entry, except the parameters of a generator (a map called
/// `params`) and of a format (see read_format_settings). Both tables have the row `kind`; read it
/// first to know which table applies.
const ParamTable<SourceSpec>& source_table(SourceKind kind);
/// The help text of `rows`, here and in eval.sources.
inline constexpr const char* kRowsHelp =
    "part of the rows, for example 0%..80%, or by number 0..8000; the end is excluded; empty: all";

/// Settings that a source takes from its run.
struct SourceContext {
  ImageSize size = {};                    ///< the network's images; not given: the data's
  int channels = 0;                       ///< channels of the network's images; 0: the data's
  std::uint64_t seed = 0;                 ///< seed of the run
  std::int64_t threads = 0;               ///< the run's threads, unless the source sets its own
  Augmentations training;                 ///< for training samples
  Augmentations evaluation;               ///< for held-out samples
  std::uint64_t budget_bytes = 0;         ///< per file source; 0: a quarter of the device's memory
  DenseLabels dense = DenseLabels::none;  ///< dense labels, if the source has them
  WorkWatch watch = {};                   ///< progress of reading and decoding at the start
  NodeRanks node = {};                    ///< ranks that share caches
};
/// The seed of a source: its own, or one derived from the run's seed and the source's name. Sources
/// of one run share no random numbers, and adding a source does not affect the others. Below 2^63,
/// as `export --seed` requires.
std::uint64_t source_seed(const SourceSpec& spec, std::uint64_t run_seed);
/// Throws config errors for the entry and data errors for the files.
std::unique_ptr<Source> make_source(const SourceSpec& spec, const SourceContext& context);

}  // namespace wellspring
