// Determines how a source should read the given files: its keys, and the figures that a
// configuration depends on. Called by train/suggested_config.h; host only.
#pragma once

#include "core/config/params.h"
#include "core/work_watch.h"
#include "sources/datasets/dataset.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wellspring {

/// A key of a source, with the reason for its value.
struct SourceKey {
  std::string name, value, reason;

  /// The value as YAML.
  std::string yaml() const;
};

struct DataSurvey {
  std::filesystem::path path;
  std::vector<SourceKey> keys;      ///< keys of the source besides name, kind and path
  std::vector<SourceKey> held_out;  ///< keys that select held-out files or arrays; may be empty
  std::string size_reason;          ///< images: why they are read at this size

  std::int64_t rows = 0;
  RowLayout layout;
  std::string summary;
  std::vector<std::string> classes;
  std::vector<std::string> targets;     ///< names of regression targets; empty: classification
  std::vector<double> mean, deviation;  ///< images: by channel, of pixels from 0 to 1
  std::int64_t measured = 0;            ///< images: number of them that were measured

  const SourceKey* find(std::string_view name) const;
  /// Opens the data set with the keys found so far.
  std::unique_ptr<Dataset> open(const WorkWatch& watch = {}) const;
};

/// Opens the data set at `path` and reads a sample of its rows. `given`: `format` and format keys
/// that are known already. Errors: the same as for open_dataset, and (data) if there are neither
/// labels nor targets.
DataSurvey survey_data(const std::filesystem::path& path, const std::vector<ParamSetting>& given,
                       const WorkWatch& watch = {});

namespace detail {

/// Files next to `path` with its extension, by name: validation files first, then test files.
std::vector<std::filesystem::path> held_out_siblings(const std::filesystem::path& path);

/// Both add keys to `survey`. Errors (data).
void survey_images(DataSurvey& survey, const WorkWatch& watch);
void survey_arrays(DataSurvey& survey, const std::string& format, const WorkWatch& watch);

}  // namespace detail
}  // namespace wellspring
