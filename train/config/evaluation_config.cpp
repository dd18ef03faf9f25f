#include "train/config/evaluation_config.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/batch/batch.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();
/// Gives a standard error of at most 0.005 % of an accuracy, in hours on a CPU.
constexpr double kMostSamples = 1e8;

const ParamTable<EvaluationConfig>& evaluation_table() {
  static const auto table =
      ParamTable<EvaluationConfig>("eval")
          .integer(
              "every", &EvaluationConfig::every, {0, kNoLimit}, "steps",
              "evaluation interval; 0: only at the end; without sources there is no evaluation")
          .may_change()
          .integer("samples", &EvaluationConfig::samples, {1, kMostSamples}, "samples",
                   "held-out samples per generator (ids from 2^48); files are used completely")
          .may_change();
  return table;
}

const ParamTable<EvaluationSourceConfig>& evaluation_source_table() {
  static const auto table =
      ParamTable<EvaluationSourceConfig>("eval source")
          .text("of", &EvaluationSourceConfig::of, "the training source that it is held out from")
          .required()
          .may_change()
          .text("name", &EvaluationSourceConfig::name,
                "name in reports (default: the name of the training source)")
          .may_change()
          .text("path", &EvaluationSourceConfig::path,
                "(files only) folder or file of the held-out samples, with the format's keys that "
                "differ from the training source, such as split; empty: the training path")
          .may_change();
  return table;
}

}  // namespace

EvaluationConfig read_evaluation(const ConfigNode& node, const DataConfig& data) {
  EvaluationConfig evaluation = node.read(evaluation_table());
  const std::vector<std::string> names = names_of(data);
  const std::vector<ConfigNode> elements = node.list("sources");
  if (elements.size() > static_cast<std::size_t>(kMaxSources))
    node.refuse(counted(elements.size(), "source"),
                fmt::format("a mixture holds at most {}", kMaxSources));
  for (const ConfigNode& element : elements) {
    EvaluationSourceConfig source = element.read(evaluation_source_table());
    const auto found = std::find(names.begin(), names.end(), source.of);
    if (found == names.end())
      fail(ErrorKind::config, {fmt::format("{}there is no source '{}'",
                                           element.scalar("of")->place.prefix(), source.of),
                               "", name_advice(source.of, names)});
    const SourceSpec& trained = data.sources[static_cast<std::size_t>(found - names.begin())].spec;
    const bool files = trained.kind == SourceKind::files;
    source.params = read_format_settings(element, files ? trained.format : "");
    const bool elsewhere = !source.path.empty() || !source.params.empty();
    if (files && !elsewhere)
      element.refuse("path or split is missing",
                     "held-out files must differ from the training files");
    if (!files && elsewhere)
      element.refuse("path and split do not apply to a generator",
                     "its held-out samples are those with ids from 2^48");
    if (source.name.empty()) source.name = source.of;
    for (const EvaluationSourceConfig& other : evaluation.sources)
      if (other.name == source.name)
        element.refuse(fmt::format("the name '{}' is used twice", source.name), "",
                       "set another name");
    evaluation.sources.push_back(std::move(source));
  }
  return evaluation;
}

void write_evaluation(ConfigWriter& writer, const EvaluationConfig& evaluation) {
  writer.section("eval", [&] {
    writer.table(evaluation_table(), evaluation);
    writer.section("sources", [&] {
      for (std::size_t i = 0; i < evaluation.sources.size(); ++i) {
        writer.element(i, [&] {
          writer.table(evaluation_source_table(), evaluation.sources[i]);
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
