#include "sources/survey.h"

#include "core/error.h"
#include "core/text/text.h"
#include "sources/files/data_name.h"
#include "sources/files/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wellspring {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostMeasured = 1000;  ///< images; their pixel mean is accurate to 1 %

/// Means and deviations of the pixels of evenly spread images.
void measure_pixels(const Dataset& data, DataSurvey& survey) {
  if (survey.layout.own_sizes)
    fail(ErrorKind::config, {survey.path.string() + ": canvas is given",
                             "the proposed configuration has images of one size",
                             "leave it out, and add canvas: to the written configuration"});
  const std::int64_t values = survey.layout.sample.elements();
  const auto channels = static_cast<std::size_t>(survey.layout.sample.channels);
  survey.measured = std::min(survey.rows, kMostMeasured);
  std::vector<double> sum(channels), squares(channels);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(survey.layout.bytes()));
  const auto reader = data.reader();
  for (std::int64_t i = 0; i < survey.measured; ++i) {
    reader->read(i * survey.rows / survey.measured, row.data());
    for (std::size_t v = 0; v < row.size(); ++v) {
      const double value = row[v] / 255.0;
      sum[v % channels] += value;
      squares[v % channels] += value * value;
    }
  }
  const double count =
      static_cast<double>(survey.measured * values) / static_cast<double>(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sum[c] / count;
    survey.mean.push_back(mean);
    survey.deviation.push_back(std::sqrt(std::max(0.0, squares[c] / count - mean * mean)));
  }
}

/// CIFAR files have one layout, and a folder holds both parts.
void survey_cifar(DataSurvey& survey) {
  survey.size_reason = "the size of CIFAR's images";
  if (!fs::is_directory(survey.path) || survey.find("split") != nullptr) return;
  survey.keys.push_back({"split", "train", "the training files"});
  for (const char* const name : {"test_batch.bin", "test.bin"})
    if (fs::exists(survey.path / name)) survey.held_out = {{"split", "test", "the test files"}};
}

/// Decides between classes and regression.
void find_targets(DataSurvey& survey, const Dataset& data, bool images) {
  survey.classes = data.classes();
  const bool asked = survey.find("latents") != nullptr;
  if (survey.classes.size() > 1 && !asked) return;
  for (const LatentInfo& latent : data.latents())
    if (latent.low < latent.high) survey.targets.push_back(latent.name);
  if (!survey.targets.empty()) return;
  fail(ErrorKind::data,
       {fmt::format("{}: all {} rows have the class '{}'", survey.path.string(), survey.rows,
                    survey.classes.front()),
        "a network learns classes, or regression targets of events and sets",
        images ? "put the images of each class into a folder of their own: FOLDER/CLASS/NAME.jpg"
               : "store one label per row: an array 'label' in the file (a .npy file: "
                 "NAME_labels.npy next to it), or name them: labels=NAME, or latents=[NAME] for "
                 "regression targets"});
}

/// Removes a trailing slash: "photos/" becomes "photos".
fs::path without_end_slash(const fs::path& path) {
  return !path.has_filename() && path.has_relative_path() ? path.parent_path() : path;
}

}  // namespace

std::string SourceKey::yaml() const {
  if (name == "latents")
    if (const auto names = split_yaml_list(value)) return yaml_list(*names);
  const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
  return is_number && !value.empty() && value[0] != '0' ? value : yaml_scalar(value);
}

const SourceKey* DataSurvey::find(std::string_view name) const {
  const auto found = std::ranges::find(keys, name, &SourceKey::name);
  return found == keys.end() ? nullptr : &*found;
}

std::unique_ptr<Dataset> DataSurvey::open(const WorkWatch& watch) const {
  DatasetRequest request;
  request.path = path;
  for (const SourceKey& key : keys) {
    if (key.name == "format") {
      request.format = key.value;
    } else {
      request.settings.push_back({key.name, key.value, {"command line"}});
    }
  }
  request.watch = watch;
  return open_dataset(request);
}

DataSurvey survey_data(const fs::path& path, const std::vector<ParamSetting>& given,
                       const WorkWatch& watch) {
  DataSurvey survey;
  survey.path = without_end_slash(path);
  for (const ParamSetting& setting : given)
    survey.keys.push_back({setting.name, setting.value, "as given to init"});
  const SourceKey* const named = survey.find("format");
  const std::string format = named != nullptr ? find_format(named->value, {"command line"}).name
                                              : format_of(survey.path).name;
  std::vector<ParamSetting> own = given;
  std::erase_if(own, [](const ParamSetting& setting) { return setting.name == "format"; });
  check_format_settings(format, own);
  const bool images = format == "folder" || format == "tar" || format == "zip";
  if (format == "cifar") {
    survey_cifar(survey);
  } else if (images) {
    detail::survey_images(survey, watch);
  } else {
    detail::survey_arrays(survey, format, watch);
  }
  const auto data = survey.open(watch);
  survey.rows = data->size();
  survey.layout = data->layout();
  survey.summary = data->summary();
  find_targets(survey, *data, images);
  if (survey.layout.type == ElementType::u8) measure_pixels(*data, survey);
  return survey;
}

namespace detail {

std::vector<fs::path> held_out_siblings(const fs::path& path) {
  const DataName own = DataName::of(path.stem().string());
  std::vector<fs::path> found;
  if (own.part != DataName::Part::train) return found;
  std::error_code unreadable;  // an unreadable folder has no siblings
  fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", unreadable);
  for (; !unreadable && entry != fs::directory_iterator(); entry.increment(unreadable)) {
    const fs::path name = entry->path().filename();
    const DataName other = DataName::of(name.stem().string());
    if (name.extension() == path.extension() && other.part == DataName::Part::held_out &&
        other.same_data(own))
      found.push_back(path.parent_path() / name);
  }
  std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
    const auto is_test = [](const fs::path& p) {
      return p.stem().string().find("test") != std::string::npos;
    };
    return std::pair(is_test(a), a) < std::pair(is_test(b), b);
  });
  return found;
}

}  // namespace detail
}  // namespace wellspring
