// File formats of data sets: what each one reads, and how a path selects its format. To add a
// format, add a file in sources/files/formats/ and a line in format.cpp. Host only.
#pragma once

#include "core/config/params.h"
#include "core/work_watch.h"
#include "sources/datasets/dataset.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// A request to open a data set.
struct DatasetRequest {
  std::filesystem::path path;
  std::vector<ParamSetting> settings = {};  ///< the format's own keys
  ConfigLocation place = {};                ///< configuration location, for messages
  std::int64_t limit_per_class = 0;  ///< keeps the first N rows of each class, in order; 0: all
  int threads = 1;                   ///< for slow work
  std::string format = {};           ///< as configured; "": chosen by the path
  /// False: all rows have label 0, the only class. Arrays of labels and weights are not read, and
  /// images may be in any folder.
  bool labelled = true;
  bool finite = true;    ///< false: events and sets may have NaN and infinity, for statistics
  int channels = 0;      ///< number of channels, if the format can convert images; 0: as they are
  WorkWatch watch = {};  ///< progress of "listing" and "decoding"
};

struct DatasetFormat {
  std::string name;
  std::string summary;               ///< one line
  std::string files;                 ///< expected files: a paragraph for `describe`
  std::vector<ParamRow> parameters;  ///< the format's own keys
  /// True if the path's name, or a folder's contents, identify this format.
  bool (*matches)(const std::filesystem::path& path) = nullptr;
  /// Errors: config for settings, data for file contents.
  std::unique_ptr<Dataset> (*open)(const DatasetRequest& request) = nullptr;
};

/// All formats, by name.
const std::vector<DatasetFormat>& format_registry();
/// Error (config) with the nearest known name if `name` is unknown.
const DatasetFormat& find_format(const std::string& name, const ConfigLocation& place = {});

/// The format of a path. Error (data) if the name of the file does not identify it.
const DatasetFormat& format_of(const std::filesystem::path& path);

/// True for a folder, and for a file or shards whose name identifies a format.
bool names_dataset(const std::filesystem::path& path);
/// A request for a path, with the keys of its format; the key `format` names the format. Errors
/// (config): see find_format and check_format_settings; (data): see format_of.
DatasetRequest dataset_request(const std::filesystem::path& path,
                               const std::vector<ParamSetting>& settings,
                               const ConfigLocation& place);

/// Opens `request.path` with the named format, or with the one that matches the path. Errors
/// (data): no such path, no matching format. Other errors: the same as for DatasetFormat::open.
std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request);

/// Keys accepted by a file source of this format; "": by any format.
std::vector<std::string> format_keys(const std::string& format);
/// Checks names and values before anything is opened: against the table of `format`, or against all
/// tables if it is "". Errors (config): the same as for ParamTable::set.
void check_format_settings(const std::string& format, const std::vector<ParamSetting>& settings);

}  // namespace wellspring
