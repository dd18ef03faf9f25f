#include "sources/files/format.h"

#include "core/error.h"
#include "core/io/file_kind.h"
#include "core/io/files.h"
#include "core/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

// All formats. NAME_format() is defined in formats/.
#define WS_EACH_FORMAT(FORMAT) \
  FORMAT(cifar)                \
  FORMAT(folder)               \
  FORMAT(hdf5)                 \
  FORMAT(idx)                  \
  FORMAT(npy)                  \
  FORMAT(npz)                  \
  FORMAT(tar)                  \
  FORMAT(tfrecord)             \
  FORMAT(webdataset)           \
  FORMAT(zip)

namespace wellspring {

#define WS_DECLARE_FORMAT(name) DatasetFormat name##_format();
WS_EACH_FORMAT(WS_DECLARE_FORMAT)

const std::vector<DatasetFormat>& format_registry() {
#define WS_MAKE_FORMAT(name) name##_format(),
  static const std::vector<DatasetFormat> formats = {WS_EACH_FORMAT(WS_MAKE_FORMAT)};
  return formats;
}

namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const DatasetFormat& format : format_registry()) names.push_back(format.name);
  return names;
}

}  // namespace

// `folder` is also the format of missing paths, because the folder reader searches for archives in
// related places.
const DatasetFormat& format_of(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  for (const DatasetFormat& format : format_registry()) {
    if (format.matches(path)) return format;
  }
  if (fs::is_directory(path) || !fs::exists(path)) return find_format("folder");
  require_file(path);
  const FileKind kind = file_kind(InputFile(path));
  std::string advice(kind_advice(kind));
  if (path.extension() == ".csv" || path.extension() == ".tsv")
    advice = "read it with numpy.loadtxt and write columns with numpy.savez";
  if (kind == FileKind::jpeg || kind == FileKind::png || kind == FileKind::webp ||
      kind == FileKind::netpbm)
    advice = "give the folder that contains the image";
  if (!advice.empty()) advice += ", or ";
  fail(
      ErrorKind::data,
      {fmt::format("{}: cannot tell the format from the file name", path.string()),
       fmt::format("it is {}; known formats: {}", kind_name(kind), fmt::join(format_names(), ", ")),
       advice + "correct path: or set format: (see wellspring list formats)"});
}

const DatasetFormat& find_format(const std::string& name, const ConfigLocation& place) {
  for (const DatasetFormat& format : format_registry()) {
    if (format.name == name) return format;
  }
  fail(ErrorKind::config, {place.prefix() + fmt::format("unknown format '{}'", name), "",
                           name_advice(name, format_names())});
}

bool names_dataset(const std::filesystem::path& path) {
  std::error_code unreadable;  // an unreadable path is not a folder
  return std::filesystem::is_directory(path, unreadable) ||
         std::ranges::any_of(format_registry(),
                             [&](const auto& format) { return format.matches(path); });
}

DatasetRequest dataset_request(const std::filesystem::path& path,
                               const std::vector<ParamSetting>& settings,
                               const ConfigLocation& place) {
  DatasetRequest request{.path = path, .place = place};
  for (const ParamSetting& setting : settings) {
    if (setting.name == "format") {
      request.format = find_format(setting.value, place).name;
    } else {
      request.settings.push_back({setting.name, setting.value, place});
    }
  }
  if (request.format.empty()) request.format = format_of(path).name;
  check_format_settings(request.format, request.settings);
  return request;
}

std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request) {
  const DatasetFormat& format =
      request.format.empty() ? format_of(request.path) : find_format(request.format, request.place);
  return format.open(request);
}

std::vector<std::string> format_keys(const std::string& format) {
  std::vector<std::string> keys;
  for (const DatasetFormat& entry : format_registry()) {
    if (!format.empty() && entry.name != format) continue;
    for (const ParamRow& row : entry.parameters) {
      if (std::find(keys.begin(), keys.end(), row.name) == keys.end()) keys.push_back(row.name);
    }
  }
  return keys;
}

void check_format_settings(const std::string& format, const std::vector<ParamSetting>& settings) {
  for (const ParamSetting& setting : settings) {
    std::optional<Error> refusal;
    bool accepted = false;
    for (const DatasetFormat& entry : format_registry()) {
      if (!format.empty() && entry.name != format) continue;
      for (const ParamRow& row : entry.parameters) {
        if (row.name != setting.name || accepted) continue;
        try {
          detail::parse_param(row, setting.value, setting.place);
          accepted = true;
        } catch (const Error& error) {
          if (!refusal) refusal = error;
        }
      }
    }
    if (accepted) continue;
    if (refusal) throw *refusal;
    fail(ErrorKind::config,
         {fmt::format("{}files{} have no key '{}'", setting.place.prefix(),
                      format.empty() ? "" : " of format " + format, setting.name),
          "", name_advice(setting.name, format_keys(format))});
  }
}

}  // namespace wellspring
