// File formats of data sets: what each one reads, and how a path finds its format. A new format is
// one file in sources/files/formats/ and one line in format.cpp. Host only.
#pragma once

#include "core/config/params.h"
#include "sources/datasets/dataset.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace wellspring {

/// What a format is asked to open.
struct DatasetRequest {
  std::filesystem::path path;
  std::vector<ParamSetting> settings = {};  ///< the format's own keys
  ConfigLocation place = {};                ///< where all that was written
  std::int64_t limit_per_class = 0;  ///< keeps the first ones of each class, in order; 0: all
  int threads = 1;                   ///< for what takes long
  std::string format = {};           ///< as configured; "": found by the path
  std::function<void(std::int64_t done, std::int64_t total)> watch = {};  ///< of decoding all rows
};

struct DatasetFormat {
  std::string name;
  std::string summary;               ///< one line
  std::string files;                 ///< what must lie where: a paragraph for `describe`
  std::vector<ParamRow> parameters;  ///< keys of its own, beside those of every source of files
  /// Whether a path is surely of this format, by its name or, of a folder, by what is in it.
  bool (*matches)(const std::filesystem::path& path) = nullptr;
  /// Errors: config for settings, data for what the files hold.
  std::unique_ptr<Dataset> (*open)(const DatasetRequest& request) = nullptr;
};

/// All formats, by name. The table is built on first use and never changes.
const std::vector<DatasetFormat>& format_registry();
/// Error (config) with the nearest known name when there is none called `name`.
const DatasetFormat& find_format(const std::string& name, const ConfigLocation& place = {});

/// Opens `request.path` with the format named there, or the one that the path matches. Errors
/// (data): no such path, no format that fits; otherwise as DatasetFormat::open.
std::unique_ptr<Dataset> open_dataset(const DatasetRequest& request);

/// Names of the keys that a source of files of this format may have; of any format for "".
std::vector<std::string> format_keys(const std::string& format);
/// Checks names and values before anything is opened: against the table of `format`, or, while it
/// is not known, against the tables of all. Errors (config) as ParamTable::set.
void check_format_settings(const std::string& format, const std::vector<ParamSetting>& settings);

}  // namespace wellspring
