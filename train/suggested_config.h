// A commented configuration for a data set, for `wellspring init`. Host only.
#pragma once

#include "sources/survey.h"

#include <string>

namespace wellspring {

/// The name of the data's source: the end of its path, without characters that YAML quotes.
std::string source_name_of(const std::filesystem::path& path);

/// YAML of a configuration that trains on the surveyed data. `file`: name of the data, quoted for a
/// shell, for comments.
std::string suggested_config(const DataSurvey& survey, const std::string& file);

}  // namespace wellspring
