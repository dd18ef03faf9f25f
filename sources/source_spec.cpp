#include "sources/source_spec.h"

#include "core/error.h"
#include "kernels/random/philox.h"
#include "sources/dataset_source.h"
#include "sources/procedural.h"

#include <fmt/format.h>

namespace wellspring {
namespace {

ParamTable<SourceSpec> common_rows() {
  ParamTable<SourceSpec> table("source");
  table.text("name", &SourceSpec::name, "what metrics, schedules and heads call it").required();
  table.choice("kind", &SourceSpec::kind,
               {{"generator", SourceKind::generator}, {"files", SourceKind::files}},
               "where the samples come from");
  table.real("weight", &SourceSpec::weight, {0, 1e9}, "",
             "share of the batch, relative to the other sources'; replaced by a schedule");
  table.text("head", &SourceSpec::head,
             "output head; sources of one head share a label space; empty: one of its own");
  table.real("loss_weight", &SourceSpec::loss_weight, {0, 1e6}, "",
             "multiplies the loss of its samples");
  table.integer(
      "seed", &SourceSpec::seed, {-1}, "",
      "of its samples, order and augmentation; -1: made from the run's seed and its name");
  table.integer("repeats", &SourceSpec::repeats, {1, 64}, "",
                "how often each sample is given, one time behind the other and augmented otherwise "
                "each time (repeated augmentation)",
                "Hoffer et al., CVPR 2020; Touvron et al., ICML 2021: 3");
  return table;
}

ParamTable<SourceSpec> generator_rows() {
  ParamTable<SourceSpec> table = common_rows();
  table.text("generator", &SourceSpec::generator, "which generator: see wellspring list")
      .required();
  return table;
}

ParamTable<SourceSpec> file_rows() {
  ParamTable<SourceSpec> table = common_rows();
  table.text("path", &SourceSpec::path, "of the data set: a folder or a file").required();
  table.text("format", &SourceSpec::format,
             "see wellspring list formats, and describe FORMAT for the keys that it adds here; "
             "empty: found by the path");
  table.integer(
      "limit_per_class", &SourceSpec::limit_per_class, {0, 1e9}, "rows",
      "learns from the first so many of each class, in the order of its rows; 0: all; where "
      "it is not given that of data");
  table.choice("storage", &SourceSpec::storage,
               {{"auto", Storage::automatic},
                {"resident", Storage::resident},
                {"streamed", Storage::streamed}},
               "keep all rows on the device, or read and decode ahead of every step");
  table.may_change();
  table.real("budget", &SourceSpec::budget, {0, 1e6}, "GiB",
             "device memory that storage: auto may fill; 0: the run's");
  table.may_change();
  table.integer("ahead", &SourceSpec::ahead, {2, 64}, "batches", "read ahead when streamed");
  table.may_change();
  table.integer("threads", &SourceSpec::threads, {0, 1024}, "",
                "that read and decode; 0: as many as `threads` of the run");
  table.may_change();
  table.flag("shuffle", &SourceSpec::shuffle, "another permutation of all rows every epoch");
  return table;
}

}  // namespace

const ParamTable<SourceSpec>& source_table(SourceKind kind) {
  static const ParamTable<SourceSpec> generator = generator_rows(), files = file_rows();
  return kind == SourceKind::generator ? generator : files;
}

std::uint64_t source_seed(const SourceSpec& spec, std::uint64_t run_seed) {
  return spec.seed >= 0 ? static_cast<std::uint64_t>(spec.seed)
                        : named_key(run_seed, spec.name) >> 1;
}

std::unique_ptr<Source> make_source(const SourceSpec& spec, const SourceContext& context) {
  SourceContext own = context;
  own.seed = source_seed(spec, context.seed);
  if (spec.kind == SourceKind::files) return std::make_unique<DatasetSource>(spec, own);
  auto generator = make_generator(spec.generator, own.size, spec.params, spec.place);
  ProceduralSource::Settings settings{
      own.seed, {}, {}, own.dense, static_cast<std::uint32_t>(spec.repeats)};
  // By the generator: pictures that generators of events make are not augmented.
  if (find_generator(spec.generator).kind == SampleKind::image) {
    const SampleShape shape = generator->layout().shape();
    const FrameSize frame = {shape.width, shape.height};
    settings.training = plan_augmentation(own.training, frame, frame);
    settings.evaluation = plan_augmentation(own.evaluation, frame, frame);
  }
  return std::make_unique<ProceduralSource>(spec.name, std::move(generator), settings);
}

}  // namespace wellspring
