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
  table.text("name", &SourceSpec::name, "name in metrics, schedules and heads").required();
  table.choice("kind", &SourceSpec::kind,
               {{"generator", SourceKind::generator}, {"files", SourceKind::files}},
               "origin of the samples");
  table.real("weight", &SourceSpec::weight, {0, 1e9}, "",
             "share of the batch, relative to the weights of other sources; a schedule replaces "
             "it");
  table.text("head", &SourceSpec::head,
             "head of the network that the source trains; sources with the same head share a "
             "label space; empty: a head of its own");
  table.real("loss_weight", &SourceSpec::loss_weight, {0, 1e6}, "",
             "factor of the loss of its samples");
  table.integer(
      "seed", &SourceSpec::seed, {-1}, "",
      "seed of its samples, order and augmentation; -1: derived from the run's seed and the "
      "source's name");
  table.integer("repeats", &SourceSpec::repeats, {1, 64}, "",
                "repeat each sample N times in a row, newly augmented each time (repeated "
                "augmentation)",
                "Hoffer et al., CVPR 2020; Touvron et al., ICML 2021: 3");
  return table;
}

ParamTable<SourceSpec> generator_rows() {
  ParamTable<SourceSpec> table = common_rows();
  table.text("generator", &SourceSpec::generator, "name of the generator, see wellspring list")
      .required();
  return table;
}

ParamTable<SourceSpec> file_rows() {
  ParamTable<SourceSpec> table = common_rows();
  table.text("path", &SourceSpec::path, "path of the data set: a folder or a file").required();
  table.text(
      "format", &SourceSpec::format,
      "see wellspring list formats, and describe FORMAT for its keys; empty: detected from the "
      "path");
  table.text("rows", &SourceSpec::rows, kRowsHelp);
  table.choice("rows_by", &SourceSpec::rows_by,
               {{"hash", RowOrder::hash}, {"order", RowOrder::order}},
               "how a percentage selects rows: by a hash of the row number (random even in sorted "
               "files), or in row order");
  table.integer("limit_per_class", &SourceSpec::limit_per_class, {0, 1e9}, "rows",
                "keep the first N rows of each class; 0: all; default: data.limit_per_class");
  table.choice("storage", &SourceSpec::storage,
               {{"auto", Storage::automatic},
                {"resident", Storage::resident},
                {"streamed", Storage::streamed}},
               "keep all rows on the device, or read and decode them shortly before they are used");
  table.may_change();
  table.real("budget", &SourceSpec::budget, {0, 1e6}, "GiB",
             "device memory for rows with storage: auto; 0: the run's budget");
  table.may_change();
  table.integer("ahead", &SourceSpec::ahead, {2, 64}, "batches", "batches read ahead if streamed");
  table.may_change();
  table.integer("threads", &SourceSpec::threads, {0, 1024}, "",
                "reading and decoding threads; 0: `threads` of the run");
  table.may_change();
  table.flag("shuffle", &SourceSpec::shuffle, "a new permutation of all rows in every epoch");
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
  const SampleLayout layout = generator->layout();
  // The generator's kind decides: images made by event generators are not augmented.
  const bool augmented = find_generator(spec.generator).kind == SampleKind::image;
  if (layout.kind == SampleKind::image && own.channels != 0) {
    settings.luma = augmented && layout.channels == 3 && own.channels == 1;
    if (layout.channels != own.channels && !settings.luma)
      fail(ErrorKind::config,
           {fmt::format("{}source '{}': data.channels: {}, but {} has {}", spec.place.prefix(),
                        spec.name, own.channels, spec.generator, layout.channels),
            "its number of channels is fixed",
            fmt::format("set data.channels: {}", layout.channels)});
    expect_channels(own.training, own.channels);
  }
  if (augmented) {  // images made by event generators are not
    if (own.dense != DenseLabels::none && generator->info().plane)
      expect_pixels_labelled(own.training);
    const FrameSize source = frame_of(generator->info().source_shape());
    const FrameSize out = frame_of(layout.shape());
    settings.training = plan_augmentation(own.training, source, out);
    settings.evaluation = plan_augmentation(own.evaluation, source, out);
  } else {
    settings.normalisation = own.training.normalisation;
  }
  return std::make_unique<ProceduralSource>(spec.name, std::move(generator), settings);
}

}  // namespace wellspring
