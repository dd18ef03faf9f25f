// What a configuration says about one source of a mixture, and the source it makes; host only.
//
//     sources:
//       - {name: shapes, kind: generator, generator: shapes, weight: 0.6, params: {classes: 8}}
//       - {name: cifar, kind: files, path: data, split: train, weight: 0.4, limit_per_class: 500}
#pragma once

#include "core/config/params.h"
#include "core/work_watch.h"
#include "generators/generator.h"
#include "kernels/augment/augmentation_config.h"
#include "sources/source.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

enum class SourceKind : std::uint8_t { generator, files };

/// Where the rows of a data set are kept.
enum class Storage : std::uint8_t {
  automatic,  ///< resident if that fits the budget, otherwise streamed
  resident,   ///< on the device, for the whole run
  streamed,   ///< read and decoded anew every time, a few batches ahead
};

struct SourceSpec {
  std::string name;
  SourceKind kind = SourceKind::generator;
  double weight = 1;  ///< share of the batch, relative to the others'; a schedule replaces it
  std::string head;   ///< of the network; "": one of its own, called as the source
  float loss_weight = 1;
  std::int64_t seed = -1;    ///< of its samples, order and augmentation; -1: see source_seed
  std::int64_t repeats = 1;  ///< how often each sample is given, augmented otherwise each time

  // kind: generator
  std::string generator;
  std::vector<ParamSetting> params;  ///< the generator's or format's own, checked against its table

  // kind: files
  std::string path;
  std::string format;                ///< "": found by the path
  std::int64_t limit_per_class = 0;  ///< 0: all
  Storage storage = Storage::automatic;
  double budget = 0;       ///< GiB for resident rows; 0: the run's
  std::int64_t ahead = 4;  ///< batches
  std::int64_t threads = 0;
  bool shuffle = true;

  ConfigLocation place;  ///< of the entry in the configuration
};

/// Rows for every key of a source's entry but those of the generator, a map called `params`, and of
/// the format, which stand beside the others: see format_keys. `kind` is a row of both tables: read
/// it first to know which one applies.
const ParamTable<SourceSpec>& source_table(SourceKind kind);

/// What a source takes from the run around it.
struct SourceContext {
  int size = 0;                    ///< side of the network's square input; 0: as the data has it
  std::uint64_t seed = 0;          ///< of the run
  std::int64_t threads = 0;        ///< of the run, for a source of files that names none
  Augmentations training;          ///< what is done to samples that are learnt from
  Augmentations evaluation;        ///< and to held-out ones
  std::uint64_t budget_bytes = 0;  ///< of each file source; 0: a quarter of the device's memory
  DenseTruth dense = DenseTruth::none;  ///< a plane of truth, where the source has one
  WorkWatch watch = {};                 ///< of reading and decoding at the start
};
/// The seed of a source: its own, or one made from the run's and its name, so that sources of one
/// run share no random number and adding one moves no other. Below 2^63: `export --seed` takes it.
std::uint64_t source_seed(const SourceSpec& spec, std::uint64_t run_seed);
/// Errors: config for what the entry says, data for what the files hold.
std::unique_ptr<Source> make_source(const SourceSpec& spec, const SourceContext& context);

}  // namespace wellspring
