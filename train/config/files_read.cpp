#include "train/config/files_read.h"

#include "core/error.h"

#include <fmt/format.h>

#include <system_error>

namespace wellspring {

void add_files(std::vector<std::filesystem::path>& files, const std::filesystem::path& data,
               const std::vector<ParamSetting>& settings) {
  std::filesystem::path read = data;
  for (const ParamSetting& setting : settings) {
    if (setting.value.empty()) continue;
    files.push_back(data.parent_path() / setting.value);
    std::error_code missing;  // a missing path is not a folder of images
    if (setting.name == "split" && std::filesystem::is_directory(data / setting.value, missing))
      read = data / setting.value;
  }
  files.push_back(read);
}

std::vector<std::filesystem::path> files_read(const RunConfig& config) {
  std::vector<std::filesystem::path> files;
  for (const SourceConfig& source : config.data.sources)
    if (source.spec.kind == SourceKind::files)
      add_files(files, config.resolve(source.spec.path), source.spec.params);
  for (std::size_t k = 0; k < config.evaluation.sources.size(); ++k) {
    const EvaluationSourceConfig& source = config.evaluation.sources[k];
    const SourceSpec& trained = config.held_out_from(k).spec;
    if (trained.kind != SourceKind::files) continue;
    std::vector<ParamSetting> settings = trained.params;  // the last setting of a name wins
    settings.insert(settings.end(), source.params.begin(), source.params.end());
    add_files(files, config.resolve(source.path.empty() ? trained.path : source.path), settings);
  }
  return files;
}

namespace {

/// True for a picture in a data set's folder: the data set reads all images there.
bool is_picture_of(const std::filesystem::path& output, const std::filesystem::path& folder) {
  std::error_code missing;  // a missing path is a different one
  if (output.extension() != ".png" || !std::filesystem::is_directory(folder, missing)) return false;
  const std::filesystem::path below =
      weakly_canonical(absolute(output), missing)
          .lexically_relative(weakly_canonical(absolute(folder), missing));
  return !below.empty() && *below.begin() != "..";
}

}  // namespace

void require_not_an_input(const std::filesystem::path& output,
                          const std::vector<std::filesystem::path>& inputs) {
  for (const std::filesystem::path& input : inputs) {
    if (is_picture_of(output, input))
      fail(ErrorKind::config,
           {fmt::format("cannot write to '{}'", output.string()),
            fmt::format("the data set {} reads all images there: the picture would replace one of "
                        "them, or be read as one",
                        input.string()),
            "choose a name in another folder"});
    std::error_code missing;  // a missing path is a different one
    if (!std::filesystem::equivalent(output, input, missing)) continue;
    const std::string other = input == output ? "" : fmt::format(", which is {}", input.string());
    fail(ErrorKind::config,
         {fmt::format("cannot write to '{}'{}", output.string(), other),
          "this command reads that file, and the output would replace it", "choose another name"});
  }
}

}  // namespace wellspring
