#include "train/config/evaluation_config.h"

#include "core/text/plural.h"
#include "core/text/text.h"
#include "kernels/batch/batch.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::max();

const ParamTable<EvaluationConfig>& evaluation_table() {
  static const auto table =
      ParamTable<EvaluationConfig>("eval")
          .integer("every", &EvaluationConfig::every, {0, kUnbounded}, "steps",
                   "between evaluations; 0: at the end only; without sources there are none")
          .may_change()
          .integer("samples", &EvaluationConfig::samples, {1, kUnbounded}, "samples",
                   "of each generator, ids from 2^48 on; files are used whole")
          .may_change();
  return table;
}

const ParamTable<EvaluationSourceConfig>& evaluation_source_table() {
  static const auto table =
      ParamTable<EvaluationSourceConfig>("eval source")
          .text("of", &EvaluationSourceConfig::of, "the training source it belongs to")
          .required()
          .may_change()
          .text("name", &EvaluationSourceConfig::name, "name in reports; `of` where none is given")
          .may_change()
          .text("path", &EvaluationSourceConfig::path,
                "of files: where the held-out ones are, with keys of their format, such as split, "
                "where these differ from training's; empty: as training's")
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
                     "held-out files are other files than those trained on");
    if (!files && elsewhere)
      element.refuse("path or split beside a generator",
                     "its held-out samples have ids from 2^48 on");
    if (source.name.empty()) source.name = source.of;
    for (const EvaluationSourceConfig& other : evaluation.sources)
      if (other.name == source.name)
        element.refuse(fmt::format("a second one is called '{}'", source.name), "",
                       "give it a name of its own");
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
          {"eval.sources[]", "without any, nothing is held out and the run is never evaluated",
           evaluation_source_table().rows(), "keys of the source's format"}};
}

}  // namespace wellspring
