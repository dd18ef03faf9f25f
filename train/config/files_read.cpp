#include "train/config/files_read.h"

#include "core/error.h"

#include <fmt/format.h>

#include <system_error>

namespace wellspring {

void add_files(std::vector<std::filesystem::path>& files, const std::filesystem::path& data,
               const std::vector<ParamSetting>& settings) {
  files.push_back(data);
  for (const ParamSetting& setting : settings)
    if (!setting.value.empty()) files.push_back(data.parent_path() / setting.value);
}

std::vector<std::filesystem::path> files_read(const RunConfig& config) {
  std::vector<std::filesystem::path> files;
  for (const SourceConfig& source : config.data.sources)
    if (source.spec.kind == SourceKind::files)
      add_files(files, config.resolve(source.spec.path), source.spec.params);
  for (const EvaluationSourceConfig& source : config.evaluation.sources)
    if (!source.path.empty()) add_files(files, config.resolve(source.path), source.params);
  return files;
}

void require_not_an_input(const std::filesystem::path& output,
                          const std::vector<std::filesystem::path>& inputs) {
  for (const std::filesystem::path& input : inputs) {
    std::error_code missing;  // then they are not the same
    if (!std::filesystem::equivalent(output, input, missing)) continue;
    const std::string other = input == output ? "" : fmt::format(", which is {}", input.string());
    fail(ErrorKind::config,
         {fmt::format("cannot write to '{}'{}", output.string(), other),
          "this command reads that file, and the output would replace it", "choose another name"});
  }
}

}  // namespace wellspring
