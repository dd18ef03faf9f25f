#include "train/config/evaluation_config.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/batch/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace wellspring {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();
/// With this many, an accuracy's standard error is at most 0.005 %, after hours on a CPU.
constexpr double kMostSamples = 1e8;

const ParamTable<EvaluationConfig>& evaluation_table() {
  static const auto table =
      ParamTable<EvaluationConfig>("eval")
          .integer(
              "every", &EvaluationConfig::every, {0, kNoLimit}, "steps",
              "evaluation interval; 0: only at the end; without sources there is no evaluation")
          .may_change()
          .integer("samples", &EvaluationConfig::samples, {1, kMostSamples}, "samples",
                   "held-out samples per generator (with ids from 2^48); all held-out rows of "
                   "files are used")
          .may_change()
          .text_list("signal", &EvaluationConfig::signal,
                     "the class that is the signal in ROC curves and background rejections, by "
                     "name or index, for heads with two classes (default: class 1); HEAD/CLASS for "
                     "one of several heads")
          .may_change();
  return table;
}

const ParamTable<EvaluationSourceConfig>& evaluation_source_table() {
  static const auto table =
      ParamTable<EvaluationSourceConfig>("eval source")
          .text("of", &EvaluationSourceConfig::of,
                "the training source that these samples are held out from")
          .required()
          .may_change()
          .text("name", &EvaluationSourceConfig::name,
                "name in reports (default: the name of the training source)")
          .may_change()
          .text("path", &EvaluationSourceConfig::path,
                "(files only) folder or file of the held-out samples; empty: the training path; "
                "format keys that differ from the training source, such as split, can be added")
          .may_change()
          .text("rows", &EvaluationSourceConfig::rows,
                std::string("(files only) ") + kRowsHelp + "; in the order of the training source")
          .may_change()
          .real("fraction", &EvaluationSourceConfig::fraction, {0, 0.99}, "",
                "(files only) fraction of the training source's rows to hold out; training uses "
                "the rest; sets rows for both sources")
          .may_change();
  return table;
}

}  // namespace

namespace {

/// Splits the rows of the training source.
void hold_out_fraction(const ConfigNode& node, EvaluationSourceConfig& source,
                       SourceSpec& trained) {
  if (source.fraction == 0) return;
  if (!source.rows.empty() || !source.path.empty() || !source.params.empty())
    node.refuse("a fraction cannot be combined with rows, path or format keys",
                "a fraction holds out part of the training source's rows",
                "remove fraction, or the others");
  RowRange range = RowRange::parse(trained.rows, trained.rows_by, trained.place);
  if (range.numbers)
    node.refuse("fraction does not apply to numbered rows",
                fmt::format("'{}' has rows: {}", source.of, trained.rows),
                "set rows: of both sources");
  RowRange held_out = range;
  held_out.begin = range.end = range.end - (range.end - range.begin) * source.fraction;
  trained.rows = range.text();
  source.rows = held_out.text();
  source.fraction = 0;
}

/// Refuses held-out rows that are also trained on.
void expect_held_out(const ConfigNode& node, const EvaluationSourceConfig& source,
                     const SourceSpec& trained) {
  if (!source.path.empty() || !source.params.empty()) return;
  if (source.rows.empty())
    node.refuse("one of path, rows, fraction and split is required",
                "held-out samples must differ from the training samples",
                "to hold out a tenth of the training samples, set fraction: 0.1");
  const RowRange held_out = RowRange::parse(source.rows, trained.rows_by, node.location());
  if (held_out.overlaps(RowRange::parse(trained.rows, trained.rows_by, trained.place)))
    node.refuse(
        fmt::format("rows {} are also trained on", held_out.text()),
        fmt::format("source '{}' has {}", source.of,
                    trained.rows.empty() ? "all rows" : "rows: " + trained.rows),
        "set rows for both sources, for example 0%..90% and 90%..100%, or only fraction: 0.1 here");
}

}  // namespace

EvaluationConfig read_evaluation(const ConfigNode& node, DataConfig& data) {
  EvaluationConfig evaluation = node.read(evaluation_table());
  const std::vector<std::string> names = names_of(data);
  const std::vector<ConfigNode> elements = node.list("sources");
  if (elements.size() > static_cast<std::size_t>(kMaxSources))
    node.refuse(counted(elements.size(), "source"),
                fmt::format("a mixture can have at most {}", kMaxSources));
  for (const ConfigNode& element : elements) {
    EvaluationSourceConfig source = element.read(evaluation_source_table());
    const auto found = std::find(names.begin(), names.end(), source.of);
    if (found == names.end())
      fail(ErrorKind::config, {fmt::format("{}there is no source '{}'",
                                           element.scalar("of")->place.prefix(), source.of),
                               "", name_advice(source.of, names)});
    SourceSpec& trained = data.sources[static_cast<std::size_t>(found - names.begin())].spec;
    const bool files = trained.kind == SourceKind::files;
    source.params = read_format_settings(element, files ? trained.format : "");
    const bool elsewhere = !source.path.empty() || !source.params.empty() || !source.rows.empty() ||
                           source.fraction > 0;
    if (!files && elsewhere)
      element.refuse("path, rows, fraction and split do not apply to a generator",
                     "its held-out samples are those with ids from 2^48");
    if (files) hold_out_fraction(element, source, trained);
    if (source.name.empty()) source.name = source.of;
    for (const EvaluationSourceConfig& other : evaluation.sources)
      if (other.name == source.name)
        element.refuse(fmt::format("the name '{}' is used twice", source.name), "",
                       "set another name");
    evaluation.sources.push_back(std::move(source));
  }
  // Only after all fractions are applied, because they change the rows of the training sources.
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const EvaluationSourceConfig& source = evaluation.sources[i];
    const auto trained = std::ranges::find(names, source.of) - names.begin();
    const SourceSpec& spec = data.sources[static_cast<std::size_t>(trained)].spec;
    if (spec.kind == SourceKind::files) expect_held_out(elements[i], source, spec);
  }
  return evaluation;
}

void write_evaluation(ConfigWriter& writer, const EvaluationConfig& evaluation) {
  writer.section("eval", [&] {
    writer.table(evaluation_table(), evaluation);
    writer.section("sources", [&] {
      for (std::size_t i = 0; i < evaluation.sources.size(); ++i) {
        writer.element(i, [&] {
          writer.table(evaluation_source_table(), evaluation.sources[i], {"fraction"});
          write_format_settings(writer, evaluation.sources[i].params);
        });
      }
    });
  });
}

std::vector<ConfigSection> evaluation_sections() {
  return {{"eval", "", evaluation_table().rows(), ""},
          {"eval.sources[]", "without sources nothing is held out and the run is never evaluated",
           evaluation_source_table().rows(), "keys of the source's format"}};
}

}  // namespace wellspring
